/// Whose Kerberos ticket is used, and where it is. No environment variable is ever set for it.
///
/// ```swift
/// KerberosIdentity()                                                        // what kinit left
/// KerberosIdentity(.cache("FILE:/run/batch/tickets"))
/// KerberosIdentity(.keytab("/etc/batch.keytab"), principal: "batch@EXAMPLE.ORG")
/// KerberosIdentity(.password)                                               // the credential's user and password
/// ```
public struct KerberosIdentity: Hashable, Sendable {
    /// Where a ticket comes from.
    public enum Source: Hashable, Sendable {
        /// The system's place: what `kinit` left, of several the one that suits the service.
        case system
        /// A cache by name: `FILE:/path`, `KEYRING:…`, `KCM:`.
        case cache(String)
        /// Keys in a file, with which a ticket is fetched. It is kept in memory and no cache of the user's is touched.
        case keytab(String)
        /// User name and password of the credential, with which a ticket is fetched and then forgotten.
        case password
    }

    /// Where the ticket comes from.
    public var source: Source

    /// Whose it is, `alice@EXAMPLE.ORG`; nil takes the one that is there. With ``Source/password`` the credential's user
    /// name is taken.
    public var principal: String?

    /// Makes an identity.
    public init(_ source: Source = .system, principal: String? = nil) {
        self.source = source
        self.principal = principal
    }
}
