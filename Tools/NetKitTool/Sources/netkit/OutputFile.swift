import Glibc
import NetKit

/// Where a body goes: a file, or standard output.
struct OutputFile: ~Copyable {
    /// A file that cannot be used, with what the system said.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        /// Nobody reads what is written.
        let isBrokenPipe: Bool

        init(description: String, isBrokenPipe: Bool = false) {
            self.description = description
            self.isBrokenPipe = isBrokenPipe
        }

        /// Why a file or folder cannot be read; nil if it can.
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
    ///   - path: the file; made if it is not there.
    ///   - keeps: how many bytes at its front are kept; what follows goes.
    init(path: String, keeping keeps: Int64) throws(Failure) {
        name = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw OutputFile.failure("cannot be written", path) }
        // Devices and pipes have no length and no place.
        _ = ftruncate(descriptor, off_t(keeps))
        _ = lseek(descriptor, off_t(keeps), SEEK_SET)
    }

    deinit {
        if descriptor != STDOUT_FILENO { close(descriptor) }
    }

    /// How long a file is; 0 if there is none.
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
            guard count >= 0 else { throw OutputFile.failure("cannot be written", name) }
            written += count
        }
    }

    private static func failure(_ what: String, _ name: String) -> Failure {
        let number = errno
        return Failure(
            description: "\(name) \(what): \(String(cString: strerror(number))).", isBrokenPipe: number == EPIPE)
    }
}
