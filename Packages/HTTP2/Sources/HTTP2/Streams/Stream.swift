/// A stream: its windows, and what is known of the two messages on it.
struct Stream: Sendable {
    var id: StreamID
    var receiveWindow: ReceiveWindow
    var sendWindow: SendWindow
    /// What has arrived and was not read.
    var body: BodyRing
    /// The progress of the message that the peer sends.
    var incoming: IncomingMessage
    /// The progress of the message that this side sends.
    var outgoing: OutgoingMessage
    var priority = HTTP2Priority()
    /// Why the stream ended before its messages did.
    var failure: HTTP2StreamFailure?
    var requestKind = RequestKind.ordinary
    /// What the last call of the program did not send.
    var unsent = Unsent.nothing
    /// When the last byte arrived that the peer owes, or the window was given that it needs.
    var lastArrival: Duration
    /// How long data waits for credit of this stream.
    var creditWait: CreditWait?
    /// Whether the stream waits for a larger window.
    var hold = Hold.free
    /// When a half of the receive window was given back last.
    var lastCredit: Duration?

    /// Creates a stream that both sides may send on. `body` is empty, and may have memory.
    init(
        id: StreamID, receiveWindow: ReceiveWindow, sendWindow: SendWindow, body: BodyRing = BodyRing(),
        incoming: IncomingMessage, outgoing: OutgoingMessage, now: Duration
    ) {
        self.id = id
        self.body = body
        self.receiveWindow = receiveWindow
        self.sendWindow = sendWindow
        self.incoming = incoming
        self.outgoing = outgoing
        lastArrival = now
    }

    /// The state of RFC 9113 §5.1: a stream with messages is never idle, and each side that has ended its message closes a half.
    var state: StreamState {
        switch (incoming.hasEnded, outgoing.hasEnded) {
        case (false, false): .open
        case (false, true): .halfClosedLocal
        case (true, false): .halfClosedRemote
        case (true, true): .closed
        }
    }

    /// Notes what the request is.
    mutating func setRequest(_ kind: RequestKind, _ priority: HTTP2Priority) {
        requestKind = kind
        self.priority = priority
    }

    /// Moves the stream to a state that ``StreamState/transition(_:_:)`` has returned: ends the messages of the halves that it closes.
    @inline(__always)
    mutating func enter(_ state: StreamState) {
        if state == .halfClosedRemote || state == .closed { incoming = .ended }
        if state == .halfClosedLocal || state == .closed {
            (outgoing, unsent, creditWait) = (.ended, .nothing, nil)
        }
    }

    /// Accounts data that was sent.
    @inline(__always)
    mutating func didSend(_ count: Int) {
        sendWindow.spend(count)
        hold = .free
        if let wait = creditWait { creditWait = wait.afterSending(count) }
        if case .content(let remaining?) = outgoing { outgoing = .content(remaining: remaining - Int64(count)) }
    }

    /// Makes the element of the table free. Little memory of the body remains for the next stream.
    mutating func clear() {
        id = .connection
        failure = nil
        body.removeAll()
    }

    /// Returns the body's memory, and leaves none.
    mutating func takeBody() -> BodyRing { exchange(&body, with: BodyRing()) }
}

/// What the method of a request means for its response.
enum RequestKind: Sendable, BitwiseCopyable {
    case ordinary
    /// HEAD: the response has no content whatever its fields say.
    case head
    /// CONNECT: a successful response opens a tunnel.
    case connect
}

/// What is left of the data, and the end, that the program gave to send.
enum Unsent: Sendable {
    case nothing
    /// Data, and the end if the program said so.
    case data
    /// The end of the message alone, which needs no credit (RFC 9113 §6.9.1).
    case end
}

/// Whether a stream whose window is nearly exhausted waits for credit instead of sending a small frame.
enum Hold: Sendable {
    /// It does not wait.
    case free
    /// It waits for credit.
    case waiting
    /// No credit came in time: a small frame is better than none.
    case released
}

/// The progress of a received message (RFC 9113 §8.1).
enum IncomingMessage: Hashable, Sendable, BitwiseCopyable {
    /// A response: its head is expected, after these interim responses.
    case head(after: InterimResponses)
    /// Content is expected, of this many more bytes if the message says so; then the end or trailers.
    case content(remaining: Int64?)
    /// The end is expected: a response to HEAD, 204 or 304, which has no content whatever its fields say (RFC 9110 §6.4.1).
    case noContent
    /// The bytes of a tunnel (RFC 9113 §8.5).
    case tunnel
    /// The message is complete, or the rest is not wanted.
    case ended

    var hasEnded: Bool { if case .ended = self { true } else { false } }
}

/// The interim responses to a request.
struct InterimResponses: Hashable, Sendable, BitwiseCopyable {
    var count = 0
    /// The sum of the sizes of their lists of fields.
    var listSize = 0

    static let none = InterimResponses()
}

/// The progress of a message that is sent (RFC 9113 §8.1).
enum OutgoingMessage: Hashable, Sendable, BitwiseCopyable {
    /// A server has not sent the head of the final response.
    case head
    /// Content may be sent, of this many more bytes if the head says so.
    case content(remaining: Int64?)
    /// The end may be sent: a response to HEAD, 204 or 304, which has no content whatever its fields say (RFC 9110 §6.4.1).
    case noContent
    /// The bytes of a tunnel.
    case tunnel
    /// The message is complete, or the peer does not want the rest.
    case ended

    var hasEnded: Bool { if case .ended = self { true } else { false } }
}
