internal import Glibc

/// Identifies the state of a file, to detect changes. It covers more than the time stamp that `make` compares.
struct FileStamp: Sendable, Hashable {
    let path: String
    let device: UInt
    let inode: UInt
    let size: Int
    let seconds: Int
    let nanoseconds: Int
    let isDirectory: Bool

    /// Returns nil if the file does not exist.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.path = path
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }
}
