internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// Sends one request over one connection: the head, then the body, as far as possible without waiting.
struct RequestSender: ~Copyable, Sendable {
    /// The outcome of a step.
    enum Progress {
        /// Everything was sent.
        case done
        /// A piece of a streamed body was sent, and there is more. A good time to check for an early response.
        case sentPiece
        /// The connection accepts no more bytes now.
        case connectionBlocks
        /// The body's stream has no bytes now; see ``RequestSender/sourcePoint``.
        case sourceBlocks
        /// The body's stream has to be opened or read; see ``RequestSender/beginFetch()``.
        case needsFetch
        /// Another call opens or reads the body's stream.
        case isFetching
        /// The head was sent; the body waits for 100 (Continue).
        case awaitsContinue
        /// The connection failed.
        case failed(StreamError)
    }

    /// The largest body that is sent together with the head, in one call.
    static let smallBody = 64 * 1024

    /// The number of body bytes that the connection has accepted.
    private(set) var bodyBytesSent: Int64 = 0
    /// The number of bytes that the connection has accepted, head and framing included.
    private(set) var taken = 0
    /// Whether nothing is left to send, or sending was stopped.
    private(set) var isDone = false
    /// Whether the request was sent to its end.
    private(set) var isComplete = false
    /// Whether at least one byte was sent.
    private(set) var hasBegun = false
    /// Whether a stream that can be read only once was opened for the request.
    private(set) var hasSpentBody = false

    private var outgoing: [UInt8] = []
    private var position = 0
    private var end = 0
    /// The number of body bytes at the end of `outgoing`.
    private var bodyBytesInside: Int64 = 0
    private let length: Int64?
    /// Reads a body that is too large to be sent with the head.
    private var fetch: BodyFetch?
    /// Whether the body's stream is open.
    private var isBodyOpen = false
    /// Whether the body's stream has been read to its end.
    private var isBodyRead = false
    /// The number of bytes read from the body's stream.
    private var bodyBytesRead: Int64 = 0
    private var awaitsContinue: Bool

    /// Creates a sender of a request with this head. With a body, ``begin(_:_:)`` must follow.
    init(_ head: consuming RequestPreparation.Head) {
        outgoing = head.memory
        end = head.count
        length = head.bodyLength
        awaitsContinue = head.expectsContinue
    }

    /// Appends a small body to the head, unless the body waits for 100 (Continue). A large body is read from a stream.
    mutating func begin(_ body: HTTPBody, _ loop: EventLoop) {
        if !awaitsContinue { beginBody(body, loop) }
    }

    /// Takes the memory of a request that was sent to its end.
    mutating func takeMemory() -> [UInt8] {
        var memory: [UInt8] = []
        swap(&memory, &outgoing)
        (position, end) = (0, 0)
        return memory
    }

    /// Sends as many bytes as the connection accepts.
    ///
    /// - Throws: the error of the body's stream; a failure of the connection is an outcome.
    mutating func advance(_ output: WriteStream) throws(StreamError) -> Progress {
        if isDone { return .done }
        if let fetch, let progress = try takePiece(of: fetch) {
            if case .sourceBlocks = progress { return flush(output) ?? progress }
            return progress
        }
        if position == end {
            if awaitsContinue { return flush(output) ?? .awaitsContinue }
            return fetch == nil || isBodyRead ? flush(output) ?? finish() : .needsFetch
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
        bodyBytesSent = fetch == nil ? bodyBytesInside : bodyBytesRead
        if fetch != nil { return .sentPiece }
        if let progress = flush(output) { return progress }
        return awaitsContinue ? .awaitsContinue : finish()
    }

    /// Sends the bytes of earlier writes that a lower layer, such as TLS, still holds. Without this, a wait for the server could
    /// begin before all bytes have been sent.
    ///
    /// - Returns: nil if everything was sent.
    private func flush(_ output: WriteStream) -> Progress? {
        do throws(StreamError) {
            return try output.tryFlush() ? nil : .connectionBlocks
        } catch {
            return .failed(error)
        }
    }

    /// Allows the body to be sent: the server has sent 100 (Continue), or no response within the time limit.
    mutating func releaseBody(_ body: HTTPBody?, _ loop: EventLoop) {
        guard awaitsContinue, let body else { return }
        awaitsContinue = false
        position = 0
        end = 0
        outgoing.removeAll(keepingCapacity: true)
        beginBody(body, loop)
    }

    /// Whether the body waits for ``releaseBody()``.
    var isAwaitingContinue: Bool { awaitsContinue && !isDone }

    /// The point at which to wait for the body's stream.
    var sourcePoint: WaitPoint? { fetch?.waitPoint }

    /// Whether a call opens or reads the body's stream.
    var isFetching: Bool { fetch?.isUnderway ?? false }

    /// Requests the next step of the body's stream. The caller must call ``BodyFetch/run()`` without the load's lock.
    mutating func beginFetch() -> BodyFetch? {
        var memory: [UInt8] = []
        // Until the head has been sent, the stream is only opened.
        if position == end { swap(&memory, &outgoing) }
        fetch?.request(reusing: memory)
        return fetch
    }

    /// Takes the piece that was read last, if any.
    ///
    /// - Returns: nil to send the bytes in `outgoing`.
    private mutating func takePiece(of fetch: BodyFetch) throws(StreamError) -> Progress? {
        if let result = fetch.takeResult() {
            let progress = try result.progress.get()
            isBodyOpen = true
            isBodyRead = result.isComplete
            bodyBytesRead = result.taken
            switch progress {
            case .opened: break
            case .done: outgoing = result.bytes
            case .blocked:
                outgoing = result.bytes
                return .sourceBlocks
            case .piece(let count):
                outgoing = result.bytes
                position = 0
                end = count
            }
        } else if fetch.isUnderway {
            return .isFetching
        }
        // If the stream cannot be opened, the load fails before anything is sent.
        return isBodyOpen ? nil : .needsFetch
    }

    /// Stops sending.
    ///
    /// - Returns: the body's stream, which the caller closes; nil without an open stream.
    mutating func stop() -> ReadStream? {
        isDone = true
        return fetch.take()?.stop()
    }

    /// Appends a small body to the head, or prepares the stream of a large one.
    private mutating func beginBody(_ body: HTTPBody, _ loop: EventLoop) {
        switch body.source {
        case .bytes(let bytes) where bytes.count <= RequestSender.smallBody:
            if end < outgoing.count { outgoing.removeLast(outgoing.count - end) }
            outgoing += bytes
            end = outgoing.count
            bodyBytesInside = Int64(bytes.count)
        case .bytes(let bytes):
            fetch = BodyFetch(
                BodyUpload(length: length, onRead: body.onRead) { ReadStream(bytes: bytes, loop: loop) })
        case .repeatable(let make):
            fetch = BodyFetch(BodyUpload(length: length, onRead: body.onRead, make))
        case .once(let stream):
            hasSpentBody = true
            fetch = BodyFetch(BodyUpload(length: length, onRead: body.onRead) { stream })
        }
    }

    private mutating func finish() -> Progress {
        isDone = true
        isComplete = true
        return .done
    }
}
