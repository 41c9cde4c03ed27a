/// A writer for the sending direction of a connection: it turns the events of a ``MessageParser`` into bytes.
///
/// The writer frames each body as the fields of its head require, in chunks or by length, and rejects a body that does not match
/// them. An intermediary is a parser and a writer:
///
/// ```swift
/// var parser = MessageParser(.request, pending: ofClient)
/// var writer = MessageWriter(pending: ofServer)
/// for try await bytes in client.input.chunks() {
///     try parser.append(bytes)
///     var output: [UInt8] = []
///     while var event = try parser.next() {
///         if case .request(var request) = event {
///             try request.fields.set("1.1 example", for: "Via")
///             event = .request(request)
///         }
///         try writer.write(event, into: &output)
///     }
///     try await server.output.writeAll(output)
/// }
/// ```
///
/// The other direction is the same with `.response`, and with the two ``PendingRequests`` exchanged: the end of a response depends on
/// the method of its request.
///
/// A head that a parser accepted with leniency is written in strict syntax, or rejected: its receiver may read it in another way than the
/// parser did (request smuggling). Contradictory fields and invalid targets therefore need the same flags here.
///
/// After an error, nothing more can be written: the receiver could not determine the end of the message.
public struct MessageWriter: Sendable {
    private enum State {
        case head
        /// The number of bytes that a body with a length still lacks.
        case body(BodyFraming, missing: Int64)
        case finished
        case failed
    }

    private let leniency: HTTPLeniency
    private var state = State.head
    private var isLast = false
    private var expected: [HTTPMethod] = []
    private let pending: PendingRequests?

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - leniency: The deviations of framing fields, targets and versions that are written as they are: the flags of ``MessageParser``.
    ///   - pending: The requests of the connection, shared with the ``MessageParser`` of the other direction: a writer of requests
    ///     records their methods, and a writer of responses takes them.
    public init(leniency: HTTPLeniency = .strict, pending: PendingRequests? = nil) {
        self.leniency = leniency
        self.pending = pending
    }

    /// The framing of the message that is being written; nil between two messages.
    public var framing: BodyFraming? {
        if case .body(let framing, _) = state { framing } else { nil }
    }

    /// Whether no further message can be written: the last one said so, or the protocol has changed.
    public var isFinished: Bool {
        if case .finished = state { true } else { false }
    }

    /// Records the method of a request that was received, because the framing of its response depends on it.
    ///
    /// Call this once for each request, in order. A response without a recorded request is treated as a response to `GET`. A
    /// writer that shares ``PendingRequests`` with a parser needs no such calls; it obeys them first.
    public mutating func expectResponse(to method: HTTPMethod) {
        expected.append(method)
    }

    /// Appends the bytes of an event to `output`.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` for an event that cannot follow the last one, such as a body without a head or
    ///   bytes beyond `Content-Length`; ``HTTPMessageError/Code/truncated`` for the end of a body that is shorter than its
    ///   `Content-Length`; ``HTTPMessageError/Code/tooManyPendingRequests`` beyond ``PendingRequests/maximumCount``; ``HTTPMessageError/Code/invalidTarget`` and
    ///   ``HTTPMessageError/Code/unsupportedVersion`` for a head that only a lenient parser accepts; the errors of ``BodyFraming/of(_:leniency:)`` for contradictory fields;
    ///   ``HTTPMessageError/Code/invalidFieldName`` for a trailer that frames, routes or authenticates the message. `output` is then unchanged.
    public mutating func write(_ event: MessageParser.Event, into output: inout [UInt8]) throws(HTTPMessageError) {
        let before = state
        state = .failed  // Remains if an error is thrown.
        state = try next(before, event, &output)
    }

    private mutating func next(
        _ before: State, _ event: MessageParser.Event, _ output: inout [UInt8]
    ) throws(HTTPMessageError) -> State {
        switch (before, event) {
        case (.head, .request(let request)):
            try check(request)
            let framing =
                request.hasMethod("CONNECT") ? BodyFraming.tunnel : try .of(request, leniency: leniency)
            try pending?.append(request, fault: .caller)
            request.serializeHead(into: &output)
            return begin(framing, isPersistent: request.isPersistent)
        case (.head, .informational(let response)):
            guard response.status.kind == .informational, response.status.code != 101 else { break }
            response.serializeHead(into: &output)
            return .head
        case (.head, .response(let response)):
            // HTTP/0.9 has no head: the receiver would look for one in the body.
            if response.version == .http09, !leniency.contains(.headerlessResponse) {
                throw HTTPMessageError(.unsupportedVersion, fault: .caller)
            }
            let method = expected.first ?? pending?.first ?? .get
            let framing = try BodyFraming.of(response, to: method, leniency: leniency)
            if expected.isEmpty { pending?.removeFirst() } else { expected.removeFirst() }
            response.serializeHead(into: &output)
            return begin(framing, isPersistent: response.isPersistent && framing != .untilClose)
        case (.body(let framing, let missing), .body(let bytes)):
            switch framing {
            case .chunked: ChunkedEncoder.write(bytes.span.bytes, into: &output)
            case .length where Int64(bytes.count) <= missing, .untilClose: output += bytes
            case .none where bytes.isEmpty: break
            case .length, .none, .tunnel: throw HTTPMessageError(.outOfOrder, fault: .caller)
            }
            return .body(framing, missing: missing - Int64(bytes.count))
        case (.body(let framing, let missing), .end(let trailers)):
            if case .length = framing, missing > 0 { throw HTTPMessageError(.truncated, fault: .caller) }
            if framing == .chunked { try ChunkedEncoder.writeEnd(trailers: trailers, into: &output) }
            return isLast ? .finished : .head
        default: break
        }
        throw HTTPMessageError(.outOfOrder, fault: .caller)
    }

    /// Checks what a lenient parser may have let pass, and the serialization does not correct.
    private func check(_ request: HTTPRequest) throws(HTTPMessageError) {
        let deviations = request.withRawStartLine { method, target in
            method.withUnsafeBytes { method in
                target.withUnsafeBytes { RequestTarget.deviations(of: $0, method: method) }
            }
        }
        guard leniency.isSuperset(of: deviations) else { throw HTTPMessageError(.invalidTarget, fault: .caller) }
    }

    private mutating func begin(_ framing: BodyFraming, isPersistent: Bool) -> State {
        isLast = !isPersistent
        switch framing {
        case .tunnel: return .finished
        case .length(let count): return .body(framing, missing: count)
        case .none, .chunked, .untilClose: return .body(framing, missing: 0)
        }
    }
}
