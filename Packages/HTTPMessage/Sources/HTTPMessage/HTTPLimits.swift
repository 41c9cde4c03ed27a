/// Limits on the size of received messages. A message that exceeds a limit is an error; it is never truncated.
///
/// ```swift
/// var limits = HTTPLimits.default
/// limits.fieldCount = 64
/// let parser = HeadParser(.request, limits: limits)
/// ```
public struct HTTPLimits: Hashable, Sendable {
    /// The maximum length of a line of a head or trailer section, in bytes without the line ending.
    ///
    /// 64 KiB by default. Values above 1 GiB are treated as 1 GiB.
    public var lineLength = 64 * 1024

    /// The maximum length of a head or trailer section, in bytes.
    ///
    /// 256 KiB by default. Values above 1 GiB are treated as 1 GiB.
    public var headLength = 256 * 1024

    /// The maximum number of fields in a head or trailer section. 256 by default.
    public var fieldCount = 256

    /// The maximum number of empty lines that are skipped before a start line (RFC 9112 §2.2). 8 by default.
    public var leadingEmptyLines = 8

    /// The maximum total length of the chunk extensions of a body, in bytes. 16 KiB by default.
    public var chunkExtensionLength = 16 * 1024

    /// The maximum length of a body, in bytes without its chunked framing. Unlimited by default.
    ///
    /// Decoders deliver a body as it arrives and do not buffer it. ``AnyHTTPMessage`` holds it in memory: set this limit if the
    /// bytes come from an untrusted peer.
    public var bodyLength = Int64.max

    /// The maximum number of interim responses (1xx) before a final response: 16. RFC 9110 §15.2 specifies no limit.
    public static let interimResponses = 16

    /// The default limits, as documented for each property.
    public static let `default` = HTTPLimits()

    /// Creates the default limits.
    public init() {}

    var effectiveHeadLength: Int { Swift.max(0, Swift.min(headLength, 1 << 30)) }
    var effectiveLineLength: Int { Swift.max(0, Swift.min(lineLength, 1 << 30)) }
}
