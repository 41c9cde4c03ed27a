/// The path of a route: literal segments, parameters, and at the end optionally all remaining segments.
///
/// ```swift
/// let pattern: RoutePattern = "/users/:id/files/*path"
/// ```
///
/// `/users/7/files/a/b` matches with `id` = `7` and `path` = `a/b`. A parameter matches one segment that is not empty; `*path`
/// matches one or more, or a path that ends with its `/`. A `/` at the end is significant: `/users` and `/users/` are different
/// paths. Segments are compared after their percent-escapes are decoded.
///
/// A segment that contains `%2F`, the escape of `/`, is refused with a 400: as a parameter it would have several segments, such as
/// `a/../b`, for which the part of a path or of a URL that a handler makes of it is not prepared. A route for names that contain `/`
/// allows it: ``permittingSlashes``.
public struct RoutePattern: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
        case rest(String)
    }

    let segments: [Segment]
    /// Whether the parameters may contain `/`.
    private(set) var permitsSlashes = false

    /// The pattern as text.
    public let description: String

    /// The same pattern, whose parameters may contain `/`, also in parts such as `../`, from the escape `%2F`.
    ///
    /// ```swift
    /// let key: RoutePattern = "/objects/:key"
    /// router.get(key.permittingSlashes) { call in             // /objects/photos%2F2026%2F1.jpeg
    ///     try await call.respond(text: call.path["key"] ?? "")
    /// }
    /// ```
    ///
    /// Never make the path of a file of such a parameter.
    public var permittingSlashes: RoutePattern {
        var pattern = self
        pattern.permitsSlashes = true
        return pattern
    }

    /// Makes a pattern, or returns nil if the text does not begin with `/`, has an empty segment in its middle, repeats a name,
    /// has a parameter without a name, or has `*` before its last segment.
    public init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var segments: [Segment] = []
        var names: Set<String> = []
        let parts = text.unicodeScalars.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part.first {
            case nil:
                guard isLast else { return nil }
                segments.append(.literal(""))
            case ":", "*":
                let name = String(part.dropFirst())
                guard !name.isEmpty, names.insert(name).inserted, part.first == ":" || isLast else { return nil }
                segments.append(part.first == ":" ? .parameter(name) : .rest(name))
            default: segments.append(.literal(String(part)))
            }
        }
        self.segments = segments
        description = text
    }

    /// Makes a pattern from a literal.
    ///
    /// - Precondition: ``init(_:)`` accepts the text.
    public init(stringLiteral value: StaticString) {
        guard let pattern = RoutePattern(value.description) else {
            preconditionFailure("\(value) is not the path of a route")
        }
        self = pattern
    }

    /// Returns the parameters of a path, or nil if it does not match.
    func match(_ path: RoutePath) -> [String: String]? {
        var found: [String: String] = [:]
        for (index, segment) in segments.enumerated() {
            if case .rest(let name) = segment {
                guard index < path.segments.count else { return nil }
                found[name] = path.segments[index...].joined(separator: "/")
                return found
            }
            guard index < path.segments.count else { return nil }
            let text = path.segments[index]
            switch segment {
            case .literal(let literal): if !literal.utf8.elementsEqual(text.utf8) { return nil }
            case .parameter(let name):
                if text.isEmpty { return nil }
                found[name] = text
            case .rest: break
            }
        }
        return path.segments.count == segments.count ? found : nil
    }

    /// Whether the pattern matches the same paths as another: they differ in the names of parameters only.
    func hasShape(of other: RoutePattern) -> Bool { rank == other.rank && literals == other.literals }

    /// Orders patterns: a literal is preferred to a parameter, and that to `*`, from the left.
    var rank: [Int] {
        segments.map {
            switch $0 {
            case .literal: 0
            case .parameter: 1
            case .rest: 2
            }
        }
    }

    private var literals: [String] {
        segments.compactMap { if case .literal(let text) = $0 { text } else { nil } }
    }
}

/// The path of a request, split into decoded segments.
struct RoutePath: Hashable, Sendable {
    let segments: [String]
    /// Whether a segment contains a `/`, which was escaped.
    let hasSlashes: Bool

    /// Returns nil for a path with an invalid escape, a NUL, or a `.` or `..` segment, decoded or not: clients remove those (RFC
    /// 3986 §5.2.4), so they serve only to confuse a server.
    init?(_ path: String) {
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        var segments: [String] = []
        for part in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let text = PercentCoding.decode(part), text != ".", text != "..", !text.utf8.contains(0) else {
                return nil
            }
            segments.append(text)
        }
        self.segments = segments
        hasSlashes = segments.contains { $0.utf8.contains(UInt8(ascii: "/")) }
    }
}
