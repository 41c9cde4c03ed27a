/// Departures from RFC 9112 that a parser may be told to tolerate, one named flag each.
///
/// Nothing is tolerated by default. What each flag risks is said at the flag; the page <doc:WhatWeAccept> has the table.
///
/// ```swift
/// var parser = HeadParser(.response, leniency: [.bareLineFeed, .foldedLines])
/// ```
public struct HTTPLeniency: OptionSet, Hashable, Sendable {
    /// The flags as bits.
    public let rawValue: UInt32

    /// Makes a set from bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Lines of a head may end in LF alone (RFC 9112 §2.2 allows it). Never applies to chunk lines and trailers.
    public static let bareLineFeed = HTTPLeniency(rawValue: 1 << 0)

    /// Lines of a head may end in CR alone. Only for archives of old messages: parsers that disagree about a lone CR are
    /// a classic way to smuggle requests.
    public static let bareCarriageReturn = HTTPLeniency(rawValue: 1 << 1)

    /// A field may continue on a line that begins with a space or tab; the fold reads as one space (RFC 9112 §5.2, which
    /// requires this of user agents and forbids it to servers).
    public static let foldedLines = HTTPLeniency(rawValue: 1 << 2)

    /// Spaces and tabs may stand before a field's colon. RFC 9112 §5.1 forbids it in requests.
    public static let whitespaceBeforeColon = HTTPLeniency(rawValue: 1 << 3)

    /// More than one space may separate the parts of a start line.
    public static let extraSpacesInStartLine = HTTPLeniency(rawValue: 1 << 4)

    /// Any `HTTP/digit.digit` is a version.
    public static let anyVersion = HTTPLeniency(rawValue: 1 << 5)

    /// Request targets may hold bytes above 0x7F.
    public static let nonASCIITarget = HTTPLeniency(rawValue: 1 << 6)

    /// Request targets need have none of the four forms: `*` and `host:port` with any method, relative paths.
    public static let anyTargetForm = HTTPLeniency(rawValue: 1 << 7)

    /// Field values and reason phrases may hold control characters other than NUL, CR and LF (RFC 9110 §5.5).
    public static let controlCharactersInValues = HTTPLeniency(rawValue: 1 << 8)

    /// A response that does not begin with `HTTP/` is one of HTTP/0.9: no head, all bytes are body.
    public static let headerlessResponse = HTTPLeniency(rawValue: 1 << 9)

    /// `Content-Length` may be repeated if all values are the same number (RFC 9110 §8.6).
    public static let repeatedContentLength = HTTPLeniency(rawValue: 1 << 10)

    /// `Transfer-Encoding` may stand beside `Content-Length` and wins (RFC 9112 §6.3); the message is then the last on
    /// its connection.
    public static let transferEncodingOverridesLength = HTTPLeniency(rawValue: 1 << 11)

    /// `Transfer-Encoding` is obeyed in HTTP/1.0 too; the message is then the last on its connection (RFC 9112 §6.1).
    public static let transferEncodingInHTTP10 = HTTPLeniency(rawValue: 1 << 12)

    /// Whitespace may surround `;` and `=` in chunk extensions and follow the chunk size (RFC 9112 §7.1.1, `BWS`).
    public static let whitespaceInChunkLines = HTTPLeniency(rawValue: 1 << 13)

    /// Bytes after the last message of a connection are surplus instead of an error.
    public static let dataAfterLastMessage = HTTPLeniency(rawValue: 1 << 14)

    /// Requests of HTTP/1.1 need not have a `Host`. RFC 9112 §3.2 makes servers refuse such requests.
    public static let missingHost = HTTPLeniency(rawValue: 1 << 15)

    /// Transfer codings that RFC 9112 §7 does not register may be named.
    public static let unknownTransferCodings = HTTPLeniency(rawValue: 1 << 16)

    /// Trailer fields that frame, route or authenticate (RFC 9110 §6.5.1) are dropped from a body's trailer section, and
    /// kept apart in ``BodyDecoder/droppedTrailers``; without this flag they are an error.
    public static let forbiddenTrailers = HTTPLeniency(rawValue: 1 << 17)

    /// Those that concern the form of the bytes, which serializing a message restores.
    static let forms: HTTPLeniency = [
        .bareLineFeed, .bareCarriageReturn, .foldedLines, .whitespaceBeforeColon, .extraSpacesInStartLine,
        .controlCharactersInValues,
    ]

    /// Nothing: RFC 9112 to the letter, with the few exceptions that <doc:WhatWeAccept> lists.
    public static let strict: HTTPLeniency = []

    /// What a user agent should tolerate in responses. Beside bare line feeds in the head, this is what RFC 9112
    /// requires of user agents (folds) or leaves to the recipient where every client agrees (length rules), plus surplus
    /// after the last message, which a client throws away with the connection, and trailers that must not be trailers, which
    /// it drops.
    public static let client: HTTPLeniency = [
        .bareLineFeed, .foldedLines, .repeatedContentLength, .transferEncodingOverridesLength,
        .transferEncodingInHTTP10, .dataAfterLastMessage, .forbiddenTrailers,
    ]
}
