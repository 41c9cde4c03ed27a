internal import EventLoops
internal import HTTP2
internal import StreamKit

/// One side of a connection of HTTP/2, without I/O: the messages that share it, and when it ends. An ``HTTP2Link`` passes bytes and
/// instants to it.
protocol HTTP2Core: ~Copyable, Sendable {
    associatedtype Side: HTTP2Side
    /// What the program has to be told, once no lock is held.
    associatedtype Notice: Sendable

    var machine: HTTP2Machine<Side> { get set }
    var phase: HTTP2Phase { get set }
    /// The instant to which the machine's times refer.
    var start: Moment { get }
    /// How long a connection without streams waits for a peer that does not take its last frames.
    var lastWriteTime: Duration { get }
    /// The end of the time for which a connection without streams is kept; of one that drains, for which it waits to write its output.
    var idleEnd: Moment? { get set }

    /// Whether no message uses the connection.
    var isUnused: Bool { get }

    /// Takes no further requests, and ends with the last one.
    mutating func drain(now: Moment)

    /// Ends a connection whose idle time has passed.
    mutating func endIdleTime(now: Moment)

    /// Acts on what has arrived and what has been written.
    mutating func settle(now: Moment)

    /// Ends a connection that no message uses any more and whose output has been written, or that has failed; begins the idle time of
    /// one that may be used again.
    mutating func endIfOver(now: Moment)

    /// Ends the connection after a failure of the transport.
    mutating func fail(_ error: StreamError, now: Moment)

    /// Acts on bytes from the peer; none mean the end of the connection.
    mutating func receive(_ bytes: RawSpan, now: Moment)

    mutating func didWrite(_ count: Int)

    /// What has happened since the last call, in order.
    mutating func takeNotices() -> [Notice]
}

/// Where a connection stands in its life.
enum HTTP2Phase: Sendable {
    /// Requests share it.
    case open
    /// It ends with its last stream: GOAWAY has been sent or received, or no pool keeps it.
    case draining
    case ended(StreamError)
}

extension HTTP2Core where Self: ~Copyable {
    func elapsed(_ now: Moment) -> Duration { start.duration(to: now) }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    /// The error that has ended the connection; nil while it lasts.
    var error: StreamError? { if case .ended(let error) = phase { error } else { nil } }

    var hasEnded: Bool { error != nil }

    /// Whether output has to be written before more is read.
    var isOutputFull: Bool { machine.isOutputFull }

    var outputCount: Int { machine.outputCount }

    func withOutput<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        try machine.withOutput(body)
    }

    /// The instant at which ``act(now:)`` has to be called.
    var nextDeadline: Moment? {
        if hasEnded { return nil }
        let deadline = machine.nextDeadline.map { start + $0 }
        guard let idleEnd else { return deadline }
        return deadline.map { min($0, idleEnd) } ?? idleEnd
    }

    /// Acts on deadlines that have passed.
    mutating func act(now: Moment) {
        if isOpen, let idleEnd, idleEnd <= now { endIdleTime(now: now) }
        // The end of each stream is an event, and the output tells the peer why.
        do throws(HTTP2Error) { try machine.tick(now: elapsed(now)) } catch {}
    }

    /// Ends the connection with an error.
    mutating func abort(_ code: ErrorCode, now: Moment) { machine.abort(code, now: elapsed(now)) }

    /// Passes bytes of the peer to the machine; none mean the end of the connection.
    mutating func pass(_ bytes: RawSpan, now: Moment) {
        machine.pass(bytes, now: elapsed(now))
    }

    /// Ends the connection, whose transport has failed, and with it each stream, by an event.
    mutating func endMachine(_ error: StreamError, now: Moment) {
        phase = .ended(error)
        do throws(HTTP2Error) { try machine.receiveEnd(now: elapsed(now)) } catch {}
    }

    /// Ends a connection without messages once its output has been written, or the peer has not taken it for too long.
    mutating func endOnceWritten(now: Moment) {
        if machine.outputCount == 0 || idleEnd.map({ $0 <= now }) == true {
            phase = .ended(.closed)
        } else {
            idleEnd = idleEnd ?? now + lastWriteTime
        }
    }
}
