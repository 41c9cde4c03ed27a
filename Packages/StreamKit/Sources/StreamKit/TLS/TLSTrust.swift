/// Whose word is taken for it that a certificate is genuine: the roots a chain may end at.
///
/// ```swift
/// configuration.trust = .only(file: "/etc/ca/company.pem")       // this authority and no other
/// configuration.trust.roots += try Certificate.all(in: pem)      // one more, beside those there are
/// ```
///
/// A certificate that is named here is trusted even if it is no root: trusting an intermediate authority, or one server's
/// own certificate, needs nothing else. Files and directories are read when the first connection is made, and anew for
/// later connections once they have changed.
public struct TLSTrust: Sendable, Hashable {
    /// The roots that this machine trusts: OpenSSL's default places (which the environment variables `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` move), else the bundle of the distribution.
    public var includesSystemRoots: Bool

    /// Roots given as values.
    public var roots: [Certificate]

    /// Paths of files with roots: PEM, any number in each, or one in DER.
    public var files: [String]

    /// Paths of directories as `openssl rehash` makes them: a file per root, named after a hash of its subject.
    public var directories: [String]

    /// Paths of files with lists of revoked certificates (RFC 5280 §5): PEM, any number in each, or one in DER.
    ///
    /// Empty (default): what was revoked is not known. Else every certificate of a chain needs a list by its issuer that is
    /// in date, the peer's own and those of the authorities; one without is refused, as is one that a list names.
    public var revocationLists: [String]

    /// Makes a set of roots; it may be empty, and then trusts nobody.
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

    /// What this machine trusts.
    public static let system = TLSTrust(includesSystemRoots: true)

    /// These roots and no others.
    public static func only(_ roots: [Certificate]) -> TLSTrust {
        TLSTrust(includesSystemRoots: false, roots: roots)
    }

    /// The roots in a file, and no others.
    public static func only(file path: String) -> TLSTrust {
        TLSTrust(includesSystemRoots: false, files: [path])
    }
}
