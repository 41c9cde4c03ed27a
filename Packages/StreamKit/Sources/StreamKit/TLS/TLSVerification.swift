/// How much of a peer's certificate is verified. Every value but ``full`` is insecure, and its name says so.
///
/// Replaces `kCFStreamSSLValidatesCertificateChain`.
public enum TLSVerification: Sendable, Hashable {
    /// The chain up to a trusted root, the dates, the purpose, and the name (RFC 9525). The default.
    case full

    /// Everything except the name: the owner of any certificate by a trusted root can impersonate the peer.
    case insecureNoNameCheck

    /// Nothing, except for the pins and the verifier, if any: an attacker on the network can read and change
    /// everything.
    case insecureNone
}
