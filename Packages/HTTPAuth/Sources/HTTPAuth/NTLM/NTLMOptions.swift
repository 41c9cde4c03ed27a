/// The options of NTLM. The defaults work unless the server's administrator says otherwise.
///
/// ```swift
/// policy.methods = [.ntlm(NTLMOptions(workstation: "PC-17"))]
/// ```
public struct NTLMOptions: Hashable, Sendable {
    /// The name of this machine to send to the server; empty by default. Some domains restrict accounts to named
    /// machines.
    public var workstation: String

    /// The service of the login, which the server may check; nil means `HTTP/` and the host of the URL.
    public var serviceName: String?

    /// Creates options.
    public init(workstation: String = "", serviceName: String? = nil) {
        self.workstation = workstation
        self.serviceName = serviceName
    }
}

extension AuthenticationMethod {
    /// NTLM version 2, with an integrity code, channel binding over TLS, and the name of the target service.
    ///
    /// NTLMv1 responses, LM responses and anonymous logins are never sent. The password may be an NT hash; see
    /// ``Credential/Proof/ntHash(hexadecimal:)``.
    ///
    /// Replaces `kCFHTTPAuthenticationSchemeNTLM`.
    public static let ntlm = AuthenticationMethod.ntlm(NTLMOptions())

    /// Returns NTLM with custom options.
    public static func ntlm(_ options: NTLMOptions) -> AuthenticationMethod {
        AuthenticationMethod("NTLM") { space in
            NTLMScheme(space, options)
        } form: { _, peer in
            AuthenticationForm(peer.isEncrypted ? .negotiate : .ntlm)
        }
    }
}
