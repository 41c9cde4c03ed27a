/// How much of a message a peer may make this package hold. Exceeding a limit is an error, never a truncation.
///
/// ```swift
/// var limits = HTTPLimits.default
/// limits.fieldCount = 64
/// let parser = HeadParser(.request, limits: limits)
/// ```
public struct HTTPLimits: Hashable, Sendable {
    /// Bytes of one line of a head or trailer section, without its line end. 64 KiB; at most 1 GiB counts.
    public var lineLength = 64 * 1024

    /// Bytes of a head, or of a trailer section, in all. 256 KiB; at most 1 GiB counts.
    public var headLength = 256 * 1024

    /// Field lines in a head or trailer section. 256.
    public var fieldCount = 256

    /// Empty lines skipped before a start line (RFC 9112 §2.2). 8.
    public var leadingEmptyLines = 8

    /// Bytes of chunk extensions in one body, in all. 16 KiB.
    public var chunkExtensionLength = 16 * 1024

    /// Bytes of a body after its transfer codings are undone. No limit, because bodies are handed on as they come and
    /// not held; ``MessageParser`` and ``AnyHTTPMessage`` say what they hold.
    public var bodyLength = Int64.max

    /// Interim responses (1xx) before a final one. 16; RFC 9110 §15.2 names no limit.
    public static let interimResponses = 16

    /// The limits stated at each property.
    public static let `default` = HTTPLimits()

    /// Makes the default limits, to be changed one by one.
    public init() {}

    var effectiveHeadLength: Int { Swift.max(0, Swift.min(headLength, 1 << 30)) }
    var effectiveLineLength: Int { Swift.max(0, Swift.min(lineLength, 1 << 30)) }
}
