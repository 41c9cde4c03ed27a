@_spi(Packages) internal import EventLoops
internal import HTTPMessage
@_spi(Packages) internal import StreamKit

/// The streams of an HTTP/1.1 connection, with the bytes received on it and the parser of the next head.
final class HTTP1Link: @unchecked Sendable {
    // Unchecked: it has one owner at a time, which uses it inside a lock: the exchange on the connection, or the pool; or the
    // thread to which it has been lent. No two accesses can overlap, and a check at each access would cost more than many
    // of them do.

    /// 16 KiB: room for a head and a small body in one read. Large bodies are read past the buffer.
    static let bufferSize = 16 * 1024

    let pair: StreamPair
    /// The input of ``pair`` as a transport, whose results need no conversion.
    private let input: any StreamTransport
    @exclusivity(unchecked) var buffer = ReceiveBuffer(capacity: HTTP1Link.bufferSize)
    @exclusivity(unchecked) private var parser: HeadParser
    /// The instant of the last read.
    @exclusivity(unchecked) private(set) var lastRead = Moment.now
    /// Whether the last read emptied the socket, if the connection is plain TCP.
    @exclusivity(unchecked) var isDrained = false
    /// What TLS has agreed on. Requires that the connection is open.
    private(set) lazy var security = ConnectionSecurity(of: pair)

    init(_ pair: StreamPair, limits: HTTPLimits) {
        self.pair = pair
        input = pair.input.transport
        parser = HeadParser(.response, limits: limits, leniency: .client)
    }

    /// The limits of the response.
    var limits: HTTPLimits { parser.limits }

    /// Prepares the connection for another response, which has these limits.
    func accept(_ limits: HTTPLimits) {
        if parser.limits != limits { parser = HeadParser(.response, limits: limits, leniency: .client) }
    }

    /// Removes a head from the front of the buffer and returns it; nil if more bytes are needed.
    func takeHead() throws(HTTPMessageError) -> HTTPResponse? {
        var length = 0
        let head = try buffer.withBytes { (bytes) throws(HTTPMessageError) -> HTTPResponse? in
            guard case .complete(let found) = try parser.parse(bytes) else { return nil }
            length = found
            return try parser.makeResponse(from: bytes)
        }
        guard let head else { return nil }
        buffer.remove(length)
        parser.reset()
        return head
    }

    /// Reads into the buffer. Returns the number of bytes, 0 at the end, or nil if there are none now; with `waits`, waits for
    /// some.
    func fill(waits: Bool = false) throws(StreamError) -> Int? {
        let count = try buffer.fill(from: pair.input, waits: waits)
        lastRead = .now
        isDrained = buffer.hasRoom
        return count
    }

    /// Reads past the buffer, which is empty, into at most `limit` bytes of `target`.
    func read(into target: inout MutableRawSpan, upTo limit: Int64) throws(StreamError) -> Attempt {
        // The read may leave bytes behind the body in the socket.
        isDrained = false
        // Not `withPart`, whose closure would be one more function between the reader and the socket.
        var part = target._mutatingExtracting(0..<Int(min(limit, Int64(target.byteCount))))
        return try input.tryRead(into: &part)
    }

    /// Waits on the calling thread until there is input. With `fills`, the input is read into the buffer.
    func wait(fills: Bool) -> StreamError? {
        do throws(StreamError) {
            if fills { _ = try fill(waits: true) } else { try pair.input.ready() }
            return nil
        } catch {
            return error
        }
    }

    /// Whether a read has emptied the socket within this time before `now`, if the connection is plain TCP.
    func wasDrained(within time: Duration, before now: Moment) -> Bool {
        isDrained && lastRead.duration(to: now) < time
    }
}
