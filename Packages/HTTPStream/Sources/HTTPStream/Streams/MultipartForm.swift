internal import Glibc
@_spi(Packages) public import StreamKit

/// A form whose fields may be files: the type `multipart/form-data` (RFC 7578).
///
/// ```swift
/// var form = MultipartForm()
/// try form.append("title", "Holiday")
/// try await form.append("film", file: "film.mkv")
/// let request = try HTTPRequest(method: .post, url: url)
/// let response = try await session.load(request, body: .multipart(form))
/// ```
///
/// Files are read while the form is sent, so a form may be larger than the memory. Names and file names are sent in UTF-8; in
/// them, `"`, CR and LF are written as `%22`, `%0D` and `%0A`, as browsers do.
public struct MultipartForm: Sendable {
    /// The separator of the fields.
    ///
    /// It contains 128 random bits, so that no file can contain it by accident or by intent.
    public let boundary: String

    private var parts: [BodyPart] = []

    /// Makes an empty form.
    public init() {
        boundary = "NetKit-" + (0..<2).map { _ in String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }.joined()
    }

    /// The length of the encoded form in bytes.
    public var length: Int64 { encodedParts.reduce(0) { $0 + $1.length } }

    /// The value of `Content-Type` of a request with this form.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Adds a field with a text.
    ///
    /// - Parameters:
    ///   - name: The name of the field. A name may occur several times.
    ///   - value: The text.
    public mutating func append(_ name: String, _ value: String) throws(StreamError) {
        try append(name, fileName: nil, contentType: nil, .bytes(Array(value.utf8)))
    }

    /// Adds a field with bytes.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - bytes: The bytes.
    ///   - fileName: The file name that the server sees; nil for a field that is not a file.
    ///   - contentType: The media type of the bytes; nil to send none.
    /// - Throws: `EINVAL` if the media type contains a control character.
    public mutating func append(
        _ name: String, bytes: [UInt8], fileName: String? = nil, contentType: String? = nil
    ) throws(StreamError) {
        try append(name, fileName: fileName, contentType: contentType, .bytes(bytes))
    }

    /// Adds a field with the contents of a file.
    ///
    /// A thread for files determines the length of the file now; the file is opened when the form is sent. A file that is shorter by then is
    /// an error, and the further bytes of a longer one are not sent.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - path: The path of a regular file.
    ///   - fileName: The file name that the server sees; nil for the last part of `path`.
    ///   - contentType: The media type of the file; nil for that of the ending of `fileName` or `path`, or `application/octet-stream`.
    /// - Throws: The error of the file system; `EINVAL` for a path that is not a regular file, and if the media type contains a
    ///   control character; `StreamError.cancelled`; `ETIMEDOUT` if the disk has not answered within 60 s, and `EAGAIN` if too many
    ///   calls wait for it (`StreamErrorReason.unansweredCall`).
    public mutating func append(
        _ name: String, file path: String, fileName: String? = nil, contentType: String? = nil
    ) async throws(StreamError) {
        let length = try await BlockingThreads.files(at: path).fileResult { () throws(StreamError) in
            try MultipartForm.length(ofFile: path)
        }
        try append(name, file: path, length, fileName, contentType)
    }

    /// Adds a field with the contents of a file. As the asynchronous form, but waits for the disk on the calling thread, without a time
    /// limit.
    @available(*, noasync, message: "blocks the thread; use await")
    public mutating func append(
        _ name: String, file path: String, fileName: String? = nil, contentType: String? = nil
    ) throws(StreamError) {
        try append(name, file: path, try MultipartForm.length(ofFile: path), fileName, contentType)
    }

    private static func length(ofFile path: String) throws(StreamError) -> Int64 {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .unreadableFile(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notARegularFile(path) }
        return Int64(status.st_size)
    }

    private mutating func append(
        _ name: String, file path: String, _ length: Int64, _ fileName: String?, _ contentType: String?
    ) throws(StreamError) {
        let base = path.unicodeScalars.split(separator: "/").last.map { String($0) } ?? path
        let type = contentType ?? MultipartForm.type(fileName) ?? MultipartForm.type(base) ?? "application/octet-stream"
        try append(
            name, fileName: fileName ?? base, contentType: type,
            .stream(length: length) { ReadStream(path: path, opensOnThread: true) })
    }

    /// Adds a field with bytes from a stream.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - length: The number of bytes. A stream with fewer bytes is an error when the form is sent; further bytes are not sent.
    ///   - fileName: The file name that the server sees.
    ///   - contentType: The media type of the bytes.
    ///   - open: Returns the unopened stream; called each time the form has to be sent.
    /// - Throws: `EINVAL` if the media type contains a control character, and for a negative length.
    public mutating func append(
        _ name: String, length: Int64, fileName: String, contentType: String = "application/octet-stream",
        _ open: @escaping @Sendable () -> ReadStream
    ) throws(StreamError) {
        guard length >= 0 else { throw .invalidFormField(name) }
        try append(name, fileName: fileName, contentType: contentType, .stream(length: length, open))
    }

    private mutating func append(
        _ name: String, fileName: String?, contentType: String?, _ content: BodyPart
    ) throws(StreamError) {
        var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(MultipartForm.quoted(name))\""
        if let fileName { head += "; filename=\"\(MultipartForm.quoted(fileName))\"" }
        if let contentType {
            guard contentType.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else { throw .invalidFormField(name) }
            head += "\r\nContent-Type: \(contentType)"
        }
        parts += [.bytes(Array("\(head)\r\n\r\n".utf8)), content, .bytes([0x0d, 0x0a])]
    }

    /// The media type of a file's ending, without a character set, which is unknown; nil for an unknown one.
    private static func type(_ fileName: String?) -> String? {
        fileName.flatMap(MediaType.known(ofFile:)).map(MediaType.essence)
    }

    /// All parts, and the end of the form.
    var encodedParts: [BodyPart] { parts + [.bytes(Array("--\(boundary)--\r\n".utf8))] }

    private static func quoted(_ name: String) -> String {
        name.unicodeScalars.reduce(into: "") { text, character in
            switch character {
            case "\"": text += "%22"
            case "\r": text += "%0D"
            case "\n": text += "%0A"
            default: text.unicodeScalars.append(character)
            }
        }
    }
}
