import Glibc
import NetKit

/// The source of an upload: a file, or a pipe or device, which can be read only once and has no known length.
///
/// `-` is standard input.
struct UploadSource {
    /// The number of bytes; nil if unknown.
    let length: Int64?
    private let path: String
    private let isFile: Bool

    /// - Throws: the reason why the source cannot be read.
    init(_ name: String) throws(OutputFile.Failure) {
        path = name == "-" ? "/dev/stdin" : name
        if let failure = OutputFile.Failure(reading: path) { throw failure }
        var status = stat()
        guard stat(path, &status) == 0 else { throw OutputFile.Failure(description: "\(name) cannot be read.") }
        let kind = status.st_mode & S_IFMT
        if kind == S_IFDIR { throw OutputFile.Failure(description: "\(name) is a folder.") }
        isFile = kind == S_IFREG
        // Files of /proc have contents, but the length 0.
        length = isFile && (status.st_size > 0 || UploadSource.isEmpty(path)) ? Int64(status.st_size) : nil
    }

    /// The body of an HTTP request. A file can be sent again after a redirect or a login, a pipe cannot.
    var body: HTTPBody {
        get throws {
            guard isFile else { return .stream(once: try stream()) }
            return .stream(length: length) { [path] in ReadStream(path: path) }
        }
    }

    /// Returns a stream of the bytes, not yet open.
    ///
    /// - Parameter offset: the number of bytes of a file to skip.
    func stream(from offset: Int64 = 0) throws -> ReadStream {
        if isFile {
            let stream = ReadStream(path: path)
            if offset > 0 { try stream.set(.fileOffset, to: UInt64(offset)) }
            return stream
        }
        if offset > 0 { throw OutputFile.Failure(description: "\(path) cannot be resumed: it is not a file.") }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw OutputFile.Failure(description: "\(path) cannot be read: \(String(cString: strerror(errno))).")
        }
        return StreamPair(descriptor: descriptor, ownership: .owned).input
    }

    private static func isEmpty(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var byte: UInt8 = 0
        return read(descriptor, &byte, 1) <= 0
    }
}
