public import StreamKit

/// What a request sends besides its head.
///
/// ```swift
/// let upload = HTTPBody.stream(length: size) { ReadStream(path: "film.mkv") }
/// let stream = ReadStream(request: try HTTPRequest(method: .put, url: url), body: upload)
/// ```
public struct HTTPBody: Sendable {
    enum Source: Sendable {
        case bytes([UInt8])
        case repeatable(@Sendable () -> ReadStream)
        case once(ReadStream)
    }

    let source: Source
    let length: Int64?

    /// Bytes in memory.
    public static func bytes(_ bytes: [UInt8]) -> HTTPBody {
        HTTPBody(source: .bytes(bytes), length: Int64(bytes.count))
    }

    /// What a stream gives, made anew each time the body has to be sent: after a redirect, or on a second connection.
    ///
    /// - Parameters:
    ///   - length: how many bytes it gives; nil to send it in chunks. A stream that ends early fails the load, one that
    ///     goes on is cut.
    ///   - open: makes the stream, unopened; it is opened, drained and closed here.
    public static func stream(length: Int64?, _ open: @escaping @Sendable () -> ReadStream) -> HTTPBody {
        HTTPBody(source: .repeatable(open), length: length)
    }

    /// What a stream gives, once: where the body would be needed again, the load fails instead.
    ///
    /// Replaces the body of `CFReadStreamCreateForStreamedHTTPRequest`.
    public static func stream(once stream: ReadStream, length: Int64? = nil) -> HTTPBody {
        HTTPBody(source: .once(stream), length: length)
    }

    var isRepeatable: Bool {
        if case .once = source { false } else { true }
    }
}
