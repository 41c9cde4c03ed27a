internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// Sends one request over one connection: the head, then the body, as far as they go without waiting.
struct RequestSender: ~Copyable, Sendable {
    /// The outcome of a step.
    enum Progress {
        /// Everything was sent.
        case done
        /// A piece of a streamed body was sent; there is more. A good time to see whether the server has answered.
        case sentPiece
        /// The connection takes no more now.
        case connectionBlocks
        /// The body's stream has no bytes now; see ``RequestSender/sourcePoint``.
        case sourceBlocks
        /// The body's stream has to be opened or read; see ``RequestSender/beginFetch()``.
        case needsFetch
        /// Another call opens or reads the body's stream.
        case isFetching
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
    /// Reads a body that does not fit behind the head.
    private var fetch: BodyFetch?
    /// The body's stream is open.
    private var isBodyOpen = false
    /// The body's stream has been read to its end.
    private var isBodyRead = false
    /// How many bytes of the body's stream have been read.
    private var bodyBytesRead: Int64 = 0
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

    /// Appends a small body to the head, unless the body waits for a 100 (Continue). A large one comes from a stream.
    mutating func begin() {
        if !awaitsLeave { beginBody() }
    }

    /// Sends what the connection takes.
    ///
    /// - Throws: the error of the body's stream; a failure of the connection is an outcome.
    mutating func advance(_ output: WriteStream) throws(StreamError) -> Progress {
        if isDone { return .done }
        if let fetch, let progress = try takePiece(of: fetch) {
            if case .sourceBlocks = progress { return flush(output) ?? progress }
            return progress
        }
        if position == end {
            if awaitsLeave { return flush(output) ?? .awaitsLeave }
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
        return awaitsLeave ? .awaitsLeave : finish()
    }

    /// Sends what a layer below, such as TLS, holds of earlier writes. Without this, a wait for the server could begin before all
    /// bytes have been sent.
    ///
    /// - Returns: nil if everything was sent.
    private func flush(_ output: WriteStream) -> Progress? {
        do throws(StreamError) {
            return try output.tryFlush() ? nil : .connectionBlocks
        } catch {
            return .failed(error)
        }
    }

    /// The server said 100 (Continue), or nothing for too long: the body may follow.
    mutating func giveLeave() {
        guard awaitsLeave else { return }
        awaitsLeave = false
        position = 0
        end = 0
        outgoing.removeAll(keepingCapacity: true)
        beginBody()
    }

    /// True while the body waits for ``giveLeave()``.
    var isAwaitingLeave: Bool { awaitsLeave && !isDone }

    /// Where the body's stream is waited for.
    var sourcePoint: WaitPoint? { fetch?.waitPoint }

    /// True while a call opens or reads the body's stream.
    var isFetching: Bool { fetch?.isUnderway ?? false }

    /// Requests the next step of the body's stream. ``BodyFetch/run()`` has to be called without the load's lock.
    mutating func beginFetch() -> BodyFetch? {
        var memory: [UInt8] = []
        // Before the head has been sent, the stream is only opened.
        if position == end { swap(&memory, &outgoing) }
        fetch?.request(reusing: memory)
        return fetch
    }

    /// Takes the piece that was read last, if any.
    ///
    /// - Returns: nil to send what there is.
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
        // A stream that cannot be opened fails the load before anything is sent.
        return isBodyOpen ? nil : .needsFetch
    }

    /// Sends no more.
    ///
    /// - Returns: the body's stream, which the caller closes; nil if there is none to close.
    mutating func stop() -> ReadStream? {
        isDone = true
        return fetch.take()?.stop()
    }

    /// Puts a small body behind the head.
    private mutating func beginBody() {
        guard let body = body.take() else { return }
        switch body.source {
        case .bytes(let bytes) where bytes.count <= RequestSender.smallBody:
            outgoing += bytes
            end = outgoing.count
            bodyBytesInside = Int64(bytes.count)
        case .bytes(let bytes):
            fetch = BodyFetch(BodyUpload(length: length) { [loop] in ReadStream(bytes: bytes, loop: loop) })
        case .repeatable(let make):
            fetch = BodyFetch(BodyUpload(length: length, make))
        case .once(let stream):
            hasSpentBody = true
            fetch = BodyFetch(BodyUpload(length: length) { stream })
        }
    }

    private mutating func finish() -> Progress {
        isDone = true
        isComplete = true
        return .done
    }
}
