/// What a caller may choose about Negotiate. The defaults are the safe ones.
///
/// ```swift
/// var options = NegotiateOptions()
/// options.identity = KerberosIdentity(.cache("FILE:/run/batch/tickets"))
/// options.mutualAuthentication = .required
/// policy.methods = [.negotiate(options)]
/// ```
public struct NegotiateOptions: Hashable, Sendable {
    /// Whether the server must prove itself, too.
    public enum MutualAuthentication: Hashable, Sendable {
        /// It is not asked to.
        case off
        /// It is asked to, and a wrong proof is an error. A missing one is not: proxies and servers lose it on the way.
        case optional
        /// It must, or the response is an error.
        case required
    }

    /// Whether the server gets the user's own ticket, to act in the user's name elsewhere.
    public enum Delegation: Hashable, Sendable {
        /// No.
        case never
        /// If the realm's administrator has marked the service as trusted for it.
        case ifTrusted
        /// If the host of the URL is one of these, without regard to case, brackets around an address, and a dot at the end.
        case toHosts(Set<String>)
    }

    /// Whose ticket is used. By default that of the user who runs the program.
    public var identity: KerberosIdentity

    /// The servers that a ticket may be asked for and sent to.
    public enum Hosts: Hashable, Sendable {
        /// The server that the application named, and its proxies: not one that a redirect leads to.
        case named
        /// The hosts of this list, without regard to case, however the request came to them.
        case list(Set<String>)
        /// Any server that asks, also one that a redirect leads to.
        case all
    }

    /// The servers that a ticket may be asked for and sent to. By default the one that the application named.
    ///
    /// A server elsewhere gets ``HTTPAuthError/Code/hostNotAllowed``, and the next scheme is tried.
    public var hosts = Hosts.named

    /// Whether the server must prove itself. By default it is asked to.
    public var mutualAuthentication = MutualAuthentication.optional

    /// Whether the server gets the user's own ticket. By default no.
    public var delegation = Delegation.never

    /// The service that is asked for, `HTTP/www.example.org` or `HTTP/www.example.org@EXAMPLE.ORG`. Nil means `HTTP/` and
    /// the host of the URL, in the realm that `krb5.conf` gives for it, else where the user's own realm refers to.
    public var serviceName: String?

    /// Whether the system may replace the host's name by what DNS says of it, as `krb5.conf` tells it. Off by default:
    /// who forges DNS answers would choose the service that the user logs in to.
    public var canonicalizesHostName = false

    /// Whether NTLM may be used within Negotiate when the server wants it or there is no ticket. Off by default, because
    /// it is much weaker. When it is on, a user name and a password are needed.
    public var allowsNTLM = false

    /// For NTLM within Negotiate.
    public var ntlm = NTLMOptions()

    /// Makes options.
    public init(identity: KerberosIdentity = KerberosIdentity()) {
        self.identity = identity
    }
}

extension AuthenticationMethod {
    /// Negotiate: Kerberos with the ticket of the user who runs the program, never NTLM.
    ///
    /// Replaces `kCFHTTPAuthenticationSchemeNegotiate` and `kCFHTTPAuthenticationSchemeKerberos`.
    public static let negotiate = AuthenticationMethod.negotiate(NegotiateOptions())

    /// Negotiate with options of your own.
    public static func negotiate(_ options: NegotiateOptions) -> AuthenticationMethod {
        AuthenticationMethod("Negotiate") { space in
            NegotiateScheme(space, options)
        } form: { _, place in
            AuthenticationForm(options.allowsNTLM && !place.isEncrypted ? .ntlm : .negotiate)
        }
    }
}
