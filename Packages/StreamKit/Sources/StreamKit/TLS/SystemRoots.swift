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
    private static let filled = Locked<[FileStamp?]>([])

    /// The state of the files that the roots are read from. Every connection asks for it, so a directory that has not
    /// changed is not read again.
    static func stamps() -> [FileStamp?] {
        let own = ownPlaces()
        let stamps = own.map { FileStamp($0) }
        if filled.withLock({ $0 == stamps }) { return stamps }
        let places = places()
        if places != own { return places.map { FileStamp($0) } }
        filled.withLock { $0 = stamps }
        return stamps
    }

    /// The locations in effect: OpenSSL's own, or the first bundle that exists, or none.
    private static func places() -> [String] {
        let own = ownPlaces()
        if own.contains(where: holdsSomething) { return own }
        return bundles.first(where: holdsSomething).map { [$0] } ?? []
    }

    private static func ownPlaces() -> [String] {
        let file = environment(X509_get_default_cert_file_env()) ?? String(cString: X509_get_default_cert_file())
        let directory = environment(X509_get_default_cert_dir_env()) ?? String(cString: X509_get_default_cert_dir())
        return [file] + directory.split(separator: ":").map(String.init)
    }

    /// Adds the roots to a store. Returns false if there are none.
    static func load(into store: OpaquePointer) -> Bool {
        let places = places()
        if let bundle = places.first, bundles.contains(bundle), X509_STORE_load_file(store, bundle) == 1 { return true }
        defer { ERR_clear_error() }
        return !places.isEmpty && X509_STORE_set_default_paths(store) == 1
    }

    private static func environment(_ name: UnsafePointer<CChar>?) -> String? {
        guard obeysEnvironment, let name, let value = getenv(name) else { return nil }
        return String(cString: value)
    }

    /// As in OpenSSL itself: in a program with raised privileges, the user who started it must not choose the roots.
    private static let obeysEnvironment = getuid() == geteuid() && getgid() == getegid()

    private static func holdsSomething(_ path: String) -> Bool {
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
