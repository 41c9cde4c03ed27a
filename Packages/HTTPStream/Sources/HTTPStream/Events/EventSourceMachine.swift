internal import HTTPMessage
internal import StreamKit

/// A client of server-sent events that connects again (WHATWG HTML §9.2.3), without I/O and clock.
///
/// Theory of operation. ``next()`` says what to do: connect, read, deliver an event, pause, or end. The driver does it, and reports
/// the outcome with the function that belongs to it; a pause has ended when the driver calls ``next()`` again. Whatever ends a
/// connection leads to a pause and the next connection, except what the specification calls a failure: a response that is no
/// stream of events, and errors that a repetition cannot repair. A 204 ends the sequence.
struct EventSourceMachine {
    /// What the driver does next.
    enum Action: Equatable {
        /// Send the request; the value is the field `Last-Event-ID`, nil for none. Then ``connected(_:)`` or ``disconnected(_:random:)``.
        case connect(lastEventID: String?)
        /// Read the body. Then ``received(_:)`` or ``disconnected(_:random:)``.
        case read
        /// Return an event.
        case deliver(ServerSentEvent)
        /// Close the connection and wait. The error is nil if the response has ended.
        case pause(Duration, after: StreamError?)
        /// Close the connection and end the sequence, with an error unless it is nil.
        case end(StreamError?)
    }

    private enum State {
        case unconnected
        case connected
        case pausing(Duration, StreamError?)
        case ended(StreamError?)
    }

    private let options: EventSource.Options
    private var parser: ServerSentEventParser
    private var state = State.unconnected
    /// The time that the server has sent, or else the option.
    private var reconnectionTime: Duration
    /// Whether the connection has received bytes of a stream of events.
    private var hasReceived = false
    /// The connections, the last ones in a row, that have not.
    private var failures = 0

    /// The shortest pause, whatever the server has sent: a server with `retry: 0` must not make the client spin.
    static let shortestPause: Duration = .milliseconds(100)
    /// The longest pause that a server can request with `retry`, unless the options have a longer one: a server could otherwise stop its
    /// clients for ever.
    static let maximumReconnectionTime: Duration = .seconds(600)

    init(_ options: EventSource.Options) {
        self.options = options
        parser = ServerSentEventParser(maximumEventLength: options.maximumEventLength, lastEventID: options.lastEventID)
        reconnectionTime = options.reconnectionTime
    }

    mutating func next() -> Action {
        switch state {
        case .unconnected:
            return .connect(lastEventID: parser.lastEventID.isEmpty ? nil : parser.lastEventID)
        case .connected:
            do throws(StreamError) {
                if let event = try parser.next() { return .deliver(event) }
            } catch {
                // The event would be as long after another connection.
                state = .ended(nil)
                return .end(error)
            }
            return .read
        case .pausing(let pause, let error):
            state = .unconnected
            return .pause(pause, after: error)
        case .ended(let error):
            state = .ended(nil)
            return .end(error)
        }
    }

    /// The head of the response has arrived.
    mutating func connected(_ response: HTTPResponse) {
        parser = ServerSentEventParser(maximumEventLength: options.maximumEventLength, lastEventID: parser.lastEventID)
        hasReceived = false
        do throws(StreamError) {
            // A 204 ends the reconnections (WHATWG HTML §9.2.3).
            state = try ServerSentEvents.check(response) ? .connected : .ended(nil)
        } catch {
            state = .ended(error)
        }
    }

    /// A piece of the body has arrived; an empty one is its end.
    mutating func received(_ bytes: [UInt8], random: Double) {
        if bytes.isEmpty { return disconnected(nil, random: random) }
        hasReceived = true
        parser.append(bytes)
    }

    /// The connection, or an attempt to make one, has ended.
    ///
    /// - Parameter random: a random number from 0 to 1.
    mutating func disconnected(_ error: StreamError?, random: Double) {
        if let error, !EventSourceMachine.canRecover(from: error) {
            state = .ended(error)
            return
        }
        if let time = parser.reconnectionTime {
            reconnectionTime = min(
                time, max(EventSourceMachine.maximumReconnectionTime, options.maximumDelay, options.reconnectionTime))
        }
        failures = hasReceived ? 0 : failures + 1
        hasReceived = false
        if let limit = options.maximumAttempts, failures > limit {
            state = .ended(error ?? .lostEvents)
        } else {
            state = .pausing(pause(random: random), error)
        }
    }

    /// The reconnection time; after failures, between half of a time that doubles with each and the whole, at least the reconnection
    /// time.
    private func pause(random: Double) -> Duration {
        let base = max(reconnectionTime, EventSourceMachine.shortestPause)
        var delay = max(base, .milliseconds(500))
        guard failures > 0, base < options.maximumDelay else { return base }
        for _ in 0..<failures where delay < options.maximumDelay { delay += delay }
        return max(base, min(delay, options.maximumDelay) * (0.5 + 0.5 * random))
    }

    /// Whether another connection may succeed. A client may give up where it cannot (WHATWG HTML §9.2.3).
    private static func canRecover(from error: StreamError) -> Bool {
        if error.isCancellation || error == .closed { return false }
        switch error.domain {
        case .ssl:
            // Otherwise a certificate or a configuration that would be refused again.
            let ends: [TLSFailure] = [
                .closedGracefully, .closedAbruptly, .closedWithoutNotify, .connectionRefused, .peerInternalError,
                .badRecordMAC,
            ]
            return error.tlsFailure.map(ends.contains) ?? false
        case .http: return error.code == HTTPErrorNumber.connectionLost.rawValue
        // The configuration is refused.
        case .posix: return ![22, 95, 93].contains(error.code)  // EINVAL, EOPNOTSUPP, EPROTONOSUPPORT
        default: return true
        }
    }
}

extension StreamError {
    fileprivate static let lostEvents = http(
        .connectionLost, Sentence("events.lost", "The server has ended the stream of events without sending any."))
}
