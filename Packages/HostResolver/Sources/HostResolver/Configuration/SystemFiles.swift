internal import Glibc

/// The machine's configuration of name resolution, always as it is now.
enum SystemFiles {
    private static let resolvConf = WatchedFile("/etc/resolv.conf", largestSize: ResolverConfiguration.largestText) {
        bytes in
        ResolverConfiguration(
            parsing: String(decoding: bytes, as: UTF8.self), hostName: hostName,
            localDomain: environment("LOCALDOMAIN"), options: environment("RES_OPTIONS"))
    }

    private static let hostsFile = WatchedFile("/etc/hosts", largestSize: HostsFile.largestText) {
        HostsFile(bytes: $0)
    }

    private static let gaiConf = WatchedFile("/etc/gai.conf", largestSize: AddressPolicy.largestText) {
        AddressPolicy(parsing: String(decoding: $0, as: UTF8.self))
    }

    static var configuration: ResolverConfiguration { resolvConf.value }
    static var hosts: HostsFile { hostsFile.value }
    static var addressPolicy: AddressPolicy { gaiConf.value }

    private static var hostName: String? {
        // HOST_NAME_MAX is 64; the kernel ends it with a NUL if it fits.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            gethostname(buffer.baseAddress!, buffer.count) == 0 ? String(cString: buffer.baseAddress!) : nil
        }
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

extension ResolverConfiguration {
    /// What `/etc/resolv.conf`, `LOCALDOMAIN` and `RES_OPTIONS` say now.
    public static var system: ResolverConfiguration { SystemFiles.configuration }
}

extension HostsFile {
    /// What `/etc/hosts` says now.
    public static var system: HostsFile { SystemFiles.hosts }
}

extension AddressPolicy {
    /// What `/etc/gai.conf` says now; ``standard`` without such a file.
    public static var system: AddressPolicy { SystemFiles.addressPolicy }
}
