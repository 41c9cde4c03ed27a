public import FoundationEssentials

/// The target of a request, in one of the four forms of RFC 9112 §3.2, stored in wire format.
///
/// ```swift
/// let target: RequestTarget = "/index.html?lang=en"
/// target.path                                     // "/index.html"
/// RequestTarget(authority: "example.org:443")     // for CONNECT
/// RequestTarget.asterisk                          // for OPTIONS
/// ```
public struct RequestTarget: Hashable, Sendable {
    /// The bytes of the target in wire format.
    public let bytes: [UInt8]

    /// The forms of request targets.
    public enum Form: Hashable, Sendable {
        /// `/path?query`, for requests to an origin server.
        case origin
        /// `http://host/path`, for requests to a proxy.
        case absolute
        /// `host:port`, for `CONNECT`.
        case authority
        /// `*`, for `OPTIONS`.
        case asterisk
    }

    /// The target `*`: the server as a whole.
    public static let asterisk = RequestTarget(unchecked: [UInt8(ascii: "*")])

    /// Creates a target, or nil if the text has none of the four forms, or contains an invalid character, a fragment (`#`) or a user.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy(HTTPGrammar.isTargetByte), !Self.hasUser(bytes), Self.form(of: bytes) != nil else {
            return nil
        }
        self.bytes = bytes
    }

    /// Creates a target for `CONNECT`, or nil if the text is not of the form `host:port`.
    public init?(authority: String) {
        let bytes = Array(authority.utf8)
        guard Self.isAuthority(bytes, requiresPort: true) else { return nil }
        self.bytes = bytes
    }

    /// Creates a target in origin form: the path and query of a URL.
    ///
    /// An empty path becomes `/`. Percent-escapes are unchanged. Throws ``HTTPMessageError/Code/invalidURL`` if the URL's path
    /// does not begin with `/`.
    public init(origin url: URL) throws(HTTPMessageError) {
        try self.init(URLParts(url))
    }

    /// Creates a target in origin form, after a prefix that makes it absolute.
    private init(_ parts: URLParts, after prefix: [UInt8] = []) throws(HTTPMessageError) {
        let path = parts.path.isEmpty ? [UInt8(ascii: "/")] : parts.path
        let bytes = prefix + path + parts.query
        guard path.first == UInt8(ascii: "/"), bytes.allSatisfy(HTTPGrammar.isTargetByte), Self.form(of: bytes) != nil
        else {
            throw HTTPMessageError(.invalidURL, fault: .caller)
        }
        self.bytes = bytes
    }

    /// Creates a target in absolute form: the whole URL without its fragment, user and password.
    ///
    /// Throws ``HTTPMessageError/Code/invalidURL`` if the URL has no scheme or host.
    public init(absolute url: URL) throws(HTTPMessageError) {
        let parts = URLParts(url)
        guard let scheme = parts.scheme, let authority = parts.authority, !authority.isEmpty else {
            throw HTTPMessageError(.invalidURL, fault: .caller)
        }
        try self.init(parts, after: Array(scheme + "://".utf8 + authority))
    }

    init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns whether bytes are a host with an optional port, without a user (RFC 9110 §7.2), as `Host` and HTTP/2's `:authority` are.
    @_spi(Packages) public static func isAuthority(_ bytes: RawSpan, requiresPort: Bool = false) -> Bool {
        bytes.withUnsafeBytes { isAuthority($0, requiresPort: requiresPort) }
    }

    /// The form of the target. Nil for an invalid target that was accepted with ``HTTPLeniency/anyTargetForm``.
    public var form: Form? { Self.form(of: bytes) }

    /// The path of a target in origin or absolute form, without the query. Nil for the other forms.
    public var path: String? { components.map { HTTPGrammar.text($0.path) } }

    /// The query: the text after the `?`. Nil if the target has no query.
    public var query: String? { components?.query.map { HTTPGrammar.text($0) } }

    /// The host and port of a target in absolute or authority form, as written. Nil for the other forms.
    /// ``HTTPRequest/authority`` is that of any request.
    public var authority: String? {
        switch form {
        case .authority: return HTTPGrammar.text(bytes)
        case .absolute:
            guard let start = Self.authorityStart(bytes) else { return nil }
            let end = bytes[start...].firstIndex(where: Self.endsAuthority) ?? bytes.endIndex
            let authority = bytes[start..<end]
            let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
            return HTTPGrammar.text(host)
        case .origin, .asterisk, nil: return nil
        }
    }

    /// The target as a URL: absolute for a target in absolute form, relative for one in origin form.
    ///
    /// Nil for `*` and `host:port`, and for targets that `URL` rejects.
    public var url: URL? {
        switch form {
        case .origin, .absolute: URL(string: description)
        case .authority, .asterisk, nil: nil
        }
    }
}

extension RequestTarget: CustomStringConvertible, ExpressibleByStringLiteral {
    /// The target as text.
    public var description: String { HTTPGrammar.text(bytes) }

    /// Creates a target from a literal.
    ///
    /// - Precondition: `value` has one of the four forms.
    public init(stringLiteral value: StaticString) {
        guard let target = RequestTarget(value.description) else {
            preconditionFailure("a request target must have one of the forms of RFC 9112 §3.2")
        }
        self = target
    }
}

extension RequestTarget {
    /// Returns the form of a target (RFC 9112 §3.2), or nil if the bytes are not a valid target.
    static func form(of bytes: some RandomAccessCollection<UInt8>) -> Form? {
        guard let first = bytes.first else { return nil }
        if first == UInt8(ascii: "/") { return .origin }
        if first == UInt8(ascii: "*") { return bytes.count == 1 ? .asterisk : nil }
        if isAuthority(bytes, requiresPort: true) { return .authority }
        return isAbsolute(bytes) ? .absolute : nil
    }

    /// Returns the leniencies with which alone a parser accepts a target; none for one that is valid with this method.
    static func deviations(of target: UnsafeRawBufferPointer, method: UnsafeRawBufferPointer) -> HTTPLeniency {
        var deviations = HTTPLeniency.strict
        if target.contains(where: { $0 > 0x7F }) { deviations.insert(.nonASCIITarget) }
        let isAllowed = form(of: target).map { isForm($0, allowedFor: method) } ?? false
        if !isAllowed || hasUser(target) || target.contains(HTTPGrammar.hash) { deviations.insert(.anyTargetForm) }
        return deviations
    }

    /// Returns whether the target is absolute and has a user. No target has one (RFC 9110 §4.2.4): programs disagree on where the
    /// host of such a target begins.
    static func hasUser(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
        guard bytes.first != UInt8(ascii: "/"), let start = authorityStart(bytes) else { return false }
        return bytes[start...].prefix { !endsAuthority($0) }.contains(UInt8(ascii: "@"))
    }

    /// Returns whether a method allows a form: `host:port` is for `CONNECT` only, `*` for `OPTIONS` only (RFC 9112 §3.2).
    static func isForm(_ form: Form, allowedFor method: some Collection<UInt8>) -> Bool {
        switch form {
        case .authority: method.elementsEqual("CONNECT".utf8)
        case .asterisk: method.elementsEqual("OPTIONS".utf8)
        case .origin, .absolute: !method.elementsEqual("CONNECT".utf8)
        }
    }

    /// Returns whether the bytes are `uri-host [ ":" port ]` (RFC 9110 §7.2), without a user.
    ///
    /// The host is a name, an IPv4 address, or an IP literal in brackets.
    static func isAuthority<Bytes: RandomAccessCollection<UInt8>>(_ bytes: Bytes, requiresPort: Bool) -> Bool {
        let rest: Bytes.SubSequence
        if bytes.first == UInt8(ascii: "[") {
            guard let close = bytes.firstIndex(of: UInt8(ascii: "]")),
                isIPLiteral(bytes[bytes.startIndex..<close].dropFirst())
            else { return false }
            rest = bytes[bytes.index(after: close)...]
        } else {
            let end = bytes.firstIndex { !HTTPGrammar.isHostName($0) } ?? bytes.endIndex
            guard end > bytes.startIndex else { return false }
            rest = bytes[end...]
        }
        if rest.isEmpty { return !requiresPort }
        guard rest.first == HTTPGrammar.colon else { return false }
        let port = rest.dropFirst()
        guard port.allSatisfy(HTTPGrammar.isDigit), port.count <= 5 else { return false }
        let number = port.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return port.isEmpty ? !requiresPort : number <= 65535 && (number > 0 || !requiresPort)
    }

    /// Returns whether the bytes are `scheme "://" [ user "@" ] host`, followed by a path or query (RFC 9110 §4.2).
    ///
    /// Requires a valid host for every scheme, because a proxy connects to it.
    private static func isAbsolute(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
        guard let colon = bytes.firstIndex(of: HTTPGrammar.colon), let first = bytes.first,
            HTTPGrammar.lowercased(first) &- UInt8(ascii: "a") < 26
        else { return false }
        let isScheme = bytes[..<colon].allSatisfy {
            HTTPGrammar.lowercased($0) &- UInt8(ascii: "a") < 26 || HTTPGrammar.isDigit($0)
                || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
        }
        let rest = bytes[bytes.index(after: colon)...]
        guard isScheme, rest.starts(with: "//".utf8) else { return false }
        let authority = rest.dropFirst(2).prefix { !endsAuthority($0) }
        // The user part cannot contain @ (RFC 3986 §3.2.1). With a second @, parsers disagree on where the host begins.
        let host = authority.firstIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] }
        return isAuthority(host ?? authority, requiresPort: false)
    }

    /// Returns whether the bytes are an IP literal without its brackets (RFC 3986 §3.2.2): an IPv6 address with an optional
    /// zone, or an address of a future version.
    private static func isIPLiteral(_ literal: some BidirectionalCollection<UInt8>) -> Bool {
        let address = literal.prefix { $0 != UInt8(ascii: "%") }
        let zone = literal.dropFirst(address.count)
        return address.count > 1 && address.allSatisfy { $0 == HTTPGrammar.colon || HTTPGrammar.isHostName($0) }
            && (zone.isEmpty || zone.count > 1 && zone.dropFirst().allSatisfy(isUnreserved))
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        HTTPGrammar.isDigit(byte) || HTTPGrammar.lowercased(byte) &- UInt8(ascii: "a") < 26
            || "-._~".utf8.contains(byte)
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    /// The index behind `scheme://`; nil if the target does not begin with it.
    private static func authorityStart<Bytes: RandomAccessCollection<UInt8>>(_ bytes: Bytes) -> Bytes.Index? {
        guard let colon = bytes.firstIndex(of: HTTPGrammar.colon), bytes[colon...].dropFirst().starts(with: "//".utf8)
        else { return nil }
        return bytes.index(colon, offsetBy: 3)
    }

    /// The path and query of a target in origin or absolute form, without the fragment.
    private var components: (path: ArraySlice<UInt8>, query: ArraySlice<UInt8>?)? {
        var rest: ArraySlice<UInt8>
        switch form {
        case .origin: rest = bytes[...]
        case .absolute:
            let start = Self.authorityStart(bytes) ?? 0
            let end = bytes[start...].firstIndex(where: Self.endsAuthority) ?? bytes.endIndex
            rest = bytes[end...]
        case .authority, .asterisk, nil: return nil
        }
        if let fragment = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        guard let mark = rest.firstIndex(of: UInt8(ascii: "?")) else { return (rest, nil) }
        return (rest[..<mark], rest[(mark + 1)...])
    }
}

/// The components of a URL's text (RFC 3986 §3), with percent-escapes unchanged.
struct URLParts {
    /// The scheme as written. Nil for a relative URL.
    private(set) var scheme: ArraySlice<UInt8>?
    /// The host and port without the user. Nil if the URL has no `//`.
    private(set) var authority: ArraySlice<UInt8>?
    private(set) var path: ArraySlice<UInt8>
    /// The query including its `?`, or nothing.
    private(set) var query: ArraySlice<UInt8> = []

    init(_ url: URL) {
        var rest = Array(url.absoluteString.utf8)[...]
        if let fragment = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[mark...]
            rest = rest[..<mark]
        }
        if let end = rest.firstIndex(where: { $0 == HTTPGrammar.colon || $0 == UInt8(ascii: "/") }),
            rest[end] == HTTPGrammar.colon
        {
            scheme = rest[..<end]
            rest = rest[(end + 1)...]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            let user = rest[..<end].lastIndex(of: UInt8(ascii: "@"))
            authority = rest[(user.map { $0 + 1 } ?? rest.startIndex)..<end]
            rest = rest[end...]
        }
        path = rest
    }
}

extension HTTPRequest {
    /// Creates a request with a method and a target that are not literals.
    ///
    /// ```swift
    /// let request = try HTTPRequest(method: words[0], target: words[1])
    /// ```
    ///
    /// Throws ``HTTPMessageError/Code/invalidMethod`` or ``HTTPMessageError/Code/invalidTarget`` for a text that is not one, and the
    /// errors of the initializer with a ``RequestTarget``.
    @_disfavoredOverload
    public init(method: String, target: String, version: HTTPVersion = .http11) throws(HTTPMessageError) {
        guard let method = HTTPMethod(method) else { throw HTTPMessageError(.invalidMethod, fault: .caller) }
        try self.init(method: method, target: target, version: version)
    }

    /// Creates a request with a target that is not a literal.
    ///
    /// Throws ``HTTPMessageError/Code/invalidTarget`` for a text that is no target, and the errors of the initializer with a
    /// ``RequestTarget``.
    @_disfavoredOverload
    public init(method: HTTPMethod, target: String, version: HTTPVersion = .http11) throws(HTTPMessageError) {
        guard let target = RequestTarget(target) else { throw HTTPMessageError(.invalidTarget, fault: .caller) }
        try self.init(method: method, target: target, version: version)
    }
}
