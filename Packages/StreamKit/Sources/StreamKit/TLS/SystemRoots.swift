internal import COpenSSL
internal import EventLoops
internal import Glibc

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

    /// The state of the files that the roots are read from. Every connection asks for it, so a directory that has not
    /// changed is not read again.
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
        return [file] + directory.split(separator: ":").map(String.init)
    }

    /// Adds the roots to a store. Returns false if there are none.
    static func load(into store: OpaquePointer) -> Bool {
        let locations = locations()
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
        guard let directory = opendir(path) else { return false }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { return true }
        }
        return false
    }
}
