/// A request method (RFC 9110 §9.1): any token. Letter case is significant and preserved.
///
/// ```swift
/// let method = HTTPMethod("PROPFIND")  // nil for text that is not a token
/// method?.isIdempotent                 // false: the method is unknown
/// HTTPMethod.put.isIdempotent          // true
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
