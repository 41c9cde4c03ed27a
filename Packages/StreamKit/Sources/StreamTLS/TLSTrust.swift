internal import COpenSSL
@_spi(Packages) internal import EventLoops
internal import Glibc

/// The certificates to trust: the roots at which a chain may end.
///
/// ```swift
/// configuration.trust = .only(file: "/etc/ca/company.pem")       // this authority and no other
/// configuration.trust.roots += try Certificate.all(in: pem)      // one more, besides those already trusted
/// ```
///
/// A certificate named here is trusted even if it is not a root. To trust an intermediate authority, or one server's
/// own certificate, name it. Files and directories are read for the first connection, on another thread, and again for
/// connections that begin a second or more after they have changed.
public struct TLSTrust: Sendable, Hashable {
    /// Whether to trust this machine's roots: those in OpenSSL's default locations (which the environment variables
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR` override), or else in the bundle of the distribution.
    public var includesSystemRoots: Bool

    /// Roots given as values.
    public var roots: [Certificate]

    /// Paths of files with roots: any number in PEM, or one in DER. Roots that cannot be read are skipped (``Certificate/unreadableBlocks(in:)``).
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

/// The trusted roots of this machine.
enum SystemRoots {
    /// The bundles of distributions, used if OpenSSL's default locations are empty, as with an OpenSSL that was built
    /// elsewhere.
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine, Gentoo
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
        "/etc/pki/tls/certs/ca-bundle.crt",  // older RHEL, Amazon Linux
        "/etc/ssl/ca-bundle.pem",  // SUSE
        "/etc/ssl/cert.pem",  // Alpine, OpenBSD
    ]

    /// The state of OpenSSL's own locations when they last contained something.
    private static let lastNonEmptyState = Locked<[FileStamp?]>([])

    /// The state of the files that the roots are read from. A directory whose state has not changed is not listed again.
    static func stamps() -> [FileStamp?] {
        let defaults = defaultLocations()
        let stamps = defaults.map { FileStamp($0) }
        if lastNonEmptyState.withLock({ $0 == stamps }) { return stamps }
        let locations = locations()
        if locations != defaults { return locations.map { FileStamp($0) } }
        lastNonEmptyState.withLock { $0 = stamps }
        return stamps
    }

    /// The locations in effect: OpenSSL's own, or the first bundle that exists, or none.
    private static func locations() -> [String] {
        let defaults = defaultLocations()
        if defaults.contains(where: isNonEmpty) { return defaults }
        return bundles.first(where: isNonEmpty).map { [$0] } ?? []
    }

    private static func defaultLocations() -> [String] {
        let file = environment(X509_get_default_cert_file_env()) ?? String(cString: X509_get_default_cert_file())
        let directory = environment(X509_get_default_cert_dir_env()) ?? String(cString: X509_get_default_cert_dir())
        return [file] + directory.utf8.split(separator: UInt8(ascii: ":")).map { String(Substring($0)) }
    }

    /// Adds the roots to a store. Returns false if there are none.
    ///
    /// - Throws: EMFILE or ENFILE if no descriptor is left to read them. OpenSSL would only find no roots, and the context would be
    ///   kept for later connections.
    static func load(into store: OpaquePointer) throws(StreamError) -> Bool {
        let locations = locations()
        if let path = locations.first(where: isNonEmpty) {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            if descriptor >= 0 {
                close(descriptor)
            } else if errno == EMFILE || errno == ENFILE {
                throw StreamError.fileNotOpened(path, errno)
            }
        }
        if let bundle = locations.first, bundles.contains(bundle), X509_STORE_load_file(store, bundle) == 1 {
            return true
        }
        defer { ERR_clear_error() }
        return !locations.isEmpty && X509_STORE_set_default_paths(store) == 1
    }

    private static func environment(_ name: UnsafePointer<CChar>?) -> String? {
        guard usesEnvironment, let name, let value = getenv(name) else { return nil }
        return String(cString: value)
    }

    /// As in OpenSSL itself: in a program with raised privileges, the user who started it must not choose the roots.
    private static let usesEnvironment = getuid() == geteuid() && getgid() == getegid()

    private static func isNonEmpty(_ path: String) -> Bool {
        guard let stamp = FileStamp(path) else { return false }
        guard stamp.isDirectory else { return stamp.size > 0 }
        guard let directory = opendir(path) else { return errno == EMFILE || errno == ENFILE }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { return true }
        }
        return false
    }
}
