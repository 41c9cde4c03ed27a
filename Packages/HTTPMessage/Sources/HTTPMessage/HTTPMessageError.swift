/// Why a message was refused: by the parser because of its bytes, or by the serializer because of its parts.
///
/// Switch on ``code``; print the error for the whole story, with the rule that was broken and where.
///
/// ```swift
/// do {
///     var parser = HeadParser(.response)
///     _ = try parser.parse(Array("HTTP/1.1 200 OK\r\nName : value\r\n\r\n".utf8).span.bytes)
/// } catch {
///     print(error)  // whitespace before the colon at byte 21 (RFC 9112 §5.1)
/// }
/// ```
public struct HTTPMessageError: Error, Hashable, Sendable {
    /// What went wrong.
    public var code: Code

    /// The byte at which it went wrong, counted from the first byte of the head, body or component that was given;
    /// nil where no single byte is to blame.
    public var offset: Int?

    /// Whose mistake it is: the peer's, for bytes that were received, or the caller's, for parts that were to be sent.
    public var fault: Fault

    /// Makes an error, for code that extends the parser with rules of its own.
    public init(_ code: Code, offset: Int? = nil, fault: Fault = .peer) {
        self.code = code
        self.offset = offset
        self.fault = fault
    }

    /// Whose mistake an error reports.
    public enum Fault: Hashable, Sendable {
        /// A component handed to this package cannot be part of a message.
        case caller
        /// Received bytes are not a message, or exceed a limit.
        case peer
    }
}

extension HTTPMessageError: CustomStringConvertible {
    /// One sentence: what, where, and the rule.
    public var description: String {
        let place = offset.map { " at byte \($0)" } ?? ""
        return "\(code.sentence)\(place) (\(code.rule))"
    }

    /// The rule that was broken: a section of an RFC, or the limit or policy of this package.
    public var rule: String { code.rule }
}
