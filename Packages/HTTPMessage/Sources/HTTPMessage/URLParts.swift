internal import FoundationEssentials

/// The components of a URL's text (RFC 3986 §3), with percent-escapes unchanged.
struct URLParts {
    /// The host and port without the user. Nil if the URL has no `//`.
    var authority: String?
    var path = ""
    /// The query including its `?`, or an empty string.
    var query = ""

    init(_ url: URL) {
        var rest = Substring(url.absoluteString)
        if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[mark...])
            rest = rest[..<mark]
        }
        if let scheme = url.scheme, rest.hasPrefix(scheme + ":") { rest = rest.dropFirst(scheme.count + 1) }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            let authority = rest[..<end]
            self.authority = String(
                authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority)
            rest = rest[end...]
        }
        path = String(rest)
    }
}
