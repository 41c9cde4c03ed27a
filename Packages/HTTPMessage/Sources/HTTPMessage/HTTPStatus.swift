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

    /// `200 OK`.
    public static let ok = HTTPStatus(unchecked: 200)
    /// `100 Continue`.
    public static let `continue` = HTTPStatus(unchecked: 100)
    /// `101 Switching Protocols`: the connection carries another protocol from here on.
    public static let switchingProtocols = HTTPStatus(unchecked: 101)
    /// `204 No Content`.
    public static let noContent = HTTPStatus(unchecked: 204)
    /// `206 Partial Content`.
    public static let partialContent = HTTPStatus(unchecked: 206)
    /// `304 Not Modified`.
    public static let notModified = HTTPStatus(unchecked: 304)
    /// `400 Bad Request`.
    public static let badRequest = HTTPStatus(unchecked: 400)
    /// `401 Unauthorized`: the origin server requires credentials.
    public static let unauthorized = HTTPStatus(unchecked: 401)
    /// `404 Not Found`.
    public static let notFound = HTTPStatus(unchecked: 404)
    /// `407 Proxy Authentication Required`: the proxy requires credentials.
    public static let proxyAuthenticationRequired = HTTPStatus(unchecked: 407)

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
        Self.registeredPhrases[code] ?? genericPhrase
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

    /// Creates a status from a literal.
    ///
    /// - Precondition: `value` is from 100 to 999.
    public init(integerLiteral value: Int) {
        precondition((100...999).contains(value), "a status code must be from 100 to 999")
        self.init(unchecked: value)
    }
}
