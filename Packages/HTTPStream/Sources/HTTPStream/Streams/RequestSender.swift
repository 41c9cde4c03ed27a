internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// Sends one request over one connection: the head, then the body, as far as possible without waiting.
struct RequestSender: ~Copyable, Sendable {
    /// The outcome of a step.
    enum Progress {
        /// Everything was sent. ``RequestSender/stop()`` follows.
        case done
        /// A piece of a streamed body was sent, and there is more. A good time to check for an early response.
        case sentPiece
        /// The connection accepts no more bytes now.
        case connectionBlocks
        /// The body's stream has no bytes now; see ``RequestSender/sourcePoint``.
        case sourceBlocks
        /// The body's stream has to be opened or read; see ``RequestSender/beginBodyReading()``.
        case needsReading
        /// Another call opens or reads the body's stream.
        case isReadingBody
        /// The head was sent; the body waits for 100 (Continue).
        case awaitsContinue
        /// The connection failed.
        case failed(StreamError)
    }

    /// The largest body that is sent together with the head, in one call.
    static let smallBody = 64 * 1024

    private enum State: Sendable {
        /// The bytes of `outgoing` are the last ones.
        case last
        /// The bytes of `outgoing` are the head; the body waits for 100 (Continue).
        case held(HTTPBody, length: Int64?)
        /// The body's stream follows. It is opened before anything is sent.
        case unopened(BodyReading)
        case reading(BodyReading)
        /// The body's stream has been read to its end.
        case read(BodyReading)
        /// Nothing is left to send, or sending was stopped.
        case ended

        /// The reader of a body that is too large to be sent with the head.
        var reading: BodyReading? {
            switch self {
            case .unopened(let reading), .reading(let reading), .read(let reading): reading
            case .last, .held, .ended: nil
            }
        }
    }

    /// The head as it is sent.
    let head: [UInt8]
    /// The number of body bytes that the connection has accepted.
    private(set) var bodyBytesSent: Int64 = 0
    /// The number of bytes that the connection has accepted, head and framing included.
    private(set) var bytesSent = 0

    private var state: State
    private var outgoing: [UInt8]
    /// The bytes of `outgoing` that the connection has not accepted yet.
    private var rest: Range<Int>
    /// The number of body bytes up to the end of `outgoing`.
    private var bodyBytesReady: Int64 = 0

    /// Creates a sender. A small body is sent with the head, unless it waits for 100 (Continue). A large one is read from a stream.
    ///
    /// - Parameter loop: the loop of the stream.
    init(
        _ head: consuming RequestPreparation.Head, _ body: HTTPBody?, loop: @autoclosure () -> EventLoop
    ) {
        self.head = head.bytes
        outgoing = head.bytes
        rest = 0..<outgoing.count
        state = .last
        guard let body else { return }
        if head.expectsContinue {
            state = .held(body, length: head.bodyLength)
        } else {
            begin(body, length: head.bodyLength, loop())
        }
    }

    /// Whether nothing is left to send, or sending was stopped.
    var isDone: Bool { if case .ended = state { true } else { false } }

    /// Whether the body waits for ``permitBody(_:)``.
    var isHeld: Bool { if case .held = state { true } else { false } }

    /// Sends as many bytes as the connection accepts.
    ///
    /// - Throws: the error of the body's stream; a failure of the connection is an outcome.
    mutating func advance(_ output: WriteStream) throws(StreamError) -> Progress {
        if let reading = state.reading {
            if let progress = try takePiece(of: reading) {
                if case .sourceBlocks = progress { return flush(output) ?? progress }
                return progress
            }
        } else if isDone {
            return .done
        }
        if rest.isEmpty {
            switch state {
            case .unopened, .reading: return .needsReading
            case .last, .held, .read, .ended: return endOfOutgoing(output)
            }
        }
        while !rest.isEmpty {
            do throws(StreamError) {
                guard let count = try output.tryWrite(outgoing.span.bytes.extracting(rest)) else {
                    return .connectionBlocks
                }
                rest = rest.lowerBound + count..<rest.upperBound
                bytesSent += count
            } catch {
                return .failed(error)
            }
        }
        bodyBytesSent = bodyBytesReady
        return state.reading == nil ? endOfOutgoing(output) : .sentPiece
    }

    /// All of `outgoing` has been sent, and nothing follows now.
    private func endOfOutgoing(_ output: WriteStream) -> Progress {
        flush(output) ?? (isHeld ? .awaitsContinue : .done)
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
    mutating func permitBody(_ loop: EventLoop) {
        guard case .held(let body, let length) = state else { return }
        outgoing = []
        rest = 0..<0
        begin(body, length: length, loop)
    }

    /// The point at which to wait for the body's stream.
    var sourcePoint: WaitPoint? { state.reading?.waitPoint }

    /// Whether a call opens or reads the body's stream.
    var isReadingBody: Bool { state.reading?.isUnderway ?? false }

    /// Requests the next step of the body's stream. The caller must call ``BodyReading/run()`` without the load's lock.
    mutating func beginBodyReading() -> BodyReading? {
        var memory: [UInt8] = []
        // Until the head has been sent, the stream is only opened.
        if rest.isEmpty { swap(&memory, &outgoing) }
        let reading = state.reading
        reading?.request(reusing: memory)
        return reading
    }

    /// Takes the piece that was read last, if any.
    ///
    /// - Returns: nil to send the bytes in `outgoing`.
    private mutating func takePiece(of reading: BodyReading) throws(StreamError) -> Progress? {
        if let result = reading.takeResult() {
            let progress = try result.progress.get()
            state = result.isComplete ? .read(reading) : .reading(reading)
            bodyBytesReady = result.taken
            switch progress {
            case .opened: break
            case .done: outgoing = result.bytes
            case .blocked:
                outgoing = result.bytes
                return .sourceBlocks
            case .piece(let count):
                outgoing = result.bytes
                rest = 0..<count
            }
        } else if reading.isUnderway {
            return .isReadingBody
        }
        // If the stream cannot be opened, the load fails before anything is sent.
        if case .unopened = state { return .needsReading }
        return nil
    }

    /// Ends sending, after ``Progress/done`` or before it.
    ///
    /// - Returns: the body's stream, which the caller closes; nil without an open stream.
    mutating func stop() -> ReadStream? {
        defer { state = .ended }
        return state.reading?.stop()
    }

    private mutating func begin(_ body: HTTPBody, length: Int64?, _ loop: EventLoop) {
        switch body.source {
        case .bytes(let bytes) where bytes.count <= RequestSender.smallBody:
            outgoing += bytes
            rest = rest.lowerBound..<outgoing.count
            bodyBytesReady = Int64(bytes.count)
            state = .last
        case .bytes(let bytes):
            state = .unopened(
                BodyReading(BodyUpload(length: length, onRead: body.onRead) { ReadStream(bytes: bytes, loop: loop) }))
        case .repeatable(let make):
            state = .unopened(BodyReading(BodyUpload(length: length, onRead: body.onRead, make)))
        case .once(let stream):
            state = .unopened(BodyReading(BodyUpload(length: length, onRead: body.onRead) { stream }))
        }
    }
}
