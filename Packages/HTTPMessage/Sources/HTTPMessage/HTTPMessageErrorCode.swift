extension HTTPMessageError {
    /// What went wrong. Cases may be added in a minor release.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A method that is not a token.
        case invalidMethod
        /// A request target in none of the four forms, or in one that does not go with the method.
        case invalidTarget
        /// A start line whose parts are not separated by single spaces.
        case malformedStartLine
        /// Not `HTTP/` with one digit, a dot and one digit.
        case malformedVersion
        /// A version other than 1.0 and 1.1.
        case unsupportedVersion
        /// A status code that is not three digits from 100 to 999.
        case invalidStatusCode
        /// A control character in a reason phrase.
        case invalidReasonPhrase
        /// A field name that is empty or holds a byte that no token may hold.
        case invalidFieldName
        /// A field line without a colon.
        case missingColon
        /// A space or tab between a field's name and its colon.
        case whitespaceBeforeColon
        /// A control character (NUL, CR, LF, …) in a field value.
        case invalidFieldValue
        /// A line that continues the field before it.
        case foldedLine
        /// A space or tab before the first field.
        case leadingWhitespace
        /// A carriage return that no line feed follows.
        case bareCarriageReturn
        /// A line feed without its carriage return.
        case bareLineFeed
        /// More empty lines before a message than are skipped.
        case tooManyEmptyLines
        /// A line longer than ``HTTPLimits/lineLength``.
        case lineTooLong
        /// More fields than ``HTTPLimits/fieldCount``.
        case tooManyFields
        /// A head longer than ``HTTPLimits/headLength``.
        case headTooLong
        /// No `Host` in an HTTP/1.1 request, where it was required.
        case missingHost
        /// More than one `Host`.
        case repeatedHost
        /// A `Host` that is not a host with an optional port.
        case invalidHost
        /// A `Content-Length` that is not a number of digits, or too large.
        case invalidContentLength
        /// More than one `Content-Length`.
        case repeatedContentLength
        /// A `Transfer-Encoding` that is not a list of codings, or has `chunked` elsewhere than once at the end.
        case invalidTransferEncoding
        /// A transfer coding that is not registered, so that nobody can know what the body is.
        case unknownTransferCoding
        /// `Transfer-Encoding` and `Content-Length` in one message.
        case conflictingFraming
        /// `Transfer-Encoding` in a message of HTTP/1.0.
        case transferEncodingInHTTP10
        /// A chunk size that is not hexadecimal digits, or too large.
        case invalidChunkSize
        /// A chunk extension that is not `;name` or `;name=value`.
        case invalidChunkExtension
        /// Chunk extensions longer than ``HTTPLimits/chunkExtensionLength``.
        case chunkExtensionsTooLong
        /// A chunk whose data is not followed by CR LF, or whose size line does not end in it.
        case invalidChunkDelimiter
        /// A trailer field that says how to frame, route or authenticate the message.
        case forbiddenTrailer
        /// A body longer than ``HTTPLimits/bodyLength``.
        case bodyTooLong
        /// The peer ended the stream within a message.
        case truncated
        /// Bytes after a message that was said to be the last.
        case dataAfterLastMessage
        /// Bytes given to a parser that has failed or has finished.
        case parserFinished
        /// A message that cannot be written because a part of it is missing.
        case incompleteMessage
        /// A message, or a part of one, that the state of the exchange does not allow: ``ExchangeMachine``.
        case outOfOrder
        /// More interim responses than ``HTTPLimits/interimResponses``.
        case tooManyInterimResponses
        /// A URL that names no host, or that is neither relative nor of a scheme with an authority.
        case invalidURL
    }
}

extension HTTPMessageError.Code {
    var sentence: String { wording.sentence }
    var rule: String { wording.rule }

    private var wording: (sentence: String, rule: String) {
        switch self {
        case .invalidMethod: ("the method is empty or contains an invalid character", "RFC 9110 §9.1")
        case .invalidTarget: ("the request target is invalid for its method", "RFC 9112 §3.2")
        case .malformedStartLine: ("the parts of the start line are not separated by single spaces", "RFC 9112 §3")
        case .malformedVersion: ("the protocol version does not have the form HTTP/1.1", "RFC 9112 §2.3")
        case .unsupportedVersion: ("the protocol version is neither HTTP/1.0 nor HTTP/1.1", "RFC 9112 §2.3")
        case .invalidStatusCode: ("the status code is not a number from 100 to 999", "RFC 9112 §4")
        case .invalidReasonPhrase: ("the reason phrase contains a control character", "RFC 9112 §4")
        case .invalidFieldName: ("the field name is empty or contains an invalid character", "RFC 9110 §5.1")
        case .missingColon: ("the field line has no colon", "RFC 9112 §5")
        case .whitespaceBeforeColon: ("whitespace before the colon", "RFC 9112 §5.1")
        case .invalidFieldValue: ("the field value contains a control character", "RFC 9110 §5.5")
        case .foldedLine: ("obsolete line folding", "RFC 9112 §5.2")
        case .leadingWhitespace: ("whitespace before the first field", "RFC 9112 §2.2")
        case .bareCarriageReturn: ("a carriage return without a line feed", "RFC 9112 §2.2")
        case .bareLineFeed: ("a line feed without a carriage return", "RFC 9112 §2.2")
        case .tooManyEmptyLines: ("too many empty lines before the message", "limit leadingEmptyLines")
        case .lineTooLong: ("a line is longer than allowed", "limit lineLength")
        case .tooManyFields: ("more fields than allowed", "limit fieldCount")
        case .headTooLong: ("the head is longer than allowed", "limit headLength")
        case .missingHost: ("the request has no Host field", "RFC 9112 §3.2")
        case .repeatedHost: ("the request has more than one Host field", "RFC 9112 §3.2")
        case .invalidHost: ("the Host field is not a host with an optional port", "RFC 9112 §3.2")
        case .invalidContentLength: ("the Content-Length is not a decimal number or is too large", "RFC 9110 §8.6")
        case .repeatedContentLength: ("the message has more than one Content-Length", "RFC 9110 §8.6")
        case .invalidTransferEncoding:
            ("the Transfer-Encoding is malformed or does not end in one chunked coding", "RFC 9112 §6.1")
        case .unknownTransferCoding: ("the Transfer-Encoding names an unknown coding", "RFC 9112 §6.1")
        case .conflictingFraming: ("the message has both Transfer-Encoding and Content-Length", "RFC 9112 §6.3")
        case .transferEncodingInHTTP10: ("Transfer-Encoding in an HTTP/1.0 message", "RFC 9112 §6.1")
        case .invalidChunkSize: ("the chunk size is not a hexadecimal number or is too large", "RFC 9112 §7.1")
        case .invalidChunkExtension: ("the chunk extension is malformed", "RFC 9112 §7.1.1")
        case .chunkExtensionsTooLong: ("the chunk extensions are longer than allowed", "limit chunkExtensionLength")
        case .invalidChunkDelimiter: ("a chunk or its size line does not end in CR LF", "RFC 9112 §7.1")
        case .forbiddenTrailer:
            ("the trailer section contains a field that frames, routes or authenticates the message", "RFC 9110 §6.5.1")
        case .bodyTooLong: ("the body is longer than allowed", "limit bodyLength")
        case .truncated: ("the stream ended before the message was complete", "RFC 9112 §8")
        case .dataAfterLastMessage: ("data after the last message of the connection", "RFC 9112 §9.6")
        case .parserFinished: ("the parser has already finished or failed", "API")
        case .incompleteMessage: ("the message is incomplete", "API")
        case .outOfOrder: ("the exchange does not allow this message now", "RFC 9112 §9")
        case .tooManyInterimResponses: ("more interim responses than allowed", "limit interimResponses")
        case .invalidURL: ("the URL has no usable scheme, host or path", "RFC 9110 §4.2")
        }
    }
}
