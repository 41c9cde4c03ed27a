import HTTPAuth

/// The options of the command line, as values for HTTPAuth.
struct Settings {
    var policy = AuthenticationPolicy()
    var binding: ChannelBinding?
    var limit: Duration
    private let options: [String: String]

    init(_ options: [String: String]) throws {
        self.options = options
        limit = .milliseconds(Int(options["--limit"] ?? "") ?? 30_000)
        var negotiate = NegotiateOptions(identity: Settings.identity(options))
        negotiate.mutualAuthentication =
            switch options["--mutual"] {
            case "off": .off
            case "required": .required
            default: .optional
            }
        if let host = options["--delegate"] { negotiate.delegation = .toHosts([host]) }
        negotiate.serviceName = options["--service"]
        negotiate.canonicalizesHostName = options["--canonical"] != nil
        negotiate.allowsNTLM = options["--inner-ntlm"] != nil
        policy.methods = (options["--schemes"] ?? "negotiate,ntlm").split(separator: ",").map {
            switch $0 {
            case "ntlm": .ntlm
            case "digest": .digest
            case "basic": .basic
            default: .negotiate(negotiate)
            }
        }
        if let digits = options["--binding"] { binding = .tlsServerEndPoint(Settings.bytes(digits)) }
    }

    func credential(for authentication: HTTPAuthentication) -> Credential? {
        guard let user = options["--user"], authentication.requiresUserNameAndPassword else { return nil }
        let proof: Credential.Proof =
            if let hash = options["--hash"] {
                .ntHash(Secret(bytes: Settings.bytes(hash)))
            } else {
                .password(Secret(options["--password"] ?? ""))
            }
        return Credential(user: user, accountDomain: options["--domain"], proof: proof, for: authentication.space)
    }

    private static func identity(_ options: [String: String]) -> KerberosIdentity {
        let source: KerberosIdentity.Source =
            if let cache = options["--cache"] {
                .cache(cache)
            } else if let keytab = options["--keytab"] {
                .keytab(keytab)
            } else if options["--kinit"] != nil {
                .password
            } else {
                .system
            }
        return KerberosIdentity(source, principal: options["--principal"])
    }

    private static func bytes(_ digits: String) -> [UInt8] {
        let values = digits.compactMap(\.hexDigitValue)
        return stride(from: 0, to: values.count - 1, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}
