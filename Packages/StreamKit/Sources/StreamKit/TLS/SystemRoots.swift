internal import COpenSSL
internal import EventLoops
internal import Glibc

/// Where this machine keeps the roots it trusts.
enum SystemRoots {
    /// Bundles of the distributions, for an OpenSSL whose own default places hold nothing, as one built elsewhere.
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine, Gentoo
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
        "/etc/pki/tls/certs/ca-bundle.crt",  // older RHEL, Amazon Linux
        "/etc/ssl/ca-bundle.pem",  // SUSE
        "/etc/ssl/cert.pem",  // Alpine, OpenBSD
    ]

    /// OpenSSL's own places, as they were when something was last found there.
    private static let filled = Locked<[FileStamp?]>([])

    /// What tells whether the roots are still those that were read. Asked for each connection, so a directory that has not
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

    /// The places that count now: OpenSSL's, or the first bundle there is, or none.
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

    /// Adds the roots to a store; false if there are none.
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

    /// As OpenSSL itself does, in programs with raised privileges whoever started them has no say.
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
