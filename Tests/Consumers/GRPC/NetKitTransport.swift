import EventLoops
import FoundationEssentials
import GRPCCore
import HTTPStream
import Synchronization

/// The client transport of gRPC over NetKit's client of HTTP/2: each call is a stream that sends while it receives.
/// The first call opens the connection, which all calls share: the pool does what a transport of gRPC does elsewhere.
final class NetKitTransport: ClientTransport {
    typealias Bytes = [UInt8]

    private struct State {
        var isClosing = false
        var calls: [ObjectIdentifier: Call] = [:]
    }

    let retryThrottle: RetryThrottle? = nil
    /// The pool of the connection.
    let pool = HTTPConnectionPool()
    private let url: URL
    private let options: HTTPOptions
    private let state = Mutex(State())
    private let closed = OneShot<Void>()

    /// - Parameters:
    ///   - url: the scheme, host and port of the server.
    ///   - options: of each call, such as the TLS configuration.
    init(_ url: URL, options: HTTPOptions = HTTPOptions()) {
        self.url = url
        var options = options
        options.versions = .http2
        options.keepsConnection = true
        options.pool = pool
        self.options = options
    }

    func connect() async throws {
        // Returns when all calls have ended, or throws because the caller has cancelled its task.
        try? await closed.value()
        let calls = state.withLock { state in
            state.isClosing = true
            return Array(state.calls.values)
        }
        for call in calls { call.end(RPCError(code: .cancelled, message: "The transport has been stopped.")) }
        pool.drain()
    }

    func beginGracefulShutdown() {
        let isOver = state.withLock { state in
            state.isClosing = true
            return state.calls.isEmpty
        }
        if isOver { closed.provide(()) }
    }

    func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? { nil }

    func withStream<T: Sendable>(
        descriptor: MethodDescriptor, options: CallOptions,
        _ closure: (RPCStream<Inbound, Outbound>, ClientContext) async throws -> T
    ) async throws -> T {
        guard options.compression ?? CompressionAlgorithm.none == .none, options.waitForReady != true else {
            throw RPCError(code: .unimplemented, message: "The transport neither compresses nor waits for a server.")
        }
        let call = Call(url.appending(path: descriptor.fullyQualifiedMethod), self.options, options)
        try state.withLock { state in
            if state.isClosing { throw RPCError(code: .failedPrecondition, message: "The transport is closed.") }
            state.calls[ObjectIdentifier(call)] = call
        }
        defer { end(call) }
        let peer = "http2:\(url.host ?? ""):\(url.port ?? 0)"
        return try await closure(
            RPCStream(
                descriptor: descriptor, inbound: RPCAsyncSequence(wrapping: ResponseParts(call: call)),
                outbound: RPCWriter.Closable(wrapping: call)),
            ClientContext(descriptor: descriptor, remotePeer: peer, localPeer: "netkit"))
    }

    private func end(_ call: Call) {
        call.end(RPCError(code: .cancelled, message: "The call is over."))
        let isOver = state.withLock { state in
            state.calls[ObjectIdentifier(call)] = nil
            return state.isClosing && state.calls.isEmpty
        }
        if isOver { closed.provide(()) }
    }
}

/// The parts of a call's response, for one reader.
private struct ResponseParts: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let call: Call

    func makeAsyncIterator() -> ResponseParts { self }
    func next() async throws -> RPCResponsePart<[UInt8]>? { try await call.next() }
}

/// One call: a task writes the request, while another reads the response.
private final class Call: ClosableRPCWriterProtocol {
    typealias Element = RPCRequestPart<[UInt8]>

    private struct State {
        /// Whether the head of the response has been read.
        var isBegun = false
        /// Whether the status has been read, or the call has failed.
        var isOver = false
        /// Why this side has ended the call.
        var failure: RPCError?
        /// Whether the server takes no further messages: it has ended the call, and the reader is told why.
        var isRefused = false
    }

    private let url: URL
    private let options: HTTPOptions
    private let maximumRequest: Int
    private let maximumResponse: Int
    /// Holds the messages until HTTP/2 takes them.
    private let messages = StreamPair.bound()
    /// One task at a time writes a message.
    private let turn = AsyncSemaphore(1)
    private let response = OneShot<Result<ReadStream, RPCError>>()
    private let state = Mutex(State())

    init(_ url: URL, _ options: HTTPOptions, _ call: CallOptions) {
        self.url = url
        self.options = options
        maximumRequest = call.maxRequestMessageBytes ?? .max
        // The usual limit of gRPC.
        maximumResponse = call.maxResponseMessageBytes ?? 4 << 20
    }

    // MARK: The request

    func write(_ part: Element) async throws {
        switch part {
        case .metadata(let metadata): try begin(metadata)
        case .message(let message):
            guard message.count <= min(maximumRequest, Int(UInt32.max)) else {
                throw RPCError(code: .resourceExhausted, message: "The message has \(message.count) bytes.")
            }
            let length = (0..<4).map { UInt8(truncatingIfNeeded: message.count >> (24 - 8 * $0)) }
            do {
                try await turn.wait()
                defer { turn.signal() }
                try await messages.output.writeAll([0] + length + message)
            } catch {
                let error = RPCError(of: error)
                if error.code != .cancelled { state.withLock { $0.isRefused = true } }
                throw error
            }
        }
    }

    func write(contentsOf parts: some Sequence<Element>) async throws {
        for part in parts { try await write(part) }
    }

    func finish() async { messages.output.close() }

    func finish(throwing error: any Error) async {
        if state.withLock({ $0.isRefused }) { return }
        end(error as? RPCError ?? RPCError(code: .unknown, message: "The request failed.", cause: error))
    }

    /// Ends the call on both sides. Does nothing after its end.
    func end(_ failure: RPCError) {
        state.withLock { $0.failure = $0.failure ?? failure }
        messages.close()
        response.provide(.failure(failure))
        if case .success(let stream) = response.value { stream.close() }
    }

    private func begin(_ metadata: Metadata) throws {
        do {
            var request = try HTTPRequest(method: .post, url: url)
            try request.fields.set("application/grpc", for: .contentType)
            try request.fields.set("trailers", for: .te)
            try request.fields.set("grpc-swift-netkit/1", for: .userAgent)
            for (key, value) in metadata { try request.fields.append(value.encoded(), for: key) }
            let stream = try ReadStream(request: request, body: .stream(once: messages.input), options: options)
            try messages.output.open()
            try stream.open()
            if !response.provide(.success(stream)) { stream.close() }
        } catch {
            throw RPCError(code: .internalError, message: "The request cannot be sent.", cause: error)
        }
    }

    // MARK: The response

    /// The next part of the response; nil after the last one.
    func next() async throws -> RPCResponsePart<[UInt8]>? {
        do {
            let stream = try await response.value().get()
            let (isBegun, isOver) = state.withLock { ($0.isBegun, $0.isOver) }
            if isOver { return nil }
            return isBegun ? try await message(of: stream) : try await head(of: stream)
        } catch {
            throw state.withLock { state in
                state.isOver = true
                return state.failure ?? RPCError(of: error)
            }
        }
    }

    private func head(of stream: ReadStream) async throws -> RPCResponsePart<[UInt8]> {
        let response = try await stream.response()
        // A response without messages has its status in the head.
        if response.fields.contains("grpc-status") { return end(Status(response.fields), response.fields) }
        guard response.status == .ok else {
            return end(Status(httpStatusCode: response.status.code))
        }
        guard response.fields[.contentType]?.hasPrefix("application/grpc") == true else {
            return end(Status(code: .unknown, message: "The response is not one of gRPC."))
        }
        state.withLock { $0.isBegun = true }
        return .metadata(Metadata(response.fields))
    }

    private func message(of stream: ReadStream) async throws -> RPCResponsePart<[UInt8]> {
        let prefix = try await read(5, of: stream)
        if prefix.isEmpty {
            let trailers = stream[.httpTrailers] ?? HTTPFields()
            return end(Status(trailers), trailers)
        }
        let length = prefix.dropFirst().reduce(0) { $0 << 8 | Int($1) }
        if length > maximumResponse {
            return end(Status(code: .resourceExhausted, message: "A message of the response has \(length) bytes."))
        }
        let message = try await read(length, of: stream)
        guard prefix.count == 5, prefix[0] == 0, message.count == length else {
            return end(Status(code: .internalError, message: "A message of the response is cut short or compressed."))
        }
        return .message(message)
    }

    /// Reads so many bytes, or fewer at the end.
    private func read(_ count: Int, of stream: ReadStream) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try await stream.read(upTo: count - bytes.count)
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    private func end(_ status: Status, _ fields: HTTPFields = HTTPFields()) -> RPCResponsePart<[UInt8]> {
        state.withLock { $0.isOver = true }
        return .status(status, Metadata(fields))
    }
}

// MARK: - What gRPC says with fields and errors

extension Metadata {
    /// The fields of a response. Values of keys that end in `-bin` are decoded when they are used.
    fileprivate init(_ fields: HTTPFields) {
        self.init()
        for field in fields where !["content-type", "grpc-status", "grpc-message"].contains(field.name) {
            addString(field.value, forKey: field.name.name)
        }
    }
}

extension Status {
    /// The status at the end of a response; unknown without one.
    fileprivate init(_ fields: HTTPFields) {
        let code = fields["grpc-status"].flatMap { Int($0) }.flatMap { Code(rawValue: $0) }
        var (message, rest) = ([UInt8](), Array((fields["grpc-message"] ?? "").utf8)[...])
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            let isEscape = byte == UInt8(ascii: "%") && digits.count == 2
            message.append(isEscape ? UInt8(digits[0] * 16 + digits[1]) : byte)
            if isEscape { rest.removeFirst(2) }
        }
        self.init(code: code ?? .unknown, message: String(decoding: message, as: UTF8.self))
    }
}

extension RPCError {
    /// The failure of a stream, or of the wait for it, which ends only if the task is cancelled.
    fileprivate init(of error: any Error) {
        if let error = error as? RPCError {
            self = error
            return
        }
        let failure = error as? StreamError ?? .cancelled
        let code: Code
        switch failure.details[.http2ErrorCode] {
        case nil: code = failure.isCancellation ? .cancelled : .unavailable
        case .number(0x7): code = .unavailable  // REFUSED_STREAM
        case .number(0x8): code = .cancelled  // CANCEL
        case .number(0xB): code = .resourceExhausted  // ENHANCE_YOUR_CALM
        case .number(0xC): code = .permissionDenied  // INADEQUATE_SECURITY
        default: code = .internalError
        }
        self.init(code: code, message: "\(failure)", cause: failure)
    }
}
