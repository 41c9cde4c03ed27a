/// A server certificate: a valid one, or one with exactly one fault.
///
/// All other properties are the same: EC P-256, issued by the intermediate, for `localhost`, `127.0.0.1`, `::1`, `peers.test` and
/// `*.peers.test`, valid for a year, sent with the intermediate.
public enum ServerCertificate: String, Hashable, Sendable, CaseIterable {
    /// A valid certificate.
    case good
    /// Valid only in the year 2020.
    case expired
    /// Valid only in the year 2100.
    case notYetValid = "not-yet-valid"
    /// For `other.example` only.
    case wrongHost = "wrong-host"
    /// Self-signed.
    case selfSigned = "self-signed"
    /// Issued by an untrusted root, which is sent with it.
    case unknownRoot = "unknown-root"
    /// Issued by the untrusted authority of an intercepting program, under the name of mitmproxy.
    case intercepted
    /// Valid, but sent without the intermediate.
    case missingIntermediate = "missing-intermediate"
}
