/// Takes a connection's received bytes, in any pieces, and gives the messages in them, with their bodies decoded.
///
/// Says where each message ends and goes on with the next; ``surplus`` has the bytes that are no longer HTTP. Holds at
/// most one head, or what was appended and not yet asked for.
///
/// ```swift
/// var parser = MessageParser(.response)
/// parser.expectResponse(to: .get)
/// try parser.append(bytes)
/// while let event = try parser.next() {
///     switch event {
///     case .request, .informational: break
///     case .response(let response): print(response.status)
///     case .body(let bytes): file.write(bytes)
///     case .end(let trailers): print(trailers)
///     }
/// }
/// ```
///
/// After an error the end of the message is unknown: close the connection. Further calls throw `parserFinished`.
public struct MessageParser: Sendable {
    /// What is in the bytes, in their order.
    public enum Event: Hashable, Sendable {
        /// The head of a request.
        case request(HTTPRequest)
        /// The head of an interim response (1xx); the final one follows. Has no `end`.
        case informational(HTTPResponse)
        /// The head of a final response, or of a 101.
        case response(HTTPResponse)
        /// Some of the body.
        case body([UInt8])
        /// The message is complete; the trailer fields, mostly none.
        case end(trailers: HTTPFields)
    }

    /// The sides of a connection.
    public enum Kind: Hashable, Sendable {
        /// Bytes that a server receives.
        case request
        /// Bytes that a client receives.
        case response
    }

    private let limits: HTTPLimits
    private let leniency: HTTPLeniency
    private var head: HeadParser
    private var held: [UInt8] = []
    private var position = 0
    private var state = State.head
    private var isLast = false
    private var switchesProtocols = false
    private var expected: [HTTPMethod] = []

    private enum State {
        case head
        case body(BodyDecoder)
        /// No more messages: after the last one, or after a change of protocol.
        case finished(isTunnel: Bool)
        case failed
    }

    /// Makes a parser for one side of a connection.
    public init(_ kind: Kind, limits: HTTPLimits = .default, leniency: HTTPLeniency = .strict) {
        self.limits = limits
        self.leniency = leniency
        head = HeadParser(kind == .request ? .request : .response, limits: limits, leniency: leniency)
    }

    /// Says which request a response will answer; one call for each request, in order. A response to which no call
    /// belongs is taken as one to `GET`.
    public mutating func expectResponse(to method: HTTPMethod) {
        expected.append(method)
    }

    /// Makes the current message the last: what follows it is ``surplus``, in another protocol. For a server that is
    /// about to answer 101 to the request it has just been given.
    public mutating func switchProtocols() {
        switchesProtocols = true
    }

    /// Adds received bytes; ``next()`` looks at them.
    public mutating func append(_ bytes: some Collection<UInt8>) throws(HTTPMessageError) {
        if case .failed = state { throw HTTPMessageError(.parserFinished, fault: .caller) }
        if position > 0, position == held.count || position > 64 * 1024 {
            held.removeFirst(position)
            position = 0
        }
        held += bytes
    }

    /// The next event, nil if more bytes are needed or the connection's last message has ended.
    public mutating func next() throws(HTTPMessageError) -> Event? {
        let before = state
        state = .failed  // unless the end below is reached
        let (event, after) = try advance(before)
        state = after
        return event
    }

    /// Reports that the peer has closed, after ``next()`` has given nil. A body without a stated length ends here.
    ///
    /// Throws ``HTTPMessageError/Code/truncated`` if a message had begun and not ended.
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

    /// Whether no more messages will come: the last one of the connection has ended, or the protocol has changed.
    public var isFinished: Bool {
        if case .finished = state { true } else { false }
    }

    /// Whether the parser is between two messages.
    public var isBetweenMessages: Bool {
        if case .head = state { held[position...].isEmpty } else { false }
    }

    /// The bytes that were appended and belong to no message reported so far; after a `CONNECT` or an upgrade they are
    /// the first of the other protocol.
    public var surplus: [UInt8] { Array(held[position...]) }
}

extension MessageParser {
    private mutating func advance(_ before: State) throws(HTTPMessageError) -> (Event?, State) {
        let held = held
        switch before {
        case .failed:
            throw HTTPMessageError(.parserFinished, fault: .caller)
        case .finished(let isTunnel):
            if !isTunnel, !leniency.contains(.dataAfterLastMessage),
                held[position...].contains(where: { $0 != HTTPGrammar.cr && $0 != HTTPGrammar.lf })
            {
                throw HTTPMessageError(.dataAfterLastMessage)
            }
            return (nil, before)
        case .head:
            return try advanceHead()
        case .body(var decoder):
            switch try decoder.next(in: held.span.bytes, at: &position) {
            case .needMore: return (nil, .body(decoder))
            case .payload(let range): return (.body(Array(held[range])), .body(decoder))
            case .end: return (.end(trailers: decoder.trailers), afterMessage)
            }
        }
    }

    private var afterMessage: State {
        isLast || switchesProtocols ? .finished(isTunnel: switchesProtocols) : .head
    }

    private mutating func advanceHead() throws(HTTPMessageError) -> (Event?, State) {
        guard position < held.count else { return (nil, .head) }
        let held = held
        let bytes = held.span.bytes.extracting(droppingFirst: position)
        guard case .complete(let count) = try head.parse(bytes) else { return (nil, .head) }
        let event: Event
        let framing: BodyFraming
        switch head.kind {
        case .request:
            let request = try head.makeRequest(from: bytes)
            framing = request.hasMethod("CONNECT") ? .tunnel : try .of(request, leniency: leniency)
            isLast = !request.isPersistent
            event = .request(request)
        case .response, .trailers:
            let response = try head.makeResponse(from: bytes)
            framing = try .of(response, to: expected.first ?? .get, leniency: leniency)
            isLast = !response.isPersistent || framing == .untilClose
            let isInterim = response.status.kind == .informational && framing != .tunnel
            if !isInterim, !expected.isEmpty { expected.removeFirst() }
            if isInterim {
                position += count
                head.reset()
                return (.informational(response), .head)
            }
            event = .response(response)
        }
        position += count
        head.reset()
        if framing == .tunnel { return (event, .finished(isTunnel: true)) }
        return (event, .body(BodyDecoder(framing, limits: limits, leniency: leniency)))
    }
}
