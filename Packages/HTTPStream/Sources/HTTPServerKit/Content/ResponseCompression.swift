@_spi(Compression) internal import HTTPStream

/// The compression of responses with gzip, for clients that accept it (`Accept-Encoding` with weights).
///
/// ```swift
/// router.compression = ResponseCompression()
/// ```
///
/// Compressed are responses of ``RoutedExchange`` and files, if their media type is text, JSON, XML, JavaScript, SVG or
/// WebAssembly, and if they are long enough. Not compressed are ranges, events, formats that are compressed already, responses
/// with a `Content-Encoding`, with `Cache-Control: no-transform` or with a status other than 2xx, and bodies that a handler
/// writes itself. A response that could have been compressed has `Vary: Accept-Encoding`.
///
/// Off by default. Over TLS, the length of a compressed response reveals something about a secret in it, such as a token of a
/// form, if the same response repeats text of the request (BREACH). Give such responses `Cache-Control: no-transform`.
///
/// zlib is loaded at run time; without it, responses are not compressed.
public struct ResponseCompression: Sendable, Hashable {
    /// The minimum length of a body that is compressed, in bytes. Default 1024. An empty body is never compressed.
    public var minimumLength: Int64 = 1024

    /// From 1, the fastest, to 9, the smallest. Default 5.
    public var level = 5

    /// Makes a compression with the defaults stated at each property.
    public init() {}

    /// Whether a response is compressed for a client that accepts it.
    ///
    /// - Parameter length: the length of the body; nil if it is unknown.
    func applies(to response: HTTPResponse, length: Int64?) -> Bool {
        let (status, fields) = (response.status, response.fields)
        guard 200...299 ~= status.code, status != .noContent, status != .partialContent,
            !fields.contains(.contentEncoding), !fields.contains(.contentRange), !fields.contains(.contentLength),
            let type = fields[.contentType], MediaType.isCompressible(type)
        else { return false }
        let isFixed = fields[.cacheControl]?.lowercased().contains("no-transform") ?? false
        // A body of no bytes is not a gzip member.
        return !isFixed && (length ?? .max) >= max(1, minimumLength)
    }

    /// Whether zlib is installed.
    static let isAvailable = (try? Zlib(deflating: .gzip, level: 1)) != nil

    /// Responds with a compressed body.
    func send(_ body: [UInt8], _ response: HTTPResponse, on exchange: HTTPServerExchange) async throws {
        let encoder = try GzipEncoder(level: level)
        // A longer body is sent while it is compressed, so that it is not in memory twice.
        let isSentWhole = body.count <= 256 * 1024
        if !isSentWhole {
            try await exchange.begin(response)
            if exchange.request.method == .head { return }
        }
        var output: [UInt8] = []
        var position = 0
        while position < body.count {
            let end = min(body.count, position + ResponseCompression.portion)
            output += try encoder.encode(body.span.bytes.extracting(position..<end), isLast: end == body.count)
            position = end
            if !isSentWhole, output.count >= 65536 || end == body.count {
                try await exchange.write(output)
                output.removeAll(keepingCapacity: true)
            }
            if exchange.loop.isShareSpent { await Task.yield() }
        }
        if isSentWhole { try await exchange.respond(response.status, fields: response.fields, body: output) }
    }

    /// The number of bytes that are compressed at once: their compression takes less than a job's share of the loop's turn.
    private static let portion = 16 * 1024
}

/// One body in gzip.
struct GzipEncoder {
    private let zlib: Zlib

    init(level: Int) throws(StreamError) {
        zlib = try Zlib(deflating: .gzip, level: max(1, level))
    }

    /// Returns the compressed bytes that are complete; with `isLast`, all that remain.
    func encode(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> [UInt8] {
        var output: [UInt8] = []
        var memory = [UInt8](repeating: 0, count: 16 * 1024)
        var position = 0
        while true {
            let step = memory.withUnsafeMutableBytes { memory in
                zlib.deflate(bytes.extracting(droppingFirst: position), into: memory, flush: isLast ? .finish : .none)
            }
            guard let step else { throw StreamError(posix: 5) }  // EIO
            position += step.consumed
            output += memory[..<step.produced]
            // zlib keeps nothing back once it leaves room in the output.
            if step.hasEnded || (position == bytes.byteCount && step.produced < memory.count && !isLast) {
                return output
            }
        }
    }
}
