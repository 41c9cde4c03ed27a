@_spi(Packages) internal import EventLoops
internal import Glibc

/// Reads small regular files, from any path.
///
/// A path may lead to a FIFO, a device or a kernel file that blocks or never ends. None of them is opened, or read
/// beyond a limit, so that a thread of the cooperative pool may call this.
package enum RegularFile {
    /// Returns the whole file in one allocation, because growing an array would leave copies of secrets behind.
    ///
    /// - Throws: `EISDIR` for a directory, `EINVAL` for anything else that is not a regular file, `EFBIG` if it is larger than `limit`,
    ///   another `errno` if it cannot be opened or read.
    package static func read(_ path: String, limit: Int) throws(StreamError) -> [UInt8] {
        // Before opening, which has side effects on devices; and again afterwards, because the path may lead elsewhere
        // by then.
        var status = stat()
        guard stat(path, &status) == 0 else { throw StreamError.fileNotOpened(path, errno) }
        try check(status, path, limit)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw StreamError.fileNotOpened(path, errno) }
        defer { close(descriptor) }
        guard fstat(descriptor, &status) == 0 else { throw StreamError.fileNotOpened(path, errno) }
        try check(status, path, limit)
        // Kernel files report no size. One byte more than the limit shows that the file is too large.
        let capacity = status.st_size > 0 ? Int(status.st_size) : limit + 1
        let bytes: [UInt8]
        do throws(SystemCall.Failure) {
            bytes = try SystemCall.reading(upTo: capacity) { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        } catch {
            throw StreamError.fileNotOpened(path, error.number)
        }
        guard bytes.count <= limit else { throw StreamError.fileNotOpened(path, EFBIG) }
        return bytes
    }

    private static func check(_ status: stat, _ path: String, _ limit: Int) throws(StreamError) {
        let number: CInt =
            switch status.st_mode & S_IFMT {
            case S_IFREG: status.st_size <= limit ? 0 : EFBIG
            case S_IFDIR: EISDIR
            default: EINVAL
            }
        if number == EINVAL { throw StreamError(posix: EINVAL, .fileNotRegular(path), reason: .localFile) }
        if number != 0 { throw StreamError.fileNotOpened(path, number) }
    }
}

extension Sentence {
    fileprivate static func fileNotRegular(_ path: String) -> Sentence {
        Sentence("file.notRegular", "%1 is not a regular file.", path)
    }
}
