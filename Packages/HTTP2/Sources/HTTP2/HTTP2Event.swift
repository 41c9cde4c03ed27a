public import HTTPMessage

/// What has happened on a connection, for the program.
///
/// A machine reports events in the order in which their causes arrived. The events of a message are its head, then any number of
/// ``readable(_:)``, possibly ``trailers(_:_:)``, and ``ended(_:)``; ``reset(_:_:)`` can take the place of all that is left. Data that
/// arrived before the end may be unread when the end is reported.
///
/// ```swift
/// var machine = HTTP2ClientMachine(now: .zero)
/// while let event = machine.nextEvent() {
///     switch event {
///     case .response(let stream, let response): print(stream, response.status)
///     case .readable(let stream): print(stream, "has data")
///     case .ended(let stream): machine.close(stream, now: .zero)
///     default: break
///     }
/// }
/// ```
@nonexhaustive
public enum HTTP2Event: Hashable, Sendable {
    /// Server: the head of a request, on a new stream.
    case request(StreamID, HTTP2Request)
    /// Client: the head of an interim response (RFC 9110 §15.2), at most ``HTTP2Limits/maximumInterimResponses`` for a
    /// request.
    case interim(StreamID, HTTPResponse)
    /// Client: the head of the response.
    case response(StreamID, HTTPResponse)
    /// There is something to read, for the first time or since all was read.
    case readable(StreamID)
    /// The trailer fields, behind all data. Fields that RFC 9110 §6.5.1 forbids in trailers are left out.
    case trailers(StreamID, HTTPFields)
    /// The peer's message is complete.
    case ended(StreamID)
    /// The stream has ended before its messages did. What has arrived before can be read, unless the peer has violated a rule
    /// (``HTTP2StreamFailure/Cause/violation(_:)``): then it is discarded.
    case reset(StreamID, HTTP2StreamFailure)
    /// Client: the response is complete, and the rest of the request cannot be sent. In general the server does not want it, which is not
    /// an error (RFC 9113 §8.1); ``HTTP2StreamFailure/cause`` tells what has ended the stream.
    case sendingStopped(StreamID, HTTP2StreamFailure)
    /// The peer's settings have arrived: the first ones, or new ones.
    case settings
    /// Client: a request can be sent, after ``HTTP2Machine/request(_:endsHere:now:)`` has returned nil.
    case room
    /// The peer will end the connection and accepts no new streams (RFC 9113 §6.8). Streams up to its last one continue.
    case goAway(HTTP2GoAway)
    /// After a GOAWAY, on a server its own last one: the last stream has ended. The connection can be closed when the output is written.
    case drained
}

/// Why a stream ended before its messages did, and whether its request may be repeated.
public struct HTTP2StreamFailure: Hashable, Sendable {
    /// The code of RST_STREAM or GOAWAY.
    public var code: ErrorCode

    /// What ended the stream.
    public var cause: Cause

    /// Whether the server can have processed the request.
    public var processing: Processing

    /// What ended a stream.
    public indirect enum Cause: Hashable, Sendable {
        /// The peer sent RST_STREAM.
        case peer
        /// The peer violated a rule or exceeded a limit, and this side sent RST_STREAM.
        case violation(HTTP2Error)
        /// The peer sent a GOAWAY whose last stream is below this one.
        case goAway(HTTP2GoAway)
        /// The connection has failed, or the peer has closed it.
        case connection(HTTP2Error)
    }

    /// Whether the server can have processed a request (RFC 9113 §8.7).
    public enum Processing: Hashable, Sendable {
        /// It has not: it refused the stream, or the stream is above the last one of its GOAWAY. The request may be repeated, whatever
        /// its method: after ``ErrorCode/refusedStream`` on the same connection.
        case notProcessed
        /// It may have. An idempotent request may be repeated, any other must not be.
        case unknown
    }

    /// Whether the server demands HTTP/1.1 for the request (RFC 9113 §7). It may be repeated over HTTP/1.1.
    public var requiresHTTP11: Bool { code == .http11Required }
}

extension HTTP2StreamFailure {
    /// The failure as an error of the stream.
    func error(on stream: StreamID) -> HTTP2Error {
        switch cause {
        case .violation(let error), .connection(let error): error
        case .peer: .stream(stream, code, "RFC 9113 §6.4", "the peer has reset the stream")
        case .goAway: .stream(stream, code, "RFC 9113 §6.8", "the peer does not process the stream")
        }
    }
}

/// The result of reading from a stream.
public enum HTTP2ReadOutcome: Hashable, Sendable {
    /// This many bytes are at the front of the memory; none only if the memory is empty.
    case bytes(Int)
    /// There is nothing to read now. ``HTTP2Event/readable(_:)`` follows.
    case blocked
    /// The message is complete, and all of it was read.
    case ended
    /// The stream has ended before the message did, and all that had arrived was read, or was discarded after a violation.
    case reset(HTTP2StreamFailure)
}

/// The result of sending on a stream.
public struct HTTP2SendOutcome: Hashable, Sendable {
    /// The number of bytes that were taken.
    public var count: Int
    /// Whether all bytes were taken and, if the message was to end, its end. If not, the rest is sent when
    /// `nextWritable()` returns the stream.
    public var isComplete: Bool
}
