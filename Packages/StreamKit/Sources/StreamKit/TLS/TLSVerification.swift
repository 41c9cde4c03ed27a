/// How much of a peer's certificate is checked. Anything but ``full`` says in its name that it is not secure.
///
/// Replaces `kCFStreamSSLValidatesCertificateChain`.
public enum TLSVerification: Sendable, Hashable {
    /// The chain up to a trusted root, the dates, the purpose, and the name (RFC 9525). The default.
    case full

    /// All but the name: whoever has any certificate of a trusted root can pose as the peer.
    case insecureNoNameCheck

    /// Nothing, except pins and the verifier if there are any: whoever is on the way can read and change everything.
    case insecureNone
}
