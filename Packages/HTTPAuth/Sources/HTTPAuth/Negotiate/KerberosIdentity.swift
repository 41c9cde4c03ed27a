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
