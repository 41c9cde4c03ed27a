internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// Sends one request over one connection: the head, then the body, as far as they go without waiting.
struct RequestSender: ~Copyable, Sendable {
    /// What a step came to.
    enum Progress {
        /// Everything was sent.
        case done
        /// A piece of a streamed body was sent; there is more. A good time to see whether the server has answered.
        case sentPiece
        /// The connection takes no more now.
        case connectionBlocks
        /// The body's stream has no more now; see ``RequestSender/sourcePoint``.
        case sourceBlocks
        /// The head was sent; the body waits for a 100 (Continue).
        case awaitsLeave
        /// The connection failed.
        case failed(StreamError)
    }

    /// A body up to this size goes out with the head, in one call.
    static let smallBody = 64 * 1024

    /// How many bytes of the body the connection has taken.
    private(set) var bodyBytesSent: Int64 = 0
    /// How many bytes the connection has taken, head and framing included.
    private(set) var taken = 0
    /// Nothing is left to send, or nothing more will be sent.
    private(set) var isDone = false
    /// The request was sent to its end.
    private(set) var isComplete = false
    /// At least a byte was sent.
    private(set) var hasBegun = false
    /// A stream that can be read only once was opened for it.
    private(set) var hasSpentBody = false

    private var outgoing: [UInt8] = []
    private var position = 0
    private var end = 0
    /// What of `outgoing` is body, at its end.
    private var bodyBytesInside: Int64 = 0
    private var body: HTTPBody?
    private let length: Int64?
    private var upload: BodyUpload?
    private var awaitsLeave: Bool
    private let loop: EventLoop

    /// Creates a sender. With a body, ``begin()`` must follow.
    ///
    /// - Parameters:
    ///   - head: what goes first.
    ///   - length: the length that the head announces; nil for chunks.
    ///   - asksLeave: the head says `Expect: 100-continue`, and there is a body.
    init(_ head: [UInt8], body: HTTPBody?, length: Int64?, asksLeave: Bool, loop: EventLoop) {
        outgoing = head
        end = head.count
        self.body = body
        self.length = length
        self.loop = loop
        awaitsLeave = asksLeave
    }

    /// Appends a small body to the head or opens the stream of a large one, unless the body waits for a 100 (Continue).
    mutating func begin() throws(StreamError) {
        if !awaitsLeave { try beginBody() }
    }

    /// Sends what the connection takes.
    ///
    /// - Throws: what the body's stream throws; a failure of the connection is an outcome.
    mutating func advance(_ output: WriteStream) throws(StreamError) -> Progress {
        if isDone { return .done }
        if position == end {
            guard let progress = try refill() else { return finish() }
            if case .sentPiece = progress {} else { return progress }
        }
        while position < end {
            do throws(StreamError) {
                guard let count = try output.tryWrite(outgoing.span.bytes.extracting(position..<end)) else {
                    return .connectionBlocks
                }
                position += count
                taken += count
                hasBegun = true
            } catch {
                return .failed(error)
            }
        }
        bodyBytesSent = upload?.taken ?? bodyBytesInside
        if awaitsLeave { return .awaitsLeave }
        return upload == nil ? finish() : .sentPiece
    }

    /// The server said 100 (Continue), or nothing for too long: the body may follow.
    mutating func giveLeave() throws(StreamError) {
        guard awaitsLeave else { return }
        awaitsLeave = false
        position = 0
        end = 0
        outgoing.removeAll(keepingCapacity: true)
        try beginBody()
    }

    /// True while the body waits for ``giveLeave()``.
    var isAwaitingLeave: Bool { awaitsLeave && !isDone }

    /// Where the body's stream is waited for.
    var sourcePoint: WaitPoint? { upload?.source.waitPoint }

    /// Sends no more.
    ///
    /// - Returns: the body's stream, which the caller closes; nil if there is none, or if it was given already.
    mutating func stop() -> ReadStream? {
        isDone = true
        return upload.take()?.source
    }

    /// Puts a small body behind the head; opens the stream of a large one.
    private mutating func beginBody() throws(StreamError) {
        guard let body = body.take() else { return }
        switch body.source {
        case .bytes(let bytes) where bytes.count <= RequestSender.smallBody:
            outgoing += bytes
            end = outgoing.count
            bodyBytesInside = Int64(bytes.count)
        case .bytes(let bytes):
            upload = try BodyUpload(ReadStream(bytes: bytes, loop: loop), length: length)
        case .repeatable(let make):
            upload = try BodyUpload(make(), length: length)
        case .once(let stream):
            hasSpentBody = true
            upload = try BodyUpload(stream, length: length)
        }
    }

    /// The next piece; nil if there is none any more.
    private mutating func refill() throws(StreamError) -> Progress? {
        if awaitsLeave { return .awaitsLeave }
        switch try upload?.next(into: &outgoing) {
        case .piece(let count):
            position = 0
            end = count
            return .sentPiece
        case .blocks: return .sourceBlocks
        case .done, nil: return nil
        }
    }

    private mutating func finish() -> Progress {
        isDone = true
        isComplete = true
        return .done
    }
}
