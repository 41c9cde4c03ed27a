/// The options of Negotiate. The defaults are the secure ones.
///
/// ```swift
/// var options = NegotiateOptions()
/// options.identity = KerberosIdentity(.cache("FILE:/run/batch/tickets"))
/// options.mutualAuthentication = .required
/// policy.methods = [.negotiate(options)]
/// ```
public struct NegotiateOptions: Hashable, Sendable {
    /// Whether the server must prove its identity.
    public enum MutualAuthentication: Hashable, Sendable {
        /// No proof is requested.
        case off
        /// A proof is requested, and a wrong one is an error. A missing one is accepted, because some proxies and
        /// servers drop it.
        case optional
        /// A response without a valid proof is an error.
        case required
    }

    /// Whether the server receives the user's ticket, to act for the user elsewhere.
    public enum Delegation: Hashable, Sendable {
        /// Never.
        case never
        /// If the administrator of the realm marked the service as trusted for delegation.
        case ifTrusted
        /// If the host of the URL is in this set. Case, brackets around an address and a trailing dot are ignored.
        case toHosts(Set<String>)
    }

    /// The ticket to use. By default that of the user who runs the program.
    public var identity: KerberosIdentity

    /// The servers that tickets may be requested for and sent to.
    public enum Hosts: Hashable, Sendable {
        /// The server that the application named, and its proxies, but not the target of a redirect.
        case named
        /// The hosts in this set, ignoring case, even after a redirect.
        case list(Set<String>)
        /// Any server that asks, including the target of a redirect.
        case all
    }

    /// The servers that tickets may be requested for and sent to. By default the one that the application named.
    ///
    /// Any other server fails with ``HTTPAuthError/Code/hostNotAllowed``, and the next scheme is tried.
    public var hosts = Hosts.named

    /// Whether the server must prove its identity. By default a proof is requested but not required.
    public var mutualAuthentication = MutualAuthentication.optional

    /// Whether the server receives the user's ticket. By default it does not.
    public var delegation = Delegation.never

    /// The name of the service, `HTTP/www.example.org` or `HTTP/www.example.org@EXAMPLE.ORG`. Nil means `HTTP/` and the
    /// host of the URL, in the realm that `krb5.conf` assigns to it or, without one, the realm that the user's realm
    /// refers to.
    public var serviceName: String?

    /// Whether the system may canonicalize the host name through DNS, as configured in `krb5.conf`. Off by default:
    /// forged DNS answers would choose the service that the user logs in to.
    public var canonicalizesHostName = false

    /// Whether NTLM may be used within Negotiate, if the server selects it or there is no ticket. Off by default,
    /// because it is much weaker. It requires a user name and a password.
    public var allowsNTLM = false

    /// The options of NTLM within Negotiate.
    public var ntlm = NTLMOptions()

    /// Creates options.
    public init(identity: KerberosIdentity = KerberosIdentity()) {
        self.identity = identity
    }
}

extension AuthenticationMethod {
    /// Negotiate: Kerberos with the ticket of the user who runs the program, without NTLM.
    ///
    /// MIT Kerberos (`libgssapi_krb5.so.2`) is loaded when a server first offers the scheme. If it is not installed, the
    /// scheme is skipped as if the server had not offered it, and ``HTTPAuthentication/explain()`` gives the reason:
    /// ``HTTPAuthError/Code/unavailable``.
    ///
    /// Replaces `kCFHTTPAuthenticationSchemeNegotiate`.
    public static let negotiate = AuthenticationMethod.negotiate(NegotiateOptions())

    /// Returns Negotiate with custom options.
    public static func negotiate(_ options: NegotiateOptions) -> AuthenticationMethod {
        negotiate(options) { GSSLibrary.shared }
    }

    /// Returns Negotiate with the result of loading GSSAPI, which is requested when a server offers the scheme.
    static func negotiate(
        _ options: NegotiateOptions, library: @escaping @Sendable () -> Result<GSSLibrary, HTTPAuthError>
    ) -> AuthenticationMethod {
        AuthenticationMethod("Negotiate") { (space) throws(HTTPAuthError) in
            // NTLM within Negotiate does not need the library.
            if !options.allowsNTLM { _ = try library().get() }
            return NegotiateScheme(space, options)
        } form: { _, peer in
            AuthenticationForm(options.allowsNTLM && !peer.isEncrypted ? .ntlm : .negotiate)
        }
    }
}

/// The Kerberos ticket to use, and its source. Environment variables are never changed.
///
/// ```swift
/// KerberosIdentity()                                                        // the ticket from kinit
/// KerberosIdentity(.cache("FILE:/run/batch/tickets"))
/// KerberosIdentity(.keytab("/etc/batch.keytab"), principal: "batch@EXAMPLE.ORG")
/// KerberosIdentity(.password)                                               // the user and password of the credential
/// ```
public struct KerberosIdentity: Hashable, Sendable {
    /// The source of a ticket.
    public enum Source: Hashable, Sendable {
        /// The system's default: the ticket from `kinit`. If there are several, the one that suits the service.
        case system
        /// A credential cache by name: `FILE:/path`, `KEYRING:…`, `KCM:`.
        case cache(String)
        /// A keytab, a file with keys that fetch a ticket. The ticket is kept in memory; the user's caches are not
        /// touched.
        case keytab(String)
        /// The user name and password of the credential, which fetch a ticket for one login.
        case password
    }

    /// The source of the ticket.
    public var source: Source

    /// The principal of the ticket, such as `alice@EXAMPLE.ORG`; nil means the one in the source. With
    /// ``Source/password``, nil means the credential's user name.
    public var principal: String?

    /// Creates an identity.
    public init(_ source: Source = .system, principal: String? = nil) {
        self.source = source
        self.principal = principal
    }
}
