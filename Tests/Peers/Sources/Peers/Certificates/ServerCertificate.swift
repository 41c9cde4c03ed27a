/// Which certificate a server shows: a good one, or one with exactly one fault.
///
/// All but the faulty parts are the same: EC P-256, signed by the intermediate, for `localhost`, `127.0.0.1`, `::1`,
/// `peers.test` and `*.peers.test`, valid for a year, sent with the intermediate.
public enum ServerCertificate: String, Hashable, Sendable, CaseIterable {
    /// Nothing wrong with it.
    case good
    /// Was valid in the year 2020.
    case expired
    /// Will be valid in the year 2100.
    case notYetValid = "not-yet-valid"
    /// For `other.example` only.
    case wrongHost = "wrong-host"
    /// Signed by its own key.
    case selfSigned = "self-signed"
    /// Signed by a root that nobody trusts; the root comes along.
    case unknownRoot = "unknown-root"
    /// Signed by the authority of a program that reads along, mitmproxy's name, which nobody trusts.
    case intercepted
    /// Good, but sent without the intermediate.
    case missingIntermediate = "missing-intermediate"
}
