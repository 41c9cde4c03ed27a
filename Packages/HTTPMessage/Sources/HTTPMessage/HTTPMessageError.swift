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
    /// The kind of the error.
    public var code: Code

    /// The offset of the invalid byte, counted from the first byte of the head, body or component that was given.
    ///
    /// Nil if no single byte causes the error.
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

extension HTTPMessageError {
    /// The kind of an error. Minor releases may add cases.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A method that is not a token.
        case invalidMethod
        /// A request target that has none of the four forms, or a form that its method does not allow.
        case invalidTarget
        /// A start line whose parts are not separated by single spaces.
        case malformedStartLine
        /// A protocol version that is not `HTTP/`, a digit, a dot and a digit.
        case malformedVersion
        /// A protocol version other than 1.0 and 1.1.
        case unsupportedVersion
        /// A status code that is not a number from 100 to 999.
        case invalidStatusCode
        /// A control character in a reason phrase.
        case invalidReasonPhrase
        /// A field name that is not a token, or a field that is not allowed in a trailer section to be sent.
        case invalidFieldName
        /// A field line without a colon.
        case missingColon
        /// Whitespace between a field's name and its colon.
        case whitespaceBeforeColon
        /// A control character, such as NUL, CR or LF, in a field value.
        case invalidFieldValue
        /// A line that continues the previous field (obsolete line folding).
        case foldedLine
        /// Whitespace before the first field.
        case leadingWhitespace
        /// A carriage return that is not followed by a line feed.
        case bareCarriageReturn
        /// A line feed that does not follow a carriage return.
        case bareLineFeed
        /// More empty lines before a message than ``HTTPLimits/leadingEmptyLines``.
        case tooManyEmptyLines
        /// A line longer than ``HTTPLimits/lineLength``.
        case lineTooLong
        /// More fields than ``HTTPLimits/fieldCount``.
        case tooManyFields
        /// A head longer than ``HTTPLimits/headLength``.
        case headTooLong
        /// An HTTP/1.1 request without `Host`.
        case missingHost
        /// More than one `Host`.
        case repeatedHost
        /// A `Host` that is not a host with an optional port.
        case invalidHost
        /// A `Content-Length` that is not a decimal number, or is too large.
        case invalidContentLength
        /// More than one `Content-Length`.
        case repeatedContentLength
        /// A `Transfer-Encoding` that is not a list of codings, or in which `chunked` is not the last coding or occurs twice.
        ///
        /// Also a request's `Transfer-Encoding` without `chunked`.
        case invalidTransferEncoding
        /// A transfer coding that is not registered, so that the body cannot be decoded.
        case unknownTransferCoding
        /// `Transfer-Encoding` and `Content-Length` in one message.
        case conflictingFraming
        /// `Transfer-Encoding` in an HTTP/1.0 message.
        case transferEncodingInHTTP10
        /// A chunk size that is not a hexadecimal number, or is too large.
        case invalidChunkSize
        /// A chunk extension that is not `;name` or `;name=value`.
        case invalidChunkExtension
        /// Chunk extensions longer than ``HTTPLimits/chunkExtensionLength``.
        case chunkExtensionsTooLong
        /// A chunk whose data or size line is not followed by CR LF.
        case invalidChunkDelimiter
        /// A trailer field that frames, routes or authenticates the message.
        case forbiddenTrailer
        /// A body longer than ``HTTPLimits/bodyLength``.
        case bodyTooLong
        /// A message that is incomplete when the stream ends.
        case truncated
        /// Bytes after the last message of a connection.
        case dataAfterLastMessage
        /// The use of a parser that has already failed or finished.
        case parserFinished
        /// A message that cannot be used yet because its head is incomplete.
        case incompleteMessage
        /// A message, or a part of one, that the state of an ``ExchangeMachine`` does not allow.
        case outOfOrder
        /// More interim responses than ``HTTPLimits/interimResponses``.
        case tooManyInterimResponses
        /// More requests without a response than ``PendingRequests/maximumCount``.
        case tooManyPendingRequests
        /// A URL that cannot be requested: its host is missing, or its path does not begin with `/`.
        case invalidURL
    }
}

/// The error numbers that CFNetwork uses for HTTP failures, for code that compares them.
///
/// The raw value is the code in the stream error domain for HTTP, whose number is 4. ``cfErrorCode`` is the
/// corresponding code in `kCFErrorDomainCFNetwork`. An HTTP status is never an error number.
///
/// ```swift
/// HTTPErrorNumber.parseFailure.rawValue     // -1
/// HTTPErrorNumber.parseFailure.cfErrorCode  // 303
/// ```
///
/// Replaces `kCFStreamErrorHTTP…` and `kCFErrorHTTP…`.
public enum HTTPErrorNumber: Int, CaseIterable, Sendable {
    /// The response is not valid HTTP. Replaces `kCFStreamErrorHTTPParseFailure`.
    case parseFailure = -1
    /// A redirect leads to a URL that was already requested. Replaces `kCFStreamErrorHTTPRedirectionLoop`.
    case redirectionLoop = -2
    /// The URL cannot be requested. Replaces `kCFStreamErrorHTTPBadURL`.
    case badURL = -3
    /// The peer closed the connection within a message. CFNetwork has no public name for this number.
    case connectionLost = -4
    /// No challenge has a usable scheme. Replaces `kCFStreamErrorHTTPAuthenticationTypeUnsupported`.
    case authenticationTypeUnsupported = -1000
    /// The server rejected the user name. Replaces `kCFStreamErrorHTTPAuthenticationBadUserName`.
    case badUserName = -1001
    /// The server rejected the password. Replaces `kCFStreamErrorHTTPAuthenticationBadPassword`.
    case badPassword = -1002

    /// The corresponding code in `kCFErrorDomainCFNetwork`.
    public var cfErrorCode: Int {
        switch self {
        case .authenticationTypeUnsupported: 300
        case .badUserName, .badPassword: 301
        case .connectionLost: 302
        case .parseFailure: 303
        case .redirectionLoop: 304
        case .badURL: 305
        }
    }

    /// The numbers of proxy failures, which exist in `kCFErrorDomainCFNetwork` only.
    public enum ProxyError: Int, CaseIterable, Sendable {
        /// The connection to the proxy failed. Replaces `kCFErrorHTTPProxyConnectionFailure`.
        case connectionFailure = 306
        /// The proxy rejected the credentials. Replaces `kCFErrorHTTPBadProxyCredentials`.
        case badCredentials = 307
        /// The proxy configuration file (PAC) could not be used. Replaces `kCFErrorPACFileError`.
        case automaticConfigurationFile = 308
        /// The server of the proxy configuration file requires authentication. Replaces `kCFErrorPACFileAuth`.
        case automaticConfigurationFileAuthentication = 309
        /// The tunnel through the proxy could not be established. Replaces `kCFErrorHTTPSProxyConnectionFailure`.
        case tunnelConnectionFailure = 310
        /// The proxy's response to `CONNECT` is not a success.
        ///
        /// Replaces `kCFStreamErrorHTTPSProxyFailureUnexpectedResponseToCONNECTMethod`.
        case unexpectedResponseToConnect = 311
    }
}

extension HTTPMessageError {
    /// The number that CFNetwork uses for this error. Nil for mistakes of the caller, which CFNetwork does not report.
    public var number: HTTPErrorNumber? {
        switch (fault, code) {
        case (_, .invalidURL): .badURL
        case (.caller, _): nil
        case (.peer, .truncated): .connectionLost
        case (.peer, _): .parseFailure
        }
    }
}

extension HTTPMessageError.Code {
    fileprivate var sentence: String { wording.sentence }
    fileprivate var rule: String { wording.rule }

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
        case .tooManyPendingRequests:
            ("more requests without a response than allowed", "limit PendingRequests.maximumCount")
        case .invalidURL: ("the URL has no usable scheme, host or path", "RFC 9110 §4.2")
        }
    }
}
