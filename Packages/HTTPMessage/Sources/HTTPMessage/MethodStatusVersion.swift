/// A request method (RFC 9110 §9.1): any token. Letter case is significant and preserved.
///
/// ```swift
/// HTTPMethod("PROPFIND").isIdempotent  // false: the method is unknown
/// HTTPMethod.put.isIdempotent          // true
/// HTTPMethod(text)                     // nil if the text is not a token
/// ```
public struct HTTPMethod: Hashable, Sendable {
    /// The name of the method as sent in a request line.
    public let name: String

    /// Creates a method, or nil if `name` is not a token.
    public init?(_ name: String) {
        guard HTTPGrammar.isToken(name.utf8) else { return nil }
        self.name = name
    }

    init(unchecked name: String) {
        self.name = name
    }

    /// `CONNECT`: opens a tunnel.
    public static let connect = HTTPMethod(unchecked: "CONNECT")
    /// `DELETE`.
    public static let delete = HTTPMethod(unchecked: "DELETE")
    /// `GET`.
    public static let get = HTTPMethod(unchecked: "GET")
    /// `HEAD`: like `GET`, but the response has no body.
    public static let head = HTTPMethod(unchecked: "HEAD")
    /// `OPTIONS`.
    public static let options = HTTPMethod(unchecked: "OPTIONS")
    /// `PATCH` (RFC 5789).
    public static let patch = HTTPMethod(unchecked: "PATCH")
    /// `POST`.
    public static let post = HTTPMethod(unchecked: "POST")
    /// `PUT`.
    public static let put = HTTPMethod(unchecked: "PUT")
    /// `TRACE`.
    public static let trace = HTTPMethod(unchecked: "TRACE")

    /// Whether the method requests no change on the server (RFC 9110 §9.2.1). False for unknown methods.
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Whether sending a request twice has the same effect as sending it once (RFC 9110 §9.2.2).
    ///
    /// A client may retry such a request automatically. False for unknown methods.
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }
}

extension HTTPMethod: CustomStringConvertible, ExpressibleByStringLiteral {
    /// The name of the method.
    public var description: String { name }

    /// Creates a method from a literal.
    ///
    /// - Precondition: `value` is a token.
    public init(stringLiteral value: StaticString) {
        let name = value.description
        precondition(HTTPGrammar.isToken(name.utf8), "a method must be a token (RFC 9110 §9.1)")
        self.init(unchecked: name)
    }
}

/// A status code (RFC 9110 §15): a number of three digits.
///
/// ```swift
/// let status: HTTPStatus = 404
/// status.kind            // .clientError
/// status.standardPhrase  // "Not Found"
/// ```
public struct HTTPStatus: Hashable, Sendable {
    /// The number, from 100 to 999.
    public let code: Int

    /// Creates a status, or nil if `code` is not from 100 to 999. Codes from 600 are not assigned, but some servers send them.
    public init?(_ code: Int) {
        guard (100...999).contains(code) else { return nil }
        self.code = code
    }

    init(unchecked code: Int) {
        self.code = code
    }

    /// `100 Continue`: the request's body may follow.
    public static let `continue` = HTTPStatus(unchecked: 100)
    /// `101 Switching Protocols`: the connection carries another protocol from here on.
    public static let switchingProtocols = HTTPStatus(unchecked: 101)
    /// `103 Early Hints`: fields of the final response, in advance (RFC 8297).
    public static let earlyHints = HTTPStatus(unchecked: 103)
    /// `200 OK`.
    public static let ok = HTTPStatus(unchecked: 200)
    /// `201 Created`.
    public static let created = HTTPStatus(unchecked: 201)
    /// `202 Accepted`.
    public static let accepted = HTTPStatus(unchecked: 202)
    /// `203 Non-Authoritative Information`.
    public static let nonAuthoritativeInformation = HTTPStatus(unchecked: 203)
    /// `204 No Content`.
    public static let noContent = HTTPStatus(unchecked: 204)
    /// `205 Reset Content`.
    public static let resetContent = HTTPStatus(unchecked: 205)
    /// `206 Partial Content`.
    public static let partialContent = HTTPStatus(unchecked: 206)
    /// `300 Multiple Choices`.
    public static let multipleChoices = HTTPStatus(unchecked: 300)
    /// `301 Moved Permanently`.
    public static let movedPermanently = HTTPStatus(unchecked: 301)
    /// `302 Found`.
    public static let found = HTTPStatus(unchecked: 302)
    /// `303 See Other`.
    public static let seeOther = HTTPStatus(unchecked: 303)
    /// `304 Not Modified`.
    public static let notModified = HTTPStatus(unchecked: 304)
    /// `305 Use Proxy`: deprecated.
    public static let useProxy = HTTPStatus(unchecked: 305)
    /// `307 Temporary Redirect`.
    public static let temporaryRedirect = HTTPStatus(unchecked: 307)
    /// `308 Permanent Redirect`.
    public static let permanentRedirect = HTTPStatus(unchecked: 308)
    /// `400 Bad Request`.
    public static let badRequest = HTTPStatus(unchecked: 400)
    /// `401 Unauthorized`: the origin server requires credentials.
    public static let unauthorized = HTTPStatus(unchecked: 401)
    /// `402 Payment Required`.
    public static let paymentRequired = HTTPStatus(unchecked: 402)
    /// `403 Forbidden`.
    public static let forbidden = HTTPStatus(unchecked: 403)
    /// `404 Not Found`.
    public static let notFound = HTTPStatus(unchecked: 404)
    /// `405 Method Not Allowed`.
    public static let methodNotAllowed = HTTPStatus(unchecked: 405)
    /// `406 Not Acceptable`.
    public static let notAcceptable = HTTPStatus(unchecked: 406)
    /// `407 Proxy Authentication Required`: the proxy requires credentials.
    public static let proxyAuthenticationRequired = HTTPStatus(unchecked: 407)
    /// `408 Request Timeout`.
    public static let requestTimeout = HTTPStatus(unchecked: 408)
    /// `409 Conflict`.
    public static let conflict = HTTPStatus(unchecked: 409)
    /// `410 Gone`.
    public static let gone = HTTPStatus(unchecked: 410)
    /// `411 Length Required`.
    public static let lengthRequired = HTTPStatus(unchecked: 411)
    /// `412 Precondition Failed`.
    public static let preconditionFailed = HTTPStatus(unchecked: 412)
    /// `413 Content Too Large`.
    public static let contentTooLarge = HTTPStatus(unchecked: 413)
    /// `414 URI Too Long`.
    public static let uriTooLong = HTTPStatus(unchecked: 414)
    /// `415 Unsupported Media Type`.
    public static let unsupportedMediaType = HTTPStatus(unchecked: 415)
    /// `416 Range Not Satisfiable`.
    public static let rangeNotSatisfiable = HTTPStatus(unchecked: 416)
    /// `417 Expectation Failed`.
    public static let expectationFailed = HTTPStatus(unchecked: 417)
    /// `421 Misdirected Request`.
    public static let misdirectedRequest = HTTPStatus(unchecked: 421)
    /// `422 Unprocessable Content`.
    public static let unprocessableContent = HTTPStatus(unchecked: 422)
    /// `425 Too Early` (RFC 8470).
    public static let tooEarly = HTTPStatus(unchecked: 425)
    /// `426 Upgrade Required`.
    public static let upgradeRequired = HTTPStatus(unchecked: 426)
    /// `428 Precondition Required` (RFC 6585).
    public static let preconditionRequired = HTTPStatus(unchecked: 428)
    /// `429 Too Many Requests` (RFC 6585).
    public static let tooManyRequests = HTTPStatus(unchecked: 429)
    /// `431 Request Header Fields Too Large` (RFC 6585).
    public static let requestHeaderFieldsTooLarge = HTTPStatus(unchecked: 431)
    /// `451 Unavailable For Legal Reasons` (RFC 7725).
    public static let unavailableForLegalReasons = HTTPStatus(unchecked: 451)
    /// `500 Internal Server Error`.
    public static let internalServerError = HTTPStatus(unchecked: 500)
    /// `501 Not Implemented`.
    public static let notImplemented = HTTPStatus(unchecked: 501)
    /// `502 Bad Gateway`.
    public static let badGateway = HTTPStatus(unchecked: 502)
    /// `503 Service Unavailable`.
    public static let serviceUnavailable = HTTPStatus(unchecked: 503)
    /// `504 Gateway Timeout`.
    public static let gatewayTimeout = HTTPStatus(unchecked: 504)
    /// `505 HTTP Version Not Supported`.
    public static let httpVersionNotSupported = HTTPStatus(unchecked: 505)
    /// `511 Network Authentication Required` (RFC 6585).
    public static let networkAuthenticationRequired = HTTPStatus(unchecked: 511)

    /// The classes of status codes, given by the first digit (RFC 9110 §15).
    public enum Kind: Hashable, Sendable {
        /// 1xx: an interim response; the final one follows.
        case informational
        /// 2xx.
        case successful
        /// 3xx.
        case redirection
        /// 4xx.
        case clientError
        /// 5xx and all codes from 600. RFC 9110 §15 asks clients to treat the latter as 5xx.
        case serverError
    }

    /// The class of this status code.
    public var kind: Kind {
        switch code / 100 {
        case 1: .informational
        case 2: .successful
        case 3: .redirection
        case 4: .clientError
        default: .serverError
        }
    }

    /// The registered reason phrase of this code, or a phrase for its class. Never empty.
    public var standardPhrase: String {
        // Most responses need no search.
        code == 200 ? "OK" : Self.registeredPhrases[code] ?? genericPhrase
    }

    private var genericPhrase: String {
        switch kind {
        case .informational: "Informational"
        case .successful: "Success"
        case .redirection: "Redirection"
        case .clientError: "Client Error"
        case .serverError: code < 600 ? "Server Error" : "Unknown Status"
        }
    }

    /// The IANA registry of status codes. The phrase of 418, which is reserved there, is that of RFC 2324.
    private static let registeredPhrases: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required",
        408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
        416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a teapot", 421: "Misdirected Request",
        422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency", 425: "Too Early",
        426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
        507: "Insufficient Storage", 508: "Loop Detected", 510: "Not Extended",
        511: "Network Authentication Required",
    ]
}

extension HTTPStatus: CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// The three digits.
    public var description: String { String(code) }

    /// The three digits of the code.
    var bytes: InlineArray<3, UInt8> {
        let zero = UInt8(ascii: "0")
        return [zero + UInt8(code / 100), zero + UInt8(code / 10 % 10), zero + UInt8(code % 10)]
    }

    /// Creates a status from a literal.
    ///
    /// - Precondition: `value` is from 100 to 999.
    public init(integerLiteral value: Int) {
        precondition((100...999).contains(value), "a status code must be from 100 to 999")
        self.init(unchecked: value)
    }
}

/// A protocol version, such as `HTTP/1.1`.
///
/// ```swift
/// let request = try HTTPRequest(method: .get, target: "/", version: .http10)
/// print(request.version)  // HTTP/1.0
/// ```
///
/// By default, parsers accept versions 1.0 and 1.1 only. Messages of any version can be created and serialized.
public struct HTTPVersion: Hashable, Sendable, BitwiseCopyable {
    /// The digit before the dot.
    public var major: UInt8

    /// The digit after the dot.
    public var minor: UInt8

    /// Creates a version (RFC 9112 §2.3).
    ///
    /// - Precondition: both numbers are from 0 to 9.
    public init(major: UInt8, minor: UInt8) {
        precondition(major <= 9 && minor <= 9, "each part of an HTTP version must be one digit")
        self.major = major
        self.minor = minor
    }

    /// The version of responses without a head. CFNetwork has no constant for it.
    public static let http09 = HTTPVersion(unchecked: 0, 9)
    /// HTTP/1.0. Replaces `kCFHTTPVersion1_0`.
    public static let http10 = HTTPVersion(unchecked: 1, 0)
    /// HTTP/1.1. Replaces `kCFHTTPVersion1_1`.
    public static let http11 = HTTPVersion(unchecked: 1, 1)
    /// HTTP/2. Replaces `kCFHTTPVersion2_0`.
    public static let http20 = HTTPVersion(unchecked: 2, 0)
    /// HTTP/3. Replaces `kCFHTTPVersion3_0`.
    public static let http30 = HTTPVersion(unchecked: 3, 0)

    init(unchecked major: UInt8, _ minor: UInt8) {
        self.major = major
        self.minor = minor
    }
}

extension HTTPVersion: Comparable, CustomStringConvertible {
    /// Whether the first version is lower.
    public static func < (a: HTTPVersion, b: HTTPVersion) -> Bool {
        (a.major, a.minor) < (b.major, b.minor)
    }

    /// The version as in a start line, such as `HTTP/1.1`.
    public var description: String { "HTTP/\(major).\(minor)" }

    /// The bytes of ``description``.
    var bytes: InlineArray<8, UInt8> {
        let zero = UInt8(ascii: "0")
        return [
            UInt8(ascii: "H"), UInt8(ascii: "T"), UInt8(ascii: "T"), UInt8(ascii: "P"), UInt8(ascii: "/"), zero + major,
            UInt8(ascii: "."), zero + minor,
        ]
    }
}
