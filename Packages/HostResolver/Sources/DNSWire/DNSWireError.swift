/// The reason why a DNS message cannot be decoded or encoded. Switch on ``code``; print the error for a sentence.
///
/// ```swift
/// do throws(DNSWireError) {
///     let answer = try DNSMessage(wire: bytes)
///     print(answer.answers)
/// } catch {
///     print(error)              // "malformed DNS message: truncated name, at byte 12"
/// }
/// ```
public struct DNSWireError: Error, Hashable, Sendable {
    /// The kinds of failure. A minor release may add cases.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable {
        /// The bytes violate the format, or exceed a limit of the decoder.
        case malformed
        /// The message, a record or a text is longer than its length field allows.
        case tooLarge
    }

    /// The kind of failure.
    public let code: Code
    /// What is wrong; for a malformed message, also at which byte.
    public let detail: String

    /// Creates an error.
    public init(_ code: Code, detail: String) {
        self.code = code
        self.detail = detail
    }
}

extension DNSWireError: CustomStringConvertible {
    /// One sentence for people.
    public var description: String {
        switch code {
        case .malformed: "malformed DNS message: \(detail)"
        case .tooLarge: "the DNS message cannot be encoded: \(detail)"
        }
    }
}
