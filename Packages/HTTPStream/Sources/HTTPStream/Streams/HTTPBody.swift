internal import EventLoops
@_spi(Packages) public import HTTPMessage
public import StreamKit

/// The body of a request, from memory or from a stream.
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

    /// What few bodies have. A separate object, since a load is moved with its body.
    private final class Extras: Sendable {
        let contentType: String?
        let onRead: (@Sendable (Int64) -> Void)?
        let trailers: (@Sendable () -> HTTPFields)?

        init(
            contentType: String? = nil, onRead: (@Sendable (Int64) -> Void)? = nil,
            trailers: (@Sendable () -> HTTPFields)? = nil
        ) {
            self.contentType = contentType
            self.onRead = onRead
            self.trailers = trailers
        }
    }

    let source: Source
    let length: Int64?
    private var extras: Extras?

    private init(source: Source, length: Int64?) {
        self.source = source
        self.length = length
    }

    /// The `Content-Type` of a request that has none of its own; nil for none.
    var contentType: String? { extras?.contentType }

    /// Called with the number of bytes read from the source so far, without any lock.
    var onRead: (@Sendable (Int64) -> Void)? { extras?.onRead }

    /// Returns the fields behind the body, once it has been read; nil for none. Called without any lock.
    var trailers: (@Sendable () -> HTTPFields)? { extras?.trailers }

    /// Returns the body with another observer.
    func observed(by onRead: @escaping @Sendable (Int64) -> Void) -> HTTPBody {
        var body = self
        body.extras = Extras(contentType: contentType, onRead: onRead, trailers: trailers)
        return body
    }

    /// A body of bytes in memory.
    public static func bytes(_ bytes: [UInt8]) -> HTTPBody {
        HTTPBody(source: .bytes(bytes), length: Int64(bytes.count))
    }

    /// A body read from a stream. A new stream is made each time the body has to be sent: after a redirect, or on a second
    /// connection.
    ///
    /// - Parameters:
    ///   - length: the number of bytes to send; nil to send the body in chunks. If the stream ends early, the load fails; bytes
    ///     beyond the length are not sent.
    ///   - open: returns the unopened stream; the load opens, reads and closes it.
    public static func stream(length: Int64?, _ open: @escaping @Sendable () -> ReadStream) -> HTTPBody {
        HTTPBody(source: .repeatable(open), length: length)
    }

    /// A body read from a stream that can be read only once. If the body has to be sent again, the load fails.
    ///
    /// Replaces the body of `CFReadStreamCreateForStreamedHTTPRequest`.
    public static func stream(once stream: ReadStream, length: Int64? = nil) -> HTTPBody {
        HTTPBody(source: .once(stream), length: length)
    }

    /// A body of the chunks of an async sequence, which can be sent only once, as in ``stream(once:length:)``.
    ///
    /// The load iterates the sequence while it sends the request and receives the response, and waits before the next chunk while the
    /// server takes no bytes. Over HTTP/2 the response can arrive meanwhile, so that each chunk may depend on what the server has said:
    ///
    /// ```swift
    /// let (questions, asking) = AsyncStream.makeStream(of: [UInt8].self)
    /// let stream = try ReadStream(request: request, body: .chunks(questions), options: options)
    /// try stream.open()
    /// asking.yield(Array("first".utf8))
    /// for try await answer in stream.chunks() {
    ///     guard let next = question(after: answer) else { break }
    ///     asking.yield(next)
    /// }
    /// asking.finish()
    /// ```
    ///
    /// If the load ends first, the task that iterates the sequence is cancelled. If the sequence throws, the load fails: with the error itself
    /// if that is a `StreamError`, otherwise with it as `underlying`.
    ///
    /// Trailers are fields that are known only at the end, such as a checksum (RFC 9110 §6.5). A load whose body has both trailers and a length
    /// (here or as `Content-Length`) fails before it sends anything, since HTTP/1.1 has trailers in chunked bodies only. Fields that must not be
    /// trailers, as those that frame, route or authenticate (RFC 9110 §6.5.1), let the load fail at the end of the body.
    ///
    /// - Parameters:
    ///   - chunks: the sequence.
    ///   - length: the number of bytes in all chunks, as in ``stream(length:_:)``.
    ///   - trailers: returns the trailers; called once, after the end of the sequence. Nil for none.
    public static func chunks<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, trailers: (@Sendable () -> HTTPFields)? = nil
    ) -> HTTPBody where Chunks.Element == [UInt8] {
        var body = HTTPBody.stream(once: ReadStream(transport: ChunkSource(chunks, loop: .shared)), length: length)
        if let trailers { body.extras = Extras(trailers: trailers) }
        return body
    }

    /// A form, whose files are read while it is sent. A request without `Content-Type` gets that of the form.
    public static func multipart(_ form: MultipartForm) -> HTTPBody {
        let parts = form.encodedParts
        var body = HTTPBody.stream(length: parts.reduce(0) { $0 + $1.length }) {
            ReadStream(transport: BodyPartsTransport(parts, loop: .shared))
        }
        body.extras = Extras(contentType: form.contentType)
        return body
    }

    var isRepeatable: Bool {
        if case .once = source { false } else { true }
    }
}

extension HTTPRequest {
    /// The body of the request as a body to send; nil for an empty one.
    var ownBody: HTTPBody? { hasBody ? .bytes(body) : nil }
}

/// Reads a request's body from its stream and frames it, one bounded piece at a time.
struct BodyUpload: Sendable {
    /// The outcome of a step.
    enum Progress: Sendable {
        /// The stream was made and opened.
        case opened
        /// This many bytes are ready to be sent.
        case piece(Int)
        /// The stream has no bytes now. Wait at ``BodyUpload/waitPoint``.
        case blocked
        /// The whole body has been read.
        case done
    }

    private let make: @Sendable () -> ReadStream
    /// Called with ``taken`` after each step that read bytes.
    fileprivate let onRead: (@Sendable (Int64) -> Void)?
    /// The stream, which the load closes, also at its end; nil until the first step.
    private(set) var source: ReadStream?
    /// The point at which to wait for the stream, after ``Progress/blocked``.
    private(set) var waitPoint: WaitPoint?
    /// The length that was announced; nil if none was.
    private let length: Int64?
    /// How a body without such a length is framed.
    private let framing: BodySender.Framing
    private let makeTrailers: (@Sendable () -> HTTPFields)?
    /// For chunks: the payload before it is framed.
    private var payload: [UInt8] = []
    /// The fields behind the body, once it is complete; none if the last piece contains them.
    private(set) var trailers = HTTPFields()
    private(set) var isComplete = false
    /// The number of body bytes read.
    private(set) var taken: Int64 = 0

    /// - Parameters:
    ///   - length: the number of bytes to send; nil to send all that the stream has.
    ///   - framing: how a body without a length is framed.
    ///   - onRead: called with the number of bytes read so far, after each step that read any.
    ///   - trailers: called at the end of a body without a length; nil for no trailers.
    ///   - make: returns the unopened stream.
    init(
        length: Int64?, _ framing: BodySender.Framing = .chunks, onRead: (@Sendable (Int64) -> Void)? = nil,
        trailers: (@Sendable () -> HTTPFields)? = nil, _ make: @escaping @Sendable () -> ReadStream
    ) {
        self.length = length
        self.framing = framing
        self.onRead = onRead
        makeTrailers = trailers
        self.make = make
    }

    /// Makes the stream, or replaces the contents of `outgoing` with the next framed piece.
    ///
    /// - Throws: the stream's error; an error if the stream ends before the announced length.
    mutating func next(into outgoing: inout [UInt8]) throws(StreamError) -> Progress {
        if isComplete { return .done }
        guard let source else {
            let made = make()
            source = made
            try made.open()
            return .opened
        }
        if let length {
            // Bytes beyond the announced length are not sent.
            if taken == length { return finish() }
            let room = Int(min(Int64(ReadStream.chunkSize), length - taken))
            guard let count = try BodyUpload.read(source, room, into: &outgoing) else { return block(source) }
            if count == 0 { throw .bodyTooShort(taken, of: length) }
            taken += Int64(count)
            isComplete = taken == length
            return .piece(count)
        }
        if case .none = framing {
            guard let count = try BodyUpload.read(source, ReadStream.chunkSize, into: &outgoing) else {
                return block(source)
            }
            if count == 0 {
                trailers = makeTrailers?() ?? HTTPFields()
                return finish()
            }
            taken += Int64(count)
            return .piece(count)
        }
        let count = try BodyUpload.read(source, ReadStream.chunkSize, into: &payload)
        guard let count else { return block(source) }
        taken += Int64(count)
        outgoing.removeAll(keepingCapacity: true)
        if count > 0 {
            ChunkedEncoder.write(payload.span.bytes.extracting(..<count), into: &outgoing)
        } else {
            do throws(HTTPMessageError) {
                try ChunkedEncoder.writeEnd(trailers: makeTrailers?() ?? HTTPFields(), into: &outgoing)
            } catch {
                throw StreamError(error)
            }
            _ = finish()
        }
        return .piece(outgoing.count)
    }

    private static func read(
        _ source: ReadStream, _ room: Int, into bytes: inout [UInt8]
    ) throws(StreamError) -> Int? {
        if bytes.count < room { bytes = [UInt8](repeating: 0, count: ReadStream.chunkSize) }
        var span = bytes.mutableSpan
        var memory = span.mutableBytes
        return try memory.withPart(0..<room) { (part) throws(StreamError) in try source.tryRead(into: &part) }
    }

    private mutating func block(_ source: ReadStream) -> Progress {
        waitPoint = source.waitPoint
        return .blocked
    }

    private mutating func finish() -> Progress {
        isComplete = true
        return .done
    }
}

/// Performs the steps of an upload without the load's lock: the stream of the body and the closure that makes it are code of the
/// application, and may use the stream of the load.
///
/// Under the load's lock, the ``RequestSender`` requests a step and takes its result, or stops the upload; without that lock, the
/// ``LoadTransport`` calls ``run()`` in between. The upload itself is moved out of the state meanwhile, so no lock is held in
/// ``run()``.
final class BodyReading: Sendable {
    struct Result: Sendable {
        /// The bytes to send, with ``BodyUpload/Progress/piece(_:)``; otherwise memory for the next piece.
        var bytes: [UInt8]
        var progress: Swift.Result<BodyUpload.Progress, StreamError>
        /// The total number of body bytes read.
        var taken: Int64
        /// Whether the whole body has been read.
        var isComplete: Bool
        /// ``BodyUpload/trailers``.
        var trailers: HTTPFields
    }

    private enum State: Sendable {
        case idle(BodyUpload)
        case requested(BodyUpload, memory: [UInt8])
        case running
        case finished(BodyUpload, Result)
        case stopped
    }

    private let state: Locked<State>

    init(_ upload: BodyUpload) {
        state = Locked(.idle(upload))
    }

    /// Requests a step. The next piece reuses `memory`.
    func request(reusing memory: [UInt8]) {
        state.withLock { state in
            if case .idle(let upload) = state { state = .requested(upload, memory: memory) }
        }
    }

    /// Whether a step is pending: from ``request(reusing:)`` until the step has ended.
    var isUnderway: Bool {
        state.withLock { state in
            switch state {
            case .requested, .running: true
            case .idle, .finished, .stopped: false
            }
        }
    }

    /// Performs the requested step, unless the upload has been stopped. Closes the stream of an upload that is stopped during the
    /// step.
    func run() {
        guard var (upload, bytes) = beginRun() else { return }
        let progress: Swift.Result<BodyUpload.Progress, StreamError>
        do throws(StreamError) {
            progress = .success(try upload.next(into: &bytes))
        } catch {
            progress = .failure(error)
        }
        if case .success(.piece) = progress { upload.onRead?(upload.taken) }
        let result = Result(
            bytes: bytes, progress: progress, taken: upload.taken, isComplete: upload.isComplete,
            trailers: upload.trailers)
        let isStopped = state.withLock { state in
            guard case .running = state else { return true }
            state = .finished(upload, result)
            return false
        }
        if isStopped { upload.source?.close() }
    }

    // A separate function, so that no second reference makes a write to the memory copy it.
    private func beginRun() -> (BodyUpload, [UInt8])? {
        state.withLock { state in
            guard case .requested(let upload, let memory) = state else { return nil }
            state = .running
            return (upload, memory)
        }
    }

    /// Returns the result of the last step, once.
    func takeResult() -> Result? {
        state.withLock { state in
            guard case .finished(let upload, let result) = state else { return nil }
            state = .idle(upload)
            return result
        }
    }

    /// The point at which to wait for the stream, after ``BodyUpload/Progress/blocked``.
    var waitPoint: WaitPoint? {
        state.withLock { state in
            if case .idle(let upload) = state { upload.waitPoint } else { nil }
        }
    }

    /// Ends the upload; no further step is performed.
    ///
    /// - Returns: the stream, which the caller closes; nil without a stream, or if ``run()`` will close it.
    func stop() -> ReadStream? {
        state.withLock { state in
            defer { state = .stopped }
            switch state {
            case .idle(let upload), .requested(let upload, _), .finished(let upload, _): return upload.source
            case .running, .stopped: return nil
            }
        }
    }
}
