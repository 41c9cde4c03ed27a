/// An error of a connection or of one stream, with the violated rule.
///
/// Switch on ``code``, ``scope`` and ``fault``; print the error for the whole story.
///
/// ```swift
/// var machine = HTTP2ClientMachine(now: .zero)
/// do {
///     try machine.receive(bytes.span.bytes, now: .zero)
/// } catch {
///     print(error)  // PROTOCOL_ERROR: the first frame is not SETTINGS (RFC 9113 §3.4)
/// }
/// ```
public struct HTTP2Error: Error, Hashable, Sendable {
    /// The code that the peer is told; of a mistake of the caller, the nearest one, which is not sent.
    public var code: ErrorCode

    /// What the error ends.
    public var scope: Scope

    /// The origin of the error.
    public var fault: Fault

    /// The violated rule: a section of an RFC, or the name of a property of ``HTTP2Limits``.
    public var rule: String

    /// What happened, for people.
    public var reason: String

    /// What an error ends (RFC 9113 §5.4).
    public enum Scope: Hashable, Sendable {
        /// The connection with all its streams.
        case connection
        /// One stream.
        case stream(StreamID)
        /// The call alone: nothing was sent, and the connection and its streams continue.
        case call
    }

    /// The origin of an error.
    public enum Fault: Hashable, Sendable {
        /// The program called a member at the wrong time or with a value that HTTP/2 cannot carry, and nothing was sent; or it has
        /// ended the connection with ``HTTP2Machine/abort(_:now:)``.
        case caller
        /// The peer violated the protocol, exceeded a limit, or ended the connection or the stream.
        case peer
    }
}

extension HTTP2Error: CustomStringConvertible {
    /// The code, the reason and the rule in one phrase.
    public var description: String { "\(code): \(reason) (\(rule))" }
}

extension HTTP2Error {
    static func connection(_ code: ErrorCode, _ rule: String, _ reason: String) -> HTTP2Error {
        HTTP2Error(code: code, scope: .connection, fault: .peer, rule: rule, reason: reason)
    }

    static func stream(_ stream: StreamID, _ code: ErrorCode, _ rule: String, _ reason: String) -> HTTP2Error {
        HTTP2Error(code: code, scope: .stream(stream), fault: .peer, rule: rule, reason: reason)
    }

    static func caller(_ code: ErrorCode, _ rule: String, _ reason: String) -> HTTP2Error {
        HTTP2Error(code: code, scope: .call, fault: .caller, rule: rule, reason: reason)
    }
}

/// The content of a GOAWAY frame (RFC 9113 §6.8).
public struct HTTP2GoAway: Hashable, Sendable {
    /// The last stream that the sender has processed or will process.
    public var lastStream: StreamID

    /// The reason.
    public var code: ErrorCode

    /// The sender's explanation, at most 256 bytes of it.
    public var debugData: [UInt8]
}
