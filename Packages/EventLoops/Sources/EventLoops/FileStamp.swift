internal import Glibc

/// The identity, size and times of a file, to detect changes. The time of modification alone would not show that a file was replaced by an
/// older one.
@_spi(Packages) public struct FileStamp: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    /// The number of bytes.
    public let size: Int64
    /// In nanoseconds since 1970.
    private let modification: Int128
    private let change: Int128
    /// Whether it is a folder.
    public let isDirectory: Bool

    /// Nil if there is no file at the path, or the process may not look at it. Follows links.
    public init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modification = Self.nanoseconds(status.st_mtim)
        change = Self.nanoseconds(status.st_ctim)
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }

    private static func nanoseconds(_ time: timespec) -> Int128 {
        Int128(time.tv_sec) * 1_000_000_000 + Int128(time.tv_nsec)
    }
}
