/// The certificates to trust: the roots at which a chain may end.
///
/// ```swift
/// configuration.trust = .only(file: "/etc/ca/company.pem")       // this authority and no other
/// configuration.trust.roots += try Certificate.all(in: pem)      // one more, besides those already trusted
/// ```
///
/// A certificate named here is trusted even if it is not a root. To trust an intermediate authority, or one server's
/// own certificate, name it. Files and directories are read for the first connection, and again for later connections
/// after they have changed.
public struct TLSTrust: Sendable, Hashable {
    /// Whether to trust this machine's roots: those in OpenSSL's default locations (which the environment variables
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR` override), or else in the bundle of the distribution.
    public var includesSystemRoots: Bool

    /// Roots given as values.
    public var roots: [Certificate]

    /// Paths of files with roots: any number in PEM, or one in DER.
    public var files: [String]

    /// Paths of directories made by `openssl rehash`: one file per root, named after a hash of its subject.
    public var directories: [String]

    /// Paths of files with certificate revocation lists (RFC 5280 §5): any number in PEM, or one in DER.
    ///
    /// If empty (default), revocation is not checked. Otherwise every certificate of a chain, the peer's own and those
    /// of the authorities, needs a current list by its issuer. A certificate without one is refused, as is one that a
    /// list names.
    public var revocationLists: [String]

    /// Makes a set of roots. With an empty set, no certificate is trusted.
    public init(
        includesSystemRoots: Bool, roots: [Certificate] = [], files: [String] = [], directories: [String] = [],
        revocationLists: [String] = []
    ) {
        self.includesSystemRoots = includesSystemRoots
        self.roots = roots
        self.files = files
        self.directories = directories
        self.revocationLists = revocationLists
    }

    /// The roots that this machine trusts.
    public static let system = TLSTrust(includesSystemRoots: true)

    /// Only these roots.
    public static func only(_ roots: [Certificate]) -> TLSTrust {
        TLSTrust(includesSystemRoots: false, roots: roots)
    }

    /// Only the roots in a file.
    public static func only(file path: String) -> TLSTrust {
        TLSTrust(includesSystemRoots: false, files: [path])
    }
}
