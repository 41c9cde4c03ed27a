internal import Glibc

/// The identity, size and times of a file, to detect changes. The time of modification alone would not show that a file was replaced by an
/// older one.
@_spi(Packages) public struct FileStamp: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    /// The number of bytes.
    public let size: Int64
    private let times: [Int]
    /// Whether it is a folder.
    public let isDirectory: Bool

    /// Nil if there is no file at the path, or the process may not look at it. Follows links.
    public init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        times = [status.st_mtim, status.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] }
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }
}
