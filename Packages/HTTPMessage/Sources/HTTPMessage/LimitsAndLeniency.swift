/// A set of deviations from RFC 9112 that a parser tolerates.
///
/// By default, parsers tolerate no deviation. <doc:WhatWeAccept> lists all flags with their RFC sections.
///
/// ```swift
/// var parser = HeadParser(.response, leniency: [.bareLineFeed, .foldedLines])
/// ```
public struct HTTPLeniency: OptionSet, Hashable, Sendable {
    /// The flags as bits.
    public let rawValue: UInt32

    /// Creates a set from bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Accepts lines of a head that end in LF alone, as RFC 9112 §2.2 allows. Never applies to chunk lines and trailers.
    public static let bareLineFeed = HTTPLeniency(rawValue: 1 << 0)

    /// Accepts lines of a head that end in CR alone.
    ///
    /// Use this only for archives of old messages: request smuggling often exploits parsers that disagree about a lone CR.
    public static let bareCarriageReturn = HTTPLeniency(rawValue: 1 << 1)

    /// Accepts fields that continue on a line that begins with a space or tab. The fold counts as one space.
    ///
    /// RFC 9112 §5.2 requires this of user agents and forbids it to servers.
    public static let foldedLines = HTTPLeniency(rawValue: 1 << 2)

    /// Accepts spaces and tabs before a field's colon, except that of a field on which the length of the message depends. RFC 9112 §5.1 requires
    /// servers to reject them.
    public static let whitespaceBeforeColon = HTTPLeniency(rawValue: 1 << 3)

    /// Accepts more than one space between the parts of a start line.
    public static let extraSpacesInStartLine = HTTPLeniency(rawValue: 1 << 4)

    /// Accepts any version of the form `HTTP/digit.digit`.
    public static let anyVersion = HTTPLeniency(rawValue: 1 << 5)

    /// Accepts request targets that contain bytes above 0x7F.
    public static let nonASCIITarget = HTTPLeniency(rawValue: 1 << 6)

    /// Accepts request targets in any form: `*` and `host:port` with any method, relative paths, and targets with a fragment or a user.
    public static let anyTargetForm = HTTPLeniency(rawValue: 1 << 7)

    /// Accepts control characters other than NUL, CR and LF in field values and reason phrases (RFC 9110 §5.5).
    ///
    /// They are kept in the value as a string, and are spaces in a head that is serialized. A program that prints values on a terminal
    /// prints the serialized ones (``HTTPFields/forEachRawField(_:)``).
    public static let controlCharactersInValues = HTTPLeniency(rawValue: 1 << 8)

    /// Treats a response that does not begin with `HTTP/` as HTTP/0.9: it has no head, and all bytes are body.
    public static let headerlessResponse = HTTPLeniency(rawValue: 1 << 9)

    /// Accepts a repeated `Content-Length` if all values have the same digits (RFC 9110 §8.6). `030` beside `30` is refused: a parser that
    /// reads octal numbers would see two lengths. The values are read as a list, in which elements may be empty: `5,` is 5.
    public static let repeatedContentLength = HTTPLeniency(rawValue: 1 << 10)

    /// Accepts `Transfer-Encoding` together with `Content-Length`, and ignores the latter (RFC 9112 §6.3).
    ///
    /// The message is then the last on its connection.
    public static let transferEncodingOverridesLength = HTTPLeniency(rawValue: 1 << 11)

    /// Obeys `Transfer-Encoding` in HTTP/1.0 messages. The message is then the last on its connection (RFC 9112 §6.1).
    public static let transferEncodingInHTTP10 = HTTPLeniency(rawValue: 1 << 12)

    /// Accepts whitespace around `;` and `=` in chunk extensions and after the chunk size (RFC 9112 §7.1.1, `BWS`).
    public static let whitespaceInChunkLines = HTTPLeniency(rawValue: 1 << 13)

    /// Reports bytes after the last message of a connection as surplus instead of throwing an error.
    public static let dataAfterLastMessage = HTTPLeniency(rawValue: 1 << 14)

    /// Accepts HTTP/1.1 requests without `Host`, which RFC 9112 §3.2 requires servers to reject.
    public static let missingHost = HTTPLeniency(rawValue: 1 << 15)

    /// Accepts transfer codings that are not registered by RFC 9112 §7.
    public static let unknownTransferCodings = HTTPLeniency(rawValue: 1 << 16)

    /// Drops trailer fields that frame, route or authenticate a message (RFC 9110 §6.5.1) instead of throwing an error.
    ///
    /// The dropped fields are in ``BodyDecoder/droppedTrailers``.
    public static let forbiddenTrailers = HTTPLeniency(rawValue: 1 << 17)

    /// Accepts spaces and tabs between a chunk size and the end of its line, or a `;`.
    ///
    /// Some servers reserve four columns for the size, such as those of microcontrollers. The digits end at the first blank, so there is
    /// no doubt about the number. A client's chunks are never accepted in this form.
    public static let paddedChunkSizes = HTTPLeniency(rawValue: 1 << 18)

    /// Accepts the status line `ICY 200 OK` of radio streams (SHOUTcast) as one of HTTP/1.0. The rest of the head is HTTP.
    public static let shoutcastStatusLine = HTTPLeniency(rawValue: 1 << 19)

    /// Accepts chunk lines with empty extensions, such as `5;` and `5;;a` (RFC 9112 §7.1.1).
    public static let emptyChunkExtensions = HTTPLeniency(rawValue: 1 << 20)

    /// Accepts empty elements in `Transfer-Encoding`, such as `chunked,`, and empty fields beside a valid one (RFC 9110 §5.6.1).
    public static let emptyTransferCodings = HTTPLeniency(rawValue: 1 << 21)

    /// The flags for deviations in syntax. A head that was accepted with one of them is rewritten when it is
    /// serialized.
    static let syntax: HTTPLeniency = [
        .bareLineFeed, .bareCarriageReturn, .foldedLines, .whitespaceBeforeColon, .extraSpacesInStartLine,
        .controlCharactersInValues, .shoutcastStatusLine,
    ]

    /// The empty set: parsers follow RFC 9112 to the letter, with the few exceptions that <doc:WhatWeAccept> lists.
    public static let strict: HTTPLeniency = []

    /// The deviations that a user agent should tolerate in responses.
    ///
    /// RFC 9112 requires user agents to accept folded lines, and allows recipients to accept lone line feeds in the
    /// head. It lets the recipient decide about conflicting lengths, and all common clients resolve them alike. Bytes
    /// after the last message are discarded with the connection, and forbidden trailer fields are dropped. Blanks after a
    /// chunk size and around the parts of chunk extensions are skipped, and so are empty extensions and transfer codings. Control
    /// characters in a value delimit nothing. Radio streams begin with `ICY`.
    public static let client: HTTPLeniency = [
        .bareLineFeed, .foldedLines, .repeatedContentLength, .transferEncodingOverridesLength,
        .transferEncodingInHTTP10, .dataAfterLastMessage, .forbiddenTrailers, .paddedChunkSizes,
        .whitespaceInChunkLines, .emptyChunkExtensions, .emptyTransferCodings, .shoutcastStatusLine,
        .controlCharactersInValues, .whitespaceBeforeColon,
    ]
}

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

    /// The maximum number of empty lines that a parser skips before a start line (RFC 9112 §2.2). 8 by default.
    public var leadingEmptyLines = 8

    /// The maximum total length of the chunk extensions of a body, in bytes. 16 KiB by default.
    public var chunkExtensionLength = 16 * 1024

    /// The maximum length of a body, in bytes without its chunked framing. Unlimited by default.
    ///
    /// Decoders deliver a body as it arrives and do not buffer it. ``AnyHTTPMessage``, however, collects it in memory:
    /// set this limit if the bytes come from an untrusted peer.
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
