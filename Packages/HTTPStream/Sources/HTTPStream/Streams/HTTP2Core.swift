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
    var lastWriteTimeout: Duration { get }

    /// Whether no message uses the connection.
    var isUnused: Bool { get }

    /// Takes no further requests, and ends with the last one.
    mutating func drain(now: Moment)

    /// Ends an open connection that has waited for a stream as long as it may.
    mutating func endWait(now: Moment)

    /// Acts on what has arrived and what has been written.
    mutating func settle(now: Moment)

    /// Ends a connection that no message uses any more and whose output has been written, or that has failed; begins the wait of one that
    /// may be used again.
    mutating func endIfOver(now: Moment)

    /// Ends the connection after a failure of the transport.
    mutating func fail(_ error: StreamError, now: Moment)

    /// Acts on bytes from the peer; none mean the end of the connection.
    ///
    /// - Parameter take: is called with data of a message that has nothing unread. Returns how many bytes at the front of it have been taken.
    mutating func receive(_ bytes: RawSpan, now: Moment, take: (StreamID, RawSpan) -> Int)

    mutating func didWrite(_ count: Int)

    /// What has happened since the last call, in order.
    mutating func takeNotices() -> [Notice]
}

/// Where a connection stands in its life.
enum HTTP2Phase: Sendable {
    /// Requests share it.
    case open(Wait)
    /// It ends with its last stream: GOAWAY has been sent or received, or no pool keeps it.
    case draining
    /// The last stream has ended. The peer has until then to take the rest of the output.
    case writingLast(until: Moment)
    case ended(StreamError)

    /// What an open connection waits for, and how long.
    enum Wait: Sendable {
        /// It has streams, or no time limit.
        case none
        /// A request.
        case request(until: Moment)
        /// The peer, which allows no stream to the requests that there are.
        case permission(until: Moment)
    }
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

    /// The end of the wait without streams.
    var waitEnd: Moment? {
        switch phase {
        case .open(.request(let end)), .open(.permission(let end)), .writingLast(let end): end
        case .open(.none), .draining, .ended: nil
        }
    }

    /// The instant at which ``act(now:)`` has to be called.
    var nextDeadline: Moment? {
        if hasEnded { return nil }
        let deadline = machine.nextDeadline.map { start + $0 }
        guard let waitEnd else { return deadline }
        return deadline.map { min($0, waitEnd) } ?? waitEnd
    }

    /// Acts on deadlines that have passed.
    mutating func act(now: Moment) {
        if isOpen, let waitEnd, waitEnd <= now { endWait(now: now) }
        // The end of each stream is an event, and the output tells the peer why.
        do throws(HTTP2Error) { try machine.tick(now: elapsed(now)) } catch {}
    }

    /// Ends the connection with an error.
    mutating func abort(_ code: ErrorCode, now: Moment) { machine.abort(code, now: elapsed(now)) }

    /// Passes bytes of the peer to the machine; none mean the end of the connection.
    mutating func pass(_ bytes: RawSpan, now: Moment, take: (StreamID, RawSpan) -> Int) {
        machine.pass(bytes, now: elapsed(now), take: take)
    }

    /// As ``receive(_:now:take:)``, but all data is kept.
    mutating func receive(_ bytes: RawSpan, now: Moment) { receive(bytes, now: now) { _, _ in 0 } }

    /// Ends the connection, whose transport has failed, and with it each stream, by an event.
    mutating func endMachine(_ error: StreamError, now: Moment) {
        phase = .ended(error)
        do throws(HTTP2Error) { try machine.receiveEnd(now: elapsed(now)) } catch {}
    }

    /// Ends a connection without messages once its output has been written, or the peer has not taken it for too long.
    mutating func endOnceWritten(now: Moment) {
        let end = if case .writingLast(let end) = phase { end } else { now + lastWriteTimeout }
        phase = machine.outputCount == 0 || end <= now ? .ended(.closed) : .writingLast(until: end)
    }
}
