/// What a caller may choose about NTLM. The defaults suit everybody but those whose server says otherwise.
///
/// ```swift
/// policy.methods = [.ntlm(NTLMOptions(workstation: "PC-17"))]
/// ```
public struct NTLMOptions: Hashable, Sendable {
    /// What the server is told of this machine's name: nothing by default. Some domains let accounts log in from named
    /// machines only.
    public var workstation: String

    /// The service that the login is for, which the server may check; nil means `HTTP/` and the host of the URL.
    public var serviceName: String?

    /// Makes options.
    public init(workstation: String = "", serviceName: String? = nil) {
        self.workstation = workstation
        self.serviceName = serviceName
    }
}

extension AuthenticationMethod {
    /// NTLM, version 2 only: with an integrity code, channel binding over TLS, and the server's name in it.
    ///
    /// NTLMv1 and LM responses are never made, nor anonymous logins. The password may be an NT hash, see
    /// ``Credential/Proof/ntHash(hexadecimal:)``. Replaces `kCFHTTPAuthenticationSchemeNTLM`.
    public static let ntlm = AuthenticationMethod.ntlm(NTLMOptions())

    /// NTLM with options of your own.
    public static func ntlm(_ options: NTLMOptions) -> AuthenticationMethod {
        AuthenticationMethod("NTLM") { space in
            NTLMScheme(space, options)
        } form: { _, place in
            AuthenticationForm(place.isEncrypted ? .negotiate : .ntlm)
        }
    }
}
