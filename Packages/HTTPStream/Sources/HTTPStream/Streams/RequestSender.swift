internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// Where the bytes of a request go: the output of a connection, or a stream of HTTP/2.
protocol RequestOutput {
    /// Takes bytes without waiting. Returns their number, or nil if none can be taken now.
    ///
    /// - Parameter isLast: whether the request ends with these bytes.
    func tryWrite(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int?
    /// Passes down what a lower layer still holds. Returns false if it has to wait.
    func tryFlush() throws(StreamError) -> Bool
    /// Ends the request, which the bytes before may not have told, and passes down what a lower layer still holds. Returns false if it has to
    /// wait.
    ///
    /// - Parameter trailers: the fields behind the body, unless there are none or its bytes contain them.
    func tryEnd(_ trailers: HTTPFields?) throws(StreamError) -> Bool
}

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
        /// Many pieces were sent without a wait: other work of the loop comes first.
        case turnEnds
        /// The head was sent; the body waits for 100 (Continue).
        case awaitsContinue
        /// The connection failed.
        case failed(StreamError)
    }

    /// The largest body that is sent together with the head, in one call.
    static let smallBody = 64 * 1024

    /// The most pieces of a body that are sent without a wait before other work of the loop runs: 1 MiB.
    static let piecesPerTurn = 16

    private enum State: Sendable {
        /// The request has no body.
        case head
        /// As ``bodyEnded``, for a request without a body.
        case headEnded
        case body(BodySender)
        /// Nothing is left to send, or sending was stopped. The upload still tells what was sent.
        case bodyEnded(BodySender)
    }

    /// The head as it is sent.
    let head: [UInt8]
    /// The number of bytes that the connection has accepted, head and framing included.
    private(set) var bytesSent = 0
    private var state = State.head

    /// Creates a sender. A small body is sent with the head, unless it waits for 100 (Continue). A large one is read from a stream.
    ///
    /// - Parameter loop: the loop of the stream.
    init(
        _ head: consuming RequestPreparation.Head, _ body: HTTPBody?, framing: BodySender.Framing = .chunks,
        loop: @autoclosure () -> EventLoop
    ) {
        self.head = head.bytes
        if let body { state = .body(BodySender(head, body, framing, loop: loop())) }
    }

    private var upload: BodySender? {
        switch state {
        case .head, .headEnded: nil
        case .body(let upload), .bodyEnded(let upload): upload
        }
    }

    /// The number of body bytes that the connection has accepted.
    var bodyBytesSent: Int64 { upload?.bytesSent ?? 0 }

    /// Whether nothing is left to send, or sending was stopped.
    var isDone: Bool {
        switch state {
        case .headEnded, .bodyEnded: true
        case .head, .body: false
        }
    }

    /// The point at which to wait for the body's stream.
    var sourcePoint: WaitPoint? { if case .body(let upload) = state { upload.reading?.waitPoint } else { nil } }

    /// Whether a call opens or reads the body's stream.
    var isReadingBody: Bool {
        if case .body(let upload) = state { upload.reading?.isUnderway ?? false } else { false }
    }

    /// Sends as many bytes as the connection accepts.
    ///
    /// - Throws: the error of the body's stream; a failure of the connection is an outcome.
    mutating func advance(_ output: some RequestOutput) throws(StreamError) -> Progress {
        switch state {
        case .head:
            var rest = bytesSent..<head.count
            defer { bytesSent = rest.lowerBound }
            return RequestSender.write(head, &rest, isLast: true, to: output)
                ?? RequestSender.end(output) ?? .done
        case .body(let upload): return try upload.advance(output, &bytesSent)
        case .headEnded, .bodyEnded: return .done
        }
    }

    /// Sends the `rest` of some bytes.
    ///
    /// - Returns: nil if everything was sent.
    fileprivate static func write(
        _ bytes: borrowing [UInt8], _ rest: inout Range<Int>, isLast: Bool, to output: some RequestOutput
    ) -> Progress? {
        do throws(StreamError) {
            while !rest.isEmpty {
                guard let count = try output.tryWrite(bytes.span.bytes.extracting(rest), isLast: isLast) else {
                    return .connectionBlocks
                }
                rest = rest.lowerBound + count..<rest.upperBound
            }
            return nil
        } catch {
            return .failed(error)
        }
    }

    /// Sends the bytes of earlier writes that a lower layer, such as TLS, still holds. Without this, a wait for the server could
    /// begin before all bytes have been sent.
    ///
    /// - Returns: nil if everything was sent.
    fileprivate static func flush(_ output: some RequestOutput) -> Progress? {
        do throws(StreamError) {
            return try output.tryFlush() ? nil : .connectionBlocks
        } catch {
            return .failed(error)
        }
    }

    /// Ends the request, and sends the bytes of earlier writes as ``flush(_:)`` does.
    ///
    /// - Returns: nil if everything was sent.
    fileprivate static func end(_ output: some RequestOutput, _ trailers: HTTPFields? = nil) -> Progress? {
        do throws(StreamError) {
            return try output.tryEnd(trailers) ? nil : .connectionBlocks
        } catch {
            return .failed(error)
        }
    }

    /// Allows the body to be sent: the server has sent 100 (Continue), or no response within the time limit.
    func permitBody(_ loop: EventLoop) {
        if case .body(let upload) = state { upload.permitBody(loop) }
    }

    /// Requests the next step of the body's stream. The caller must call ``BodyReading/run()`` without the load's lock.
    func beginBodyReading() -> BodyReading? {
        if case .body(let upload) = state { upload.beginReading() } else { nil }
    }

    /// Ends sending, after ``Progress/done`` or before it.
    ///
    /// - Returns: the body's stream, which the caller closes; nil without an open stream.
    mutating func stop() -> ReadStream? {
        switch state {
        case .head:
            state = .headEnded
            return nil
        case .body(let upload):
            state = .bodyEnded(upload)
            return upload.reading?.stop()
        case .headEnded, .bodyEnded: return nil
        }
    }
}

/// The body of a request that is being sent, with the head that precedes it. A separate object, because most requests have no body.
final class BodySender: @unchecked Sendable {
    // Unchecked: only the sender refers to it, one step at a time.

    /// How a body of unknown length is framed.
    enum Framing: Sendable {
        /// As chunks (RFC 9112 §7.1).
        case chunks
        /// Not at all: the stream frames it.
        case none
    }

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
    }

    /// The number of body bytes that the connection has accepted.
    private(set) var bytesSent: Int64 = 0
    private var state = State.last
    private var outgoing: [UInt8]
    /// The bytes of `outgoing` that the connection has not accepted yet.
    private var rest: Range<Int>
    /// The number of body bytes up to the end of `outgoing`.
    private var bytesReady: Int64 = 0
    /// The number of pieces sent since the last wait.
    private var piecesInTurn = 0
    private let framing: Framing
    /// The fields behind the body, once it has been read, unless its bytes contain them.
    private var trailers = HTTPFields()

    init(_ head: RequestPreparation.Head, _ body: HTTPBody, _ framing: Framing, loop: EventLoop) {
        self.framing = framing
        outgoing = head.bytes
        rest = 0..<outgoing.count
        if head.expectsContinue {
            state = .held(body, length: head.bodyLength)
        } else {
            begin(body, length: head.bodyLength, loop)
        }
    }

    /// Whether the request ends with the bytes of `outgoing`.
    private var isLast: Bool {
        switch state {
        case .last, .read: true
        case .held, .unopened, .reading: false
        }
    }

    /// The reader of a body that is too large to be sent with the head.
    var reading: BodyReading? {
        switch state {
        case .unopened(let reading), .reading(let reading), .read(let reading): reading
        case .last, .held: nil
        }
    }

    /// Sends as many bytes as the connection accepts, and adds their number to `total`.
    func advance(_ output: some RequestOutput, _ total: inout Int) throws(StreamError) -> RequestSender.Progress {
        let progress = try send(output, &total)
        switch progress {
        case .connectionBlocks, .sourceBlocks: piecesInTurn = 0
        case .needsReading:
            if piecesInTurn == RequestSender.piecesPerTurn {
                piecesInTurn = 0
                return .turnEnds
            }
            piecesInTurn += 1
        case .done, .sentPiece, .isReadingBody, .turnEnds, .awaitsContinue, .failed: break
        }
        return progress
    }

    private func send(_ output: some RequestOutput, _ total: inout Int) throws(StreamError) -> RequestSender.Progress {
        if let reading, let progress = try takePiece(of: reading) {
            if case .sourceBlocks = progress { return RequestSender.flush(output) ?? progress }
            return progress
        }
        if rest.isEmpty {
            switch state {
            case .unopened, .reading: return .needsReading
            case .last, .held, .read: return endOfOutgoing(output)
            }
        }
        let begin = rest.lowerBound
        defer { total += rest.lowerBound - begin }
        if let progress = RequestSender.write(outgoing, &rest, isLast: isLast, to: output) { return progress }
        bytesSent = bytesReady
        return reading == nil ? endOfOutgoing(output) : .sentPiece
    }

    /// All of `outgoing` has been sent, and nothing follows now.
    private func endOfOutgoing(_ output: some RequestOutput) -> RequestSender.Progress {
        if case .held = state { return RequestSender.flush(output) ?? .awaitsContinue }
        return RequestSender.end(output, trailers) ?? .done
    }

    /// Takes the piece that was read last, if any.
    ///
    /// - Returns: nil to send the bytes in `outgoing`.
    private func takePiece(of reading: BodyReading) throws(StreamError) -> RequestSender.Progress? {
        if let result = reading.takeResult() {
            let progress = try result.progress.get()
            state = result.isComplete ? .read(reading) : .reading(reading)
            bytesReady = result.taken
            trailers = result.trailers
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

    func beginReading() -> BodyReading? {
        var memory: [UInt8] = []
        // Until the head has been sent, the stream is only opened.
        if rest.isEmpty { swap(&memory, &outgoing) }
        let reading = reading
        reading?.request(reusing: memory)
        return reading
    }

    func permitBody(_ loop: EventLoop) {
        guard case .held(let body, let length) = state else { return }
        outgoing = []
        rest = 0..<0
        begin(body, length: length, loop)
    }

    private func begin(_ body: HTTPBody, length: Int64?, _ loop: EventLoop) {
        func upload(_ make: @escaping @Sendable () -> ReadStream) -> State {
            .unopened(
                BodyReading(BodyUpload(length: length, framing, onRead: body.onRead, trailers: body.trailers, make)))
        }
        switch body.source {
        case .bytes(let bytes) where bytes.count <= RequestSender.smallBody:
            outgoing += bytes
            rest = rest.lowerBound..<outgoing.count
            bytesReady = Int64(bytes.count)
            state = .last
        case .bytes(let bytes):
            state = upload { ReadStream(bytes: bytes, loop: loop) }
        case .repeatable(let make):
            state = upload(make)
        case .once(let stream):
            state = upload { stream }
        }
    }
}
