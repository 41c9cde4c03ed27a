import Glibc
import NetKit

/// The destination of a body: a file, or standard output.
struct OutputFile: ~Copyable {
    /// A file that cannot be used, and the reason given by the system.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        /// The reader of the pipe has closed it.
        let isBrokenPipe: Bool

        init(description: String, isBrokenPipe: Bool = false) {
            self.description = description
            self.isBrokenPipe = isBrokenPipe
        }

        /// The reason why a file or folder cannot be read; nil if it can.
        init?(reading path: String) {
            if access(path, R_OK) == 0 { return nil }
            self.init(description: "\(path) cannot be read: \(String(cString: strerror(errno))).")
        }
    }

    private let descriptor: Int32
    private let name: String

    /// Standard output.
    init() {
        descriptor = STDOUT_FILENO
        name = "standard output"
    }

    /// - Parameters:
    ///   - path: the file; created if it does not exist.
    ///   - keeps: the number of bytes to keep at its beginning; the rest is truncated.
    init(path: String, keeping keeps: Int64) throws(Failure) {
        name = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw OutputFile.failure(writing: path) }
        // Both calls fail for devices and pipes, which have neither a length nor an offset.
        _ = ftruncate(descriptor, off_t(keeps))
        _ = lseek(descriptor, off_t(keeps), SEEK_SET)
    }

    deinit {
        if descriptor != STDOUT_FILENO { close(descriptor) }
    }

    /// The size of a file in bytes; 0 if it does not exist.
    static func size(of path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    func write(_ bytes: RawSpan) throws(Failure) {
        var written = 0
        while written < bytes.byteCount {
            let count = bytes.extracting(droppingFirst: written).withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw OutputFile.failure(writing: name) }
            written += count
        }
    }

    private static func failure(writing name: String) -> Failure {
        let number = errno
        return Failure(
            description: "\(name) cannot be written: \(String(cString: strerror(number))).",
            isBrokenPipe: number == EPIPE)
    }
}
