/// The name of a field: a token, compared without regard to letter case, shown as it was written (RFC 9110 §5.1).
///
/// ```swift
/// HTTPFieldName("HOST") == .host                 // true
/// HTTPFieldName("x-request-id")?.canonicalName   // "X-Request-Id"
/// HTTPFieldName("not a name")                    // nil
/// ```
public struct HTTPFieldName: Sendable {
    /// The name in the letter case it was made or received with.
    public let name: String

    /// Makes a name; nil unless it is a token.
    public init?(_ name: String) {
        guard HTTPGrammar.isToken(name.utf8) else { return nil }
        self.name = name
    }

    init(unchecked name: String) {
        self.name = name
    }

    /// The name with the first letter of each dash-separated part in upper case and all others in lower case.
    public var canonicalName: String {
        var startsPart = true
        let bytes = name.utf8.map { byte -> UInt8 in
            defer { startsPart = byte == UInt8(ascii: "-") }
            return startsPart ? HTTPGrammar.uppercased(byte) : HTTPGrammar.lowercased(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HTTPFieldName: Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// Compares without regard to the case of ASCII letters.
    public static func == (a: HTTPFieldName, b: HTTPFieldName) -> Bool {
        HTTPGrammar.equalsIgnoringCase(a.name.utf8, b.name.utf8)
    }

    /// Hashes without regard to the case of ASCII letters.
    public func hash(into hasher: inout Hasher) {
        for byte in name.utf8 { hasher.combine(HTTPGrammar.lowercased(byte)) }
    }

    /// The name as it was written.
    public var description: String { name }

    /// Makes a name from a literal, which must be a token.
    public init(stringLiteral value: StaticString) {
        let name = value.description
        precondition(HTTPGrammar.isToken(name.utf8), "a field name must be a token (RFC 9110 §5.1)")
        self.init(unchecked: name)
    }
}

extension HTTPFieldName {
    /// `Accept`.
    public static let accept = HTTPFieldName(unchecked: "Accept")
    /// `Accept-Encoding`.
    public static let acceptEncoding = HTTPFieldName(unchecked: "Accept-Encoding")
    /// `Accept-Language`.
    public static let acceptLanguage = HTTPFieldName(unchecked: "Accept-Language")
    /// `Accept-Ranges`.
    public static let acceptRanges = HTTPFieldName(unchecked: "Accept-Ranges")
    /// `Authentication-Info`.
    public static let authenticationInfo = HTTPFieldName(unchecked: "Authentication-Info")
    /// `Authorization`.
    public static let authorization = HTTPFieldName(unchecked: "Authorization")
    /// `Cache-Control`.
    public static let cacheControl = HTTPFieldName(unchecked: "Cache-Control")
    /// `Connection`.
    public static let connection = HTTPFieldName(unchecked: "Connection")
    /// `Content-Disposition`.
    public static let contentDisposition = HTTPFieldName(unchecked: "Content-Disposition")
    /// `Content-Encoding`.
    public static let contentEncoding = HTTPFieldName(unchecked: "Content-Encoding")
    /// `Content-Length`.
    public static let contentLength = HTTPFieldName(unchecked: "Content-Length")
    /// `Content-Range`.
    public static let contentRange = HTTPFieldName(unchecked: "Content-Range")
    /// `Content-Type`.
    public static let contentType = HTTPFieldName(unchecked: "Content-Type")
    /// `Cookie`.
    public static let cookie = HTTPFieldName(unchecked: "Cookie")
    /// `Date`.
    public static let date = HTTPFieldName(unchecked: "Date")
    /// `ETag`.
    public static let entityTag = HTTPFieldName(unchecked: "ETag")
    /// `Expect`.
    public static let expect = HTTPFieldName(unchecked: "Expect")
    /// `Host`.
    public static let host = HTTPFieldName(unchecked: "Host")
    /// `If-Match`.
    public static let ifMatch = HTTPFieldName(unchecked: "If-Match")
    /// `If-Modified-Since`.
    public static let ifModifiedSince = HTTPFieldName(unchecked: "If-Modified-Since")
    /// `If-None-Match`.
    public static let ifNoneMatch = HTTPFieldName(unchecked: "If-None-Match")
    /// `If-Range`.
    public static let ifRange = HTTPFieldName(unchecked: "If-Range")
    /// `Last-Modified`.
    public static let lastModified = HTTPFieldName(unchecked: "Last-Modified")
    /// `Location`.
    public static let location = HTTPFieldName(unchecked: "Location")
    /// `Proxy-Authenticate`.
    public static let proxyAuthenticate = HTTPFieldName(unchecked: "Proxy-Authenticate")
    /// `Proxy-Authentication-Info`.
    public static let proxyAuthenticationInfo = HTTPFieldName(unchecked: "Proxy-Authentication-Info")
    /// `Proxy-Authorization`.
    public static let proxyAuthorization = HTTPFieldName(unchecked: "Proxy-Authorization")
    /// `Proxy-Connection`, which no RFC defines and some peers obey.
    public static let proxyConnection = HTTPFieldName(unchecked: "Proxy-Connection")
    /// `Range`.
    public static let range = HTTPFieldName(unchecked: "Range")
    /// `Retry-After`.
    public static let retryAfter = HTTPFieldName(unchecked: "Retry-After")
    /// `Server`.
    public static let server = HTTPFieldName(unchecked: "Server")
    /// `Set-Cookie`, the one field whose values cannot be joined.
    public static let setCookie = HTTPFieldName(unchecked: "Set-Cookie")
    /// `TE`.
    public static let te = HTTPFieldName(unchecked: "TE")
    /// `Trailer`.
    public static let trailer = HTTPFieldName(unchecked: "Trailer")
    /// `Transfer-Encoding`.
    public static let transferEncoding = HTTPFieldName(unchecked: "Transfer-Encoding")
    /// `Upgrade`.
    public static let upgrade = HTTPFieldName(unchecked: "Upgrade")
    /// `User-Agent`.
    public static let userAgent = HTTPFieldName(unchecked: "User-Agent")
    /// `Vary`.
    public static let vary = HTTPFieldName(unchecked: "Vary")
    /// `Via`.
    public static let via = HTTPFieldName(unchecked: "Via")
    /// `WWW-Authenticate`.
    public static let wwwAuthenticate = HTTPFieldName(unchecked: "WWW-Authenticate")
}

extension HTTPFieldName {
    /// Fields that say how a message is framed, where it goes and who sends it: a recipient has acted on them before any
    /// trailer comes, and one that takes them from a trailer can be deceived (RFC 9110 §6.5.1).
    static let forbiddenInTrailers: Set<HTTPFieldName> = [
        .contentLength, .transferEncoding, .host, .connection, .te, .upgrade, .expect, .authorization,
        .proxyAuthorization, .proxyAuthenticate, .wwwAuthenticate, .setCookie, .cookie,
    ]

    /// What a sender must not put into trailers besides: fields that describe the content or announce the trailers. A recipient
    /// that has read the content by then has no use for them.
    static let unsentInTrailers = forbiddenInTrailers.union([.contentEncoding, .contentType, .contentRange, .trailer])
}
