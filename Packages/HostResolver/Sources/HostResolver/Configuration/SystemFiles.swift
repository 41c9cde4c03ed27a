internal import Glibc

/// The current contents of the machine's name resolution files.
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
        // HOST_NAME_MAX is 64, so the name and its NUL fit.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            gethostname(buffer.baseAddress!, buffer.count) == 0 ? String(cString: buffer.baseAddress!) : nil
        }
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

extension ResolverConfiguration {
    /// The current configuration from `/etc/resolv.conf`, `LOCALDOMAIN` and `RES_OPTIONS`.
    public static var system: ResolverConfiguration { SystemFiles.configuration }
}

extension HostsFile {
    /// The current contents of `/etc/hosts`.
    public static var system: HostsFile { SystemFiles.hosts }
}

extension AddressPolicy {
    /// The current contents of `/etc/gai.conf`; ``standard`` if there is no such file.
    public static var system: AddressPolicy { SystemFiles.addressPolicy }
}
