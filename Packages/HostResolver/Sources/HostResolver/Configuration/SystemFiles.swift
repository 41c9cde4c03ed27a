@_spi(Packages) internal import EventLoops
internal import Glibc

/// The current contents of the machine's name resolution files.
enum SystemFiles {
    private static let resolvConf = WatchedFile("/etc/resolv.conf", maximumSize: ResolverConfiguration.maximumTextSize)
    {
        bytes in
        ResolverConfiguration(
            parsing: String(decoding: bytes, as: UTF8.self), hostName: HostName.ofThisMachine,
            localDomain: environment("LOCALDOMAIN"), options: environment("RES_OPTIONS"))
    }

    private static let hostsFile = WatchedFile("/etc/hosts", maximumSize: HostsFile.maximumTextSize) {
        HostsFile(bytes: $0)
    }

    private static let gaiConf = WatchedFile("/etc/gai.conf", maximumSize: AddressPolicy.maximumTextSize) {
        AddressPolicy(parsing: String(decoding: $0, as: UTF8.self))
    }

    static var configuration: ResolverConfiguration { resolvConf.value }
    static var hosts: HostsFile { hostsFile.value }
    static var hostsAreQuick: Bool { hostsFile.isQuick }
    static var addressPolicy: AddressPolicy { gaiConf.value }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

extension HostName {
    /// The name of this machine, which may be no valid host name; nil if the kernel does not tell.
    @_spi(Packages) public static var ofThisMachine: String? {
        // HOST_NAME_MAX is 64, so the name and its NUL fit.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            gethostname(buffer.baseAddress!, buffer.count) == 0 ? String(cString: buffer.baseAddress!) : nil
        }
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
    static var system: AddressPolicy { SystemFiles.addressPolicy }
}

/// A cached, parsed configuration file that is read again after a change.
///
/// If the file exists and cannot be read, for example because the process has no descriptors left, the last known value stays in effect,
/// and the next access tries again.
///
/// Each access costs one `stat`, as each lookup in the C library does. That is cheaper than a watch, which would have
/// to follow files that are renamed, linked or mounted over. An event loop reads a long file that has changed on another thread first: see
/// ``isQuick``.
final class WatchedFile<Value: Sendable>: Sendable {
    private let path: String
    private let maximumSize: Int
    private let parse: @Sendable ([UInt8]) -> Value
    private let cached: Locked<(stamp: FileStamp?, value: Value)?>

    /// Creates a cache of `path`. `parse` gets the file's first `maximumSize` bytes, or none if there is no such file or it has never
    /// been readable.
    init(_ path: String, maximumSize: Int, parse: @escaping @Sendable ([UInt8]) -> Value) {
        self.path = path
        self.maximumSize = maximumSize
        self.parse = parse
        cached = Locked(nil)
    }

    /// The size up to which a file is parsed within an event loop's turn.
    static var quickSize: Int { 64 * 1024 }

    /// Whether ``value`` has little to read: the file is short, missing, or has not changed since it was last read.
    var isQuick: Bool {
        guard let stamp, stamp.size > Self.quickSize else { return true }
        return cached.withLock { $0?.stamp == stamp }
    }

    /// The value of the file's current contents.
    var value: Value {
        let stamp = stamp
        let known = cached.withLock { $0 }
        if let known, known.stamp == stamp { return known.value }
        guard let bytes = stamp == nil ? [] : try? SystemCall.contents(of: path, limit: maximumSize) else {
            return known?.value ?? parse([])
        }
        let value = parse(bytes)
        cached.withLock { $0 = (stamp, value) }
        return value
    }

    private var stamp: FileStamp? { FileStamp(path) }
}
