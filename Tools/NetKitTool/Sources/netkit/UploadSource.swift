import Glibc
@_spi(Packages) import NetKit

/// The source of an upload: a file, or a pipe or device, which can be read only once and has no known length.
///
/// `-` is standard input.
struct UploadSource {
    /// The number of bytes; nil if unknown.
    let length: Int64?
    private let path: String
    private let isFile: Bool

    /// - Throws: the reason why the source cannot be read.
    @available(*, noasync)
    init(_ name: String) throws(OutputFile.Failure) {
        var status = stat()
        if name == "-" {
            // /dev/stdin cannot be opened if another user owns it, and would be read from its start.
            guard fstat(STDIN_FILENO, &status) == 0 else { throw UploadSource.failure("standard input") }
            if status.st_mode & S_IFMT == S_IFDIR {
                throw OutputFile.Failure(description: "standard input is a folder.")
            }
            // A file is read by its path only to send it again, and if it is sent as a whole.
            let isWhole = lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 && access("/proc/self/fd/0", R_OK) == 0
            isFile = isWhole && status.st_mode & S_IFMT == S_IFREG && status.st_size > 0
            path = isFile ? "/proc/self/fd/0" : name
            length = UploadSource.rest(status)
            return
        }
        path = name
        if let failure = OutputFile.Failure(reading: path) { throw failure }
        guard stat(path, &status) == 0 else { throw UploadSource.failure(name) }
        let kind = status.st_mode & S_IFMT
        if kind == S_IFDIR { throw OutputFile.Failure(description: "\(name) is a folder.") }
        isFile = kind == S_IFREG
        // Files of /proc have contents, but the length 0.
        length = isFile && (status.st_size > 0 || UploadSource.isEmpty(path)) ? Int64(status.st_size) : nil
    }

    /// The number of bytes of a pipe that are read in order to send their length, which some servers require: 1 MiB.
    static let measuredLength = 1 << 20

    /// The body of an HTTP request. A file can be sent again after a redirect or a login, a pipe only if it was measured.
    ///
    /// - Parameters:
    ///   - rate: the greatest number of bytes per second; nil for no limit.
    ///   - omitsLineEnds: whether the bytes CR, LF and NUL are left out, as in a body of `-d`.
    ///   - measures: whether a pipe is read first, up to ``measuredLength``. A longer one is sent in chunks.
    func body(rate: Int64? = nil, omitsLineEnds: Bool = false, measures: Bool = false) throws -> HTTPBody {
        guard isFile else {
            let source = try source()
            guard measures else {
                return .stream(once: PacedUpload.stream(rate, source.stream, omitsLineEnds: omitsLineEnds))
            }
            var (bytes, isWhole) = try UploadSource.bytes(
                of: source.descriptor, path == "-" ? "standard input" : path, atMost: UploadSource.measuredLength)
            if omitsLineEnds { UploadSource.removeLineEnds(from: &bytes) }
            guard isWhole else {
                return .stream(
                    once: PacedUpload.stream(rate, source.stream, after: bytes, omitsLineEnds: omitsLineEnds))
            }
            guard let rate else { return .bytes(bytes) }
            return .stream(length: Int64(bytes.count)) { [bytes] in PacedUpload.stream(rate, ReadStream(bytes: bytes)) }
        }
        let length = omitsLineEnds ? try length.map { _ in try lengthWithoutLineEnds() } : length
        return .stream(length: length) { [path] in
            PacedUpload.stream(rate, ReadStream(path: path), omitsLineEnds: omitsLineEnds)
        }
    }

    /// Removes CR, LF and NUL.
    static func removeLineEnds(from bytes: inout [UInt8]) {
        bytes.removeAll { $0 == 0x0D || $0 == 0x0A || $0 == 0 }
    }

    /// The number of bytes of the file besides CR, LF and NUL.
    private func lengthWithoutLineEnds() throws -> Int64 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw UploadSource.failure(path) }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        var length: Int64 = 0
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw UploadSource.failure(path) }
            if count == 0 { return length }
            length += Int64(buffer[..<count].count { $0 != 0x0D && $0 != 0x0A && $0 != 0 })
        }
    }

    /// Returns a stream of the bytes, not yet open.
    ///
    /// - Parameter offset: the number of bytes of a file to skip.
    @available(*, noasync)
    private func stream(from offset: Int64) throws -> ReadStream {
        if isFile {
            let stream = ReadStream(path: path)
            if offset > 0 { try stream.set(.fileOffset, to: UInt64(offset)) }
            return stream
        }
        if offset > 0 { throw OutputFile.Failure(description: "\(path) cannot be resumed: it is not a file.") }
        return try source().stream
    }

    /// A pipe or device as a stream, which owns the descriptor.
    private func source() throws(OutputFile.Failure) -> (stream: ReadStream, descriptor: Int32) {
        let descriptor = path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw UploadSource.failure(path == "-" ? "standard input" : path) }
        return (StreamPair(descriptor: descriptor, ownership: .owned).input, descriptor)
    }

    /// Reads up to a number of bytes, and tells whether they are all that there is.
    private static func bytes(
        of descriptor: Int32, _ name: String, atMost limit: Int
    ) throws(OutputFile.Failure) -> ([UInt8], isWhole: Bool) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count < limit {
            let count = SystemCall.retrying {
                Glibc.read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
            }
            if count < 0, errno == EAGAIN {
                var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&wait, 1, -1)
                continue
            }
            guard count >= 0 else { throw failure(name) }
            if count == 0 { return (bytes, true) }
            bytes += buffer[..<count]
        }
        return (bytes, false)
    }

    /// All bytes of a file, or of standard input for `-`.
    static func contents(of path: String) throws(OutputFile.Failure) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { if path != "-" { close(descriptor) } }
        return try bytes(of: descriptor, path == "-" ? "standard input" : path, atMost: .max).0
    }

    /// The number of bytes from the offset of standard input to the end of its file; nil if it is not a file, or is empty.
    private static func rest(_ status: stat) -> Int64? {
        let offset = lseek(STDIN_FILENO, 0, SEEK_CUR)
        guard status.st_mode & S_IFMT == S_IFREG, offset >= 0, status.st_size > offset else { return nil }
        return Int64(status.st_size) - Int64(offset)
    }

    private static func failure(_ name: String) -> OutputFile.Failure {
        OutputFile.Failure(description: "\(name) cannot be read: \(String(cString: strerror(errno))).")
    }

    private static func isEmpty(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var byte: UInt8 = 0
        return read(descriptor, &byte, 1) <= 0
    }
}

// MARK: - Off the event loop

extension UploadSource {
    /// Looks at a source on a thread for files, as ``init(_:)``.
    static func find(_ name: String) async throws -> UploadSource {
        try await BlockingThreads.files(at: name).call { () throws(OutputFile.Failure) in try UploadSource(name) }
    }

    /// Returns a stream of the bytes, not yet open. Opening a pipe waits for its writer, without a limit.
    ///
    /// - Parameter offset: the number of bytes of a file to skip.
    func opened(from offset: Int64) async throws -> ReadStream {
        try await BlockingThreads.files(at: path).call(within: OutputFile.patience) { try stream(from: offset) }
    }
}
