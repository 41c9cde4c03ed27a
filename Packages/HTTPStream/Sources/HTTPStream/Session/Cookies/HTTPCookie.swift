public import HTTPMessage
internal import HostResolver
public import StreamKit

/// A cookie: a name and a value, and the URLs whose requests carry them (RFC 6265bis).
///
/// An ``HTTPSession`` receives and sends cookies by itself. A program makes one in order to put it into an ``HTTPCookies``:
///
/// ```swift
/// let cookie = try HTTPCookie(name: "language", value: "de", domain: "www.example.org")
/// HTTPCookies().set(cookie)
/// ```
///
/// Replaces `NSHTTPCookie`.
public struct HTTPCookie: Hashable, Sendable {
    /// The attribute `SameSite`: whether a request carries the cookie that another site has caused.
    ///
    /// For a session, another site causes a request if a redirect leads there from the site that the application named. Requests
    /// to the site that the application named carry all cookies, even after a redirect by way of another site (RFC 6265bis §5.2).
    @nonexhaustive
    public enum SameSite: String, Hashable, Sendable {
        /// Not sent after a redirect from another site.
        case strict = "Strict"
        /// Sent after a redirect from another site with a safe method only, such as GET.
        case lax = "Lax"
        /// Always sent. Cookies without the attribute are treated the same.
        case none = "None"
    }

    /// The maximum number of bytes of name and value together.
    package static let maximumLength = 4096

    /// The name as bytes, since a server may send any encoding.
    let rawName: [UInt8]
    /// The value as bytes.
    let rawValue: [UInt8]

    /// The host that set the cookie, or the domain whose hosts receive it; in lower case.
    public let domain: String

    /// Whether only the host ``domain`` itself receives the cookie; if not, its subdomains do as well.
    public let isHostOnly: Bool

    /// The path whose resources receive the cookie: `/a` includes `/a/b`, but not `/ab`.
    public let path: String

    /// When the cookie ceases to exist; nil for a cookie that ends with the session.
    public let expiry: HTTPDate?

    /// Whether the cookie is sent over `https` and to this machine only.
    public let isSecure: Bool

    /// Whether the cookie is meant for HTTP only, and not for scripts of a page.
    public let isHTTPOnly: Bool

    /// The attribute `SameSite`; nil if the cookie has none.
    public let sameSite: SameSite?

    /// Makes a cookie.
    ///
    /// - Parameters:
    ///   - name: The name, without `=`, `;` and control characters.
    ///   - value: The value, without `;` and control characters.
    ///   - domain: The host, or the domain with all of its hosts. A dot before the domain, as in older notation, is dropped.
    ///   - isHostOnly: Whether only the host itself receives the cookie.
    ///   - path: The path, beginning with a slash.
    ///   - expiry: When the cookie ceases to exist; nil for the end of the session.
    ///   - isSecure: Whether the cookie is sent over `https` only.
    ///   - isHTTPOnly: Whether the cookie is meant for HTTP only.
    ///   - sameSite: The attribute `SameSite`.
    /// - Throws: `EINVAL` for a name, value, domain or path that cannot be sent.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expiry: HTTPDate? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil
    ) throws(StreamError) {
        var domain = domain.lowercased()
        if !isHostOnly, domain.hasPrefix(".") { domain.removeFirst() }
        let isHost = IPAddress(domain) != nil || !domain.utf8.contains { ":/@[]".utf8.contains($0) }
        let cookie = HTTPCookie(
            rawName: Array(name.utf8), rawValue: Array(value.utf8), domain: domain, isHostOnly: isHostOnly, path: path,
            expiry: expiry, isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite)
        guard cookie.isValid, isHost, !domain.hasPrefix(".") else { throw .invalidCookie }
        self = cookie
    }

    init(
        rawName: [UInt8], rawValue: [UInt8], domain: String, isHostOnly: Bool, path: String, expiry: HTTPDate?,
        isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite?
    ) {
        self.rawName = rawName
        self.rawValue = rawValue
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.expiry = expiry
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
    }

    /// The name, decoded as UTF-8; empty for a cookie that has a value only.
    public var name: String { String(decoding: rawName, as: UTF8.self) }

    /// The value, decoded as UTF-8. Bytes in another encoding are sent as they were received.
    public var value: String { String(decoding: rawValue, as: UTF8.self) }

    /// The part of a `Cookie` field: `name=value`, or the value alone if the name is empty.
    var pair: [UInt8] { rawName.isEmpty ? rawValue : rawName + [UInt8(ascii: "=")] + rawValue }

    /// Whether the cookie does not exist at a time, in seconds since 1970.
    func isExpired(at now: Int64) -> Bool { expiry.map { $0.secondsSinceEpoch <= now } ?? false }

    /// Whether a cookie that was not parsed from a field can be sent, and would be parsed as itself.
    var isValid: Bool {
        func isText(_ bytes: some Sequence<UInt8>) -> Bool {
            bytes.allSatisfy { !SetCookie.isControl($0) && $0 != UInt8(ascii: ";") }
        }
        func isTrimmed(_ bytes: [UInt8]) -> Bool { SetCookie.trimmed(bytes[...]).count == bytes.count }
        return isText(rawName) && isText(rawValue) && isTrimmed(rawName) && isTrimmed(rawValue)
            && !rawName.contains(UInt8(ascii: "=")) && !(rawName.isEmpty && rawValue.isEmpty)
            && !(rawName.isEmpty && rawValue.contains(UInt8(ascii: "=")))
            && rawName.count + rawValue.count <= HTTPCookie.maximumLength
            && !domain.isEmpty && domain.utf8.count <= SetCookie.maximumAttributeLength
            && domain.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
            && path.utf8.first == UInt8(ascii: "/") && isText(path.utf8)
            && path.utf8.count <= SetCookie.maximumAttributeLength
    }
}

extension HTTPCookie: CustomStringConvertible {
    /// The name and the attributes, without the value, which may be a secret.
    public var description: String {
        var text = "\(name)=…; \(isHostOnly ? "Host" : "Domain")=\(domain); Path=\(path)"
        if let expiry { text += "; Expires=\(expiry)" }
        if isSecure { text += "; Secure" }
        if isHTTPOnly { text += "; HttpOnly" }
        if let sameSite { text += "; SameSite=\(sameSite.rawValue)" }
        return text
    }
}
