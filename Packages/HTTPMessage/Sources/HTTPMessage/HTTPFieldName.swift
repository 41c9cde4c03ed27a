/// The name of a field (RFC 9110 §5.1): a token that is compared case-insensitively and keeps its letter case.
///
/// ```swift
/// HTTPFieldName("HOST") == .host                 // true
/// HTTPFieldName("x-request-id").canonicalName    // "X-Request-Id"
/// HTTPFieldName(text)                            // nil if the text is not a token
/// ```
public struct HTTPFieldName: Sendable {
    /// The name in its original letter case.
    public let name: String

    /// Creates a field name, or nil if `name` is not a token.
    public init?(_ name: String) {
        guard HTTPGrammar.isToken(name.utf8) else { return nil }
        self.name = name
    }

    init(unchecked name: String) {
        self.name = name
    }

    /// The name with the first letter of each part between hyphens in upper case and all other letters in lower case.
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
    /// Whether both names are equal, ignoring the case of ASCII letters.
    public static func == (a: HTTPFieldName, b: HTTPFieldName) -> Bool {
        HTTPGrammar.equalsIgnoringCase(a.name.utf8, b.name.utf8)
    }

    /// Hashes the name, ignoring the case of ASCII letters.
    public func hash(into hasher: inout Hasher) {
        for byte in name.utf8 { hasher.combine(HTTPGrammar.lowercased(byte)) }
    }

    /// The name in its original letter case.
    public var description: String { name }

    /// Creates a field name from a literal.
    ///
    /// - Precondition: `value` is a token.
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
    /// `Proxy-Connection`, which no RFC defines, but some peers obey.
    public static let proxyConnection = HTTPFieldName(unchecked: "Proxy-Connection")
    /// `Range`.
    public static let range = HTTPFieldName(unchecked: "Range")
    /// `Retry-After`.
    public static let retryAfter = HTTPFieldName(unchecked: "Retry-After")
    /// `Server`.
    public static let server = HTTPFieldName(unchecked: "Server")
    /// `Set-Cookie`, the only field whose values cannot be joined with commas.
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
    /// The fields that frame, route or authenticate a message, which are forbidden in trailers (RFC 9110 §6.5.1).
    ///
    /// A recipient has acted on these fields before the trailer section arrives. Accepting them from a trailer enables attacks.
    @_spi(Packages) public static let forbiddenInTrailers: Set<HTTPFieldName> = [
        .contentLength, .transferEncoding, .host, .connection, .te, .upgrade, .expect, .authorization,
        .proxyAuthorization, .proxyAuthenticate, .wwwAuthenticate, .setCookie, .cookie,
    ]

    /// The fields that are never sent as trailers: the forbidden ones, those that describe the content, and `Trailer`.
    ///
    /// The latter are useless to a recipient that has already read the content.
    @_spi(Packages) public static let neverSentInTrailers = forbiddenInTrailers.union([
        .contentEncoding, .contentType, .contentRange, .trailer,
    ])
}
