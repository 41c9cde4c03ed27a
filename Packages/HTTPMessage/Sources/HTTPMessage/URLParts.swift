internal import FoundationEssentials

/// The parts of a URL's text (RFC 3986 §3), with its escapes as they are.
struct URLParts {
    /// Host and port, without the user; nil if there is no `//`.
    var authority: String?
    var path = ""
    /// With its `?`, or empty.
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
