internal import Glibc
internal import StreamKit

/// A file of a tree on this machine, read or written from beginning to end. Never one behind a link, never a device.
struct LocalFile: ~Copyable {
    private let descriptor: Int32
    private let path: String
    /// Where reading or writing began.
    let offset: UInt64

    /// Opens a file to write; it is made if it is not there.
    ///
    /// - Parameter keeping: how much of it stays; what follows goes.
    init(writing path: String, keeping offset: UInt64) throws(StreamError) {
        // Without O_NONBLOCK a pipe of that name would hold us for ever.
        let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        descriptor = open(path, flags, 0o666)
        self.path = path
        self.offset = offset
        let isFile = descriptor >= 0 && LocalFile.isFile(descriptor)
        guard isFile, ftruncate(descriptor, off_t(clamping: offset)) == 0,
            lseek(descriptor, off_t(clamping: offset), SEEK_SET) >= 0
        else { throw StreamError(posix: errno == 0 ? EINVAL : errno, .cannotWrite(path)) }
    }

    /// Opens a file to read.
    init(reading path: String, from offset: UInt64) throws(StreamError) {
        descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        self.path = path
        self.offset = offset
        let isFile = descriptor >= 0 && LocalFile.isFile(descriptor)
        guard isFile, lseek(descriptor, off_t(clamping: offset), SEEK_SET) >= 0 else {
            throw StreamError(posix: errno == 0 ? EINVAL : errno, .cannotRead(path))
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func write(_ bytes: RawSpan) throws(StreamError) {
        var written = 0
        while written < bytes.byteCount {
            let count = bytes.extracting(droppingFirst: written).withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw StreamError(posix: errno, .cannotWrite(path)) }
            written += count
        }
    }

    /// The next bytes; 0 at the end.
    func read(into buffer: inout [UInt8]) throws(StreamError) -> Int {
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw StreamError(posix: errno, .cannotRead(path)) }
            return count
        }
    }

    /// How long a file is; nil if there is none, or something else of that name.
    static func size(of path: String) -> UInt64? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return UInt64(clamping: status.st_size)
    }

    private static func isFile(_ descriptor: Int32) -> Bool {
        errno = 0
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}

extension Sentence {
    fileprivate static func cannotWrite(_ path: String) -> Sentence {
        Sentence("ftp.file", "The file %1 cannot be written, or is a link or special file.", path)
    }

    fileprivate static func cannotRead(_ path: String) -> Sentence {
        Sentence("ftp.fileUnread", "The file %1 cannot be read, or is a link or special file.", path)
    }
}
