/// An error in a received message or in a part of a message to be sent.
///
/// Switch on ``code`` to handle an error. Its description also states the violated rule and the position.
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

    /// The offset of the invalid byte, counted from the first byte of the head, body or component that was given.
    ///
    /// Nil if the error cannot be attributed to a single byte.
    public var offset: Int?

    /// The origin of the error: the peer, for received bytes, or the caller, for parts of a message to be sent.
    public var fault: Fault

    /// Creates an error, for code that adds its own rules to the parser's.
    public init(_ code: Code, offset: Int? = nil, fault: Fault = .peer) {
        self.code = code
        self.offset = offset
        self.fault = fault
    }

    /// The origin of an error.
    public enum Fault: Hashable, Sendable {
        /// The caller passed a component that cannot be part of a message, or misused the API.
        case caller
        /// The received bytes are not a valid message, or exceed a limit.
        case peer
    }
}

extension HTTPMessageError: CustomStringConvertible {
    /// The error, its position and the violated rule in one phrase.
    public var description: String {
        let position = offset.map { " at byte \($0)" } ?? ""
        return "\(code.sentence)\(position) (\(code.rule))"
    }

    /// The violated rule: a section of an RFC, or the name of a limit.
    public var rule: String { code.rule }
}
