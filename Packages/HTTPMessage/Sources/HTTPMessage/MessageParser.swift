/// A parser for the received bytes of a connection that returns messages, with decoded bodies, as a sequence of events.
///
/// The bytes may be appended in pieces of any size. The parser detects the end of each message and continues with the next.
/// ``surplus`` contains the bytes after the last message. The parser buffers at most one incomplete head or trailer section and
/// the bytes whose events have not been requested yet.
///
/// ```swift
/// var parser = MessageParser(.response)
/// parser.expectResponse(to: .get)
/// try parser.append(bytes)
/// while let event = try parser.next() {
///     switch event {
///     case .request, .informational: break
///     case .response(let response): print(response.status)
///     case .body(let bytes): print(bytes.count, "bytes")
///     case .end(let trailers): print(trailers)
///     }
/// }
/// ```
///
/// After an error the end of the message is unknown, and the connection must be closed. Further calls throw
/// ``HTTPMessageError/Code/parserFinished``.
public struct MessageParser: Sendable {
    /// An element of the byte stream.
    public enum Event: Hashable, Sendable {
        /// The head of a request.
        case request(HTTPRequest)
        /// The head of an interim response (1xx), which the final response follows. No `end` event follows it.
        case informational(HTTPResponse)
        /// The head of a final response or of a 101.
        case response(HTTPResponse)
        /// A part of the body.
        case body([UInt8])
        /// The end of the message, with its trailer fields. Most messages have none.
        case end(trailers: HTTPFields)
    }

    /// The direction of the messages.
    public enum Kind: Hashable, Sendable {
        /// Requests, as received by a server.
        case request
        /// Responses, as received by a client.
        case response
    }

    /// The framing of the message whose head was returned last; nil before the first one.
    public private(set) var framing: BodyFraming?

    private let limits: HTTPLimits
    private let leniency: HTTPLeniency
    private var head: HeadParser
    private var buffer: [UInt8] = []
    private var position = 0
    private var state = State.head
    private var isLast = false
    private var switchesProtocols = false
    private var expected: [HTTPMethod] = []
    private let pending: PendingRequests?

    private enum State {
        case head
        case body(BodyDecoder)
        /// No message follows: the last one has ended, or the protocol has changed.
        case finished(isTunnel: Bool)
        case failed
    }

    /// Creates a parser for one direction of a connection.
    ///
    /// - Parameters:
    ///   - kind: The direction of the messages.
    ///   - limits: The limits on the size of the messages.
    ///   - leniency: The deviations that are accepted.
    ///   - pending: The requests of the connection, shared with the ``MessageWriter`` of the other direction: a parser of requests
    ///     records their methods, and a parser of responses takes them.
    public init(
        _ kind: Kind, limits: HTTPLimits = .default, leniency: HTTPLeniency = .strict, pending: PendingRequests? = nil
    ) {
        self.pending = pending
        self.limits = limits
        self.leniency = leniency
        head = HeadParser(kind == .request ? .request : .response, limits: limits, leniency: leniency)
    }

    /// Records the method of a request that was sent, because the framing of its response depends on it.
    ///
    /// Call this once for each request, in order. A response without a recorded request is treated as a response to `GET`. A
    /// parser that shares ``PendingRequests`` with a writer needs no such calls; it obeys them first.
    public mutating func expectResponse(to method: HTTPMethod) {
        expected.append(method)
    }

    /// Ends HTTP after the current message: the bytes that follow are ``surplus``, in another protocol.
    ///
    /// For servers that are about to respond with 101 to the request that the parser has just returned.
    public mutating func switchProtocols() {
        switchesProtocols = true
    }

    /// Appends received bytes, which ``next()`` parses.
    ///
    /// Throws ``HTTPMessageError/Code/parserFinished`` after an error.
    public mutating func append(_ bytes: some Collection<UInt8>) throws(HTTPMessageError) {
        if case .failed = state { throw HTTPMessageError(.parserFinished, fault: .caller) }
        if position > 0, position == buffer.count || position > 64 * 1024 {
            buffer.removeFirst(position)
            position = 0
        }
        buffer += bytes
    }

    /// Returns the next event, or nil if more bytes are needed or the last message of the connection has ended.
    ///
    /// Throws if the bytes are not a valid message or exceed a limit.
    public mutating func next() throws(HTTPMessageError) -> Event? {
        let before = state
        state = .failed  // Remains if an error is thrown.
        let (event, after) = try advance(before)
        state = after
        return event
    }

    /// Records that the peer has closed the connection. Call this after ``next()`` has returned nil.
    ///
    /// Returns the end of a body that is delimited by the close, otherwise nil. Throws
    /// ``HTTPMessageError/Code/truncated`` if a message is incomplete.
    public mutating func receiveEnd() throws(HTTPMessageError) -> Event? {
        let before = state
        state = .failed
        switch before {
        case .failed:
            throw HTTPMessageError(.parserFinished, fault: .caller)
        case .finished:
            state = before
            return nil
        case .head:
            guard surplus.allSatisfy({ $0 == HTTPGrammar.cr || $0 == HTTPGrammar.lf }) else {
                throw HTTPMessageError(.truncated, offset: surplus.count)
            }
            state = .finished(isTunnel: false)
            return nil
        case .body(var decoder):
            try decoder.receiveEnd()
            state = .finished(isTunnel: false)
            return .end(trailers: decoder.trailers)
        }
    }

    /// Whether no more messages follow, because the last message of the connection has ended or the protocol has changed.
    public var isFinished: Bool {
        if case .finished = state { true } else { false }
    }

    /// Whether the parser is between two messages and all bytes have been parsed.
    public var isBetweenMessages: Bool {
        if case .head = state { buffer[position...].isEmpty } else { false }
    }

    /// The appended bytes that do not belong to any message returned so far.
    ///
    /// After a `CONNECT` or an upgrade, these are the first bytes of the other protocol.
    public var surplus: [UInt8] { Array(buffer[position...]) }
}

extension MessageParser {
    private mutating func advance(_ before: State) throws(HTTPMessageError) -> (Event?, State) {
        let buffer = buffer
        switch before {
        case .failed:
            throw HTTPMessageError(.parserFinished, fault: .caller)
        case .finished(let isTunnel):
            if !isTunnel, !leniency.contains(.dataAfterLastMessage),
                buffer[position...].contains(where: { $0 != HTTPGrammar.cr && $0 != HTTPGrammar.lf })
            {
                throw HTTPMessageError(.dataAfterLastMessage)
            }
            return (nil, before)
        case .head:
            return try advanceHead()
        case .body(var decoder):
            switch try decoder.next(in: buffer.span.bytes, at: &position) {
            case .needMore: return (nil, .body(decoder))
            case .payload(let range): return (.body(Array(buffer[range])), .body(decoder))
            case .end: return (.end(trailers: decoder.trailers), afterMessage)
            }
        }
    }

    private var afterMessage: State {
        isLast || switchesProtocols ? .finished(isTunnel: switchesProtocols) : .head
    }

    private mutating func advanceHead() throws(HTTPMessageError) -> (Event?, State) {
        guard position < buffer.count else { return (nil, .head) }
        let buffer = buffer
        let bytes = buffer.span.bytes.extracting(droppingFirst: position)
        guard case .complete(let count) = try head.parse(bytes) else { return (nil, .head) }
        let event: Event
        let framing: BodyFraming
        switch head.kind {
        case .request:
            let request = try head.makeRequest(from: bytes)
            framing = request.hasMethod("CONNECT") ? .tunnel : try .of(request, leniency: leniency)
            try pending?.append(request, fault: .peer)
            isLast = !request.isPersistent
            event = .request(request)
        case .response, .trailers:
            let response = try head.makeResponse(from: bytes)
            framing = try .of(response, to: expected.first ?? pending?.first ?? .get, leniency: leniency)
            isLast = !response.isPersistent || framing == .untilClose
            let isInterim = response.status.kind == .informational && framing != .tunnel
            if !isInterim { if expected.isEmpty { pending?.removeFirst() } else { expected.removeFirst() } }
            if isInterim {
                position += count
                head.reset()
                return (.informational(response), .head)
            }
            event = .response(response)
        }
        position += count
        head.reset()
        self.framing = framing
        if framing == .tunnel { return (event, .finished(isTunnel: true)) }
        return (event, .body(BodyDecoder(framing, limits: limits, leniency: leniency)))
    }
}
