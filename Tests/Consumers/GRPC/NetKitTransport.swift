import FoundationEssentials
import GRPCCore
import HTTPStream
import Synchronization

/// The client transport of gRPC over NetKit's client of HTTP/2: each call is a stream that sends while it receives.
///
/// ```swift
/// try await withGRPCClient(transport: NetKitTransport(url)) { client in … }
/// ```
///
/// The connection is opened by the first call, and shared by all: NetKit's pool does what a transport of gRPC does elsewhere.
final class NetKitTransport: ClientTransport {
    typealias Bytes = [UInt8]

    private struct State {
        var isClosing = false
        var calls: [ObjectIdentifier: Call] = [:]
    }

    let retryThrottle: RetryThrottle? = nil
    private let url: URL
    private let options: HTTPOptions
    private let state = Mutex(State())
    private let closed = AsyncStream<Never>.makeStream()

    /// - Parameters:
    ///   - url: the scheme, host and port of the server.
    ///   - options: of each call, such as the TLS configuration.
    init(_ url: URL, options: HTTPOptions = HTTPOptions()) {
        self.url = url
        var options = options
        options.versions = .http2
        options.keepsConnection = true
        options.decodesContent = false
        // A call ends at its deadline, or never.
        options.responseTimeout = nil
        self.options = options
    }

    func connect() async throws {
        for await _ in closed.stream {}
        // Either all calls have ended, or the caller has cancelled the task.
        let calls = state.withLock { state in
            state.isClosing = true
            return Array(state.calls.values)
        }
        for call in calls { call.abandon() }
        options.pool.drain()
    }

    func beginGracefulShutdown() {
        let isOver = state.withLock { state in
            state.isClosing = true
            return state.calls.isEmpty
        }
        if isOver { closed.continuation.finish() }
    }

    func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? { nil }

    func withStream<T: Sendable>(
        descriptor: MethodDescriptor, options: CallOptions,
        _ closure: (RPCStream<Inbound, Outbound>, ClientContext) async throws -> T
    ) async throws -> T {
        let call = Call(url.appending(path: descriptor.fullyQualifiedMethod), self.options)
        let isAccepted = state.withLock { state in
            if !state.isClosing { state.calls[ObjectIdentifier(call)] = call }
            return !state.isClosing
        }
        guard isAccepted else { throw RPCError(code: .failedPrecondition, message: "The transport is closed.") }
        defer { end(call) }
        let stream = RPCStream(
            descriptor: descriptor,
            inbound: RPCAsyncSequence(
                wrapping: AsyncThrowingStream<RPCResponsePart<[UInt8]>, any Error> { try await call.next() }),
            outbound: RPCWriter.Closable(wrapping: call))
        let authority = "\(url.host ?? ""):\(url.port ?? 0)"
        return try await closure(
            stream, ClientContext(descriptor: descriptor, remotePeer: "dns:\(authority)", localPeer: "netkit"))
    }

    private func end(_ call: Call) {
        call.abandon()
        let isOver = state.withLock { state in
            state.calls[ObjectIdentifier(call)] = nil
            return state.isClosing && state.calls.isEmpty
        }
        if isOver { closed.continuation.finish() }
    }
}

/// One call: the request is written by one task, while another reads the response.
private final class Call: ClosableRPCWriterProtocol {
    typealias Element = RPCRequestPart<[UInt8]>

    /// Which part of the response comes next.
    private enum Progress {
        case head
        case messages
        case done
    }

    private let url: URL
    private let options: HTTPOptions
    /// Holds the messages until HTTP/2 takes them.
    private let body = StreamPair.bound()
    private let stream = OneShot<ReadStream>()
    private let progress = Mutex(Progress.head)
    private let failure = Mutex<RPCError?>(nil)

    init(_ url: URL, _ options: HTTPOptions) {
        self.url = url
        self.options = options
    }

    // MARK: The request

    func write(_ part: Element) async throws {
        switch part {
        case .metadata(let metadata): try begin(metadata)
        case .message(let message):
            do throws(StreamError) {
                try await body.output.writeAll(
                    [0] + (0..<4).map { UInt8(truncatingIfNeeded: message.count >> (24 - 8 * $0)) })
                try await body.output.writeAll(message)
            } catch {
                // The server has ended the call, and the reader is told why.
                throw RPCError(code: .unavailable, message: "The server takes no further messages.", cause: error)
            }
        }
    }

    func write(contentsOf parts: some Sequence<Element>) async throws {
        for part in parts { try await write(part) }
    }

    func finish() async { body.output.close() }

    func finish(throwing error: any Error) async {
        let error = error as? RPCError ?? RPCError(code: .unknown, message: "The request failed.", cause: error)
        failure.withLock { $0 = $0 ?? error }
        abandon()
    }

    /// Ends the call, at both sides.
    func abandon() {
        body.close()
        // A reader that waits for a call that never began gets its end.
        stream.provide(ReadStream(bytes: []))
        stream.value?.close()
    }

    private func begin(_ metadata: Metadata) throws {
        do {
            var request = try HTTPRequest(method: .post, url: url)
            try request.fields.set("application/grpc", for: "Content-Type")
            try request.fields.set("trailers", for: "TE")
            try request.fields.set("grpc-swift-netkit/1", for: "User-Agent")
            for (key, value) in metadata { try request.fields.append(value.encoded(), for: key) }
            let stream = try ReadStream(request: request, body: .stream(once: body.input), options: options)
            try body.output.open()
            try stream.open()
            self.stream.provide(stream)
        } catch {
            throw RPCError(code: .internalError, message: "\(error)", cause: error)
        }
    }

    // MARK: The response

    /// The next part of the response; nil after the last one.
    func next() async throws -> RPCResponsePart<[UInt8]>? {
        do throws(StreamError) {
            let stream = try await stream.value()
            switch progress.withLock({ $0 }) {
            case .head: return try await head(of: stream)
            case .messages: return try await message(of: stream)
            case .done: return nil
            }
        } catch {
            progress.withLock { $0 = .done }
            if let failure = failure.withLock({ $0 }) { throw failure }
            throw RPCError(code: error == .cancelled ? .cancelled : .unavailable, message: "\(error)", cause: error)
        }
    }

    private func head(of stream: ReadStream) async throws(StreamError) -> RPCResponsePart<[UInt8]> {
        let response = try await stream.response()
        guard response.status == .ok, response.fields["Content-Type"]?.hasPrefix("application/grpc") == true else {
            return end(Status(httpStatusCode: response.status.code), HTTPFields())
        }
        // A response without messages has its status in the head.
        if response.fields.contains("grpc-status") { return end(Call.status(of: response.fields), response.fields) }
        progress.withLock { $0 = .messages }
        return .metadata(Call.metadata(of: response.fields))
    }

    private func message(of stream: ReadStream) async throws(StreamError) -> RPCResponsePart<[UInt8]> {
        let prefix = try await read(5, of: stream)
        if prefix.isEmpty {
            let trailers = stream[.httpTrailers] ?? HTTPFields()
            return end(Call.status(of: trailers), trailers)
        }
        let length = prefix.dropFirst().reduce(0) { $0 << 8 | Int($1) }
        guard prefix.count == 5, prefix[0] == 0 else { return malformed }
        let message = try await read(length, of: stream)
        return message.count == length ? .message(message) : malformed
    }

    /// Reads so many bytes, or fewer at the end.
    private func read(_ count: Int, of stream: ReadStream) async throws(StreamError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try await stream.read(upTo: count - bytes.count)
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    private var malformed: RPCResponsePart<[UInt8]> {
        end(Status(code: .internalError, message: "The response contains a malformed message."), HTTPFields())
    }

    private func end(_ status: Status, _ fields: HTTPFields) -> RPCResponsePart<[UInt8]> {
        progress.withLock { $0 = .done }
        return .status(status, Call.metadata(of: fields))
    }

    // MARK: Fields

    private static func status(of fields: HTTPFields) -> Status {
        guard let text = fields["grpc-status"], let number = Int(text), let code = Status.Code(rawValue: number) else {
            return Status(code: .unknown, message: "The response has no status.")
        }
        let message = fields["grpc-message"] ?? ""
        return Status(code: code, message: message.removingPercentEncoding ?? message)
    }

    private static func metadata(of fields: HTTPFields) -> Metadata {
        var metadata = Metadata()
        for field in fields where !["content-type", "grpc-status", "grpc-message"].contains(field.name.lowercased()) {
            // Values of keys that end in -bin are decoded when they are used.
            metadata.addString(field.value, forKey: field.name.lowercased())
        }
        return metadata
    }
}
