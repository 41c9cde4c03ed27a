/// A request method: any token, letter case kept (RFC 9110 §9.1).
///
/// ```swift
/// let method = HTTPMethod("PROPFIND")  // nil for text that is not a token
/// method?.isIdempotent                 // false: nothing is known about it
/// HTTPMethod.put.isIdempotent          // true
/// ```
public struct HTTPMethod: Hashable, Sendable {
    /// The method as on the wire.
    public let name: String

    /// Makes a method; nil unless `name` is a token.
    public init?(_ name: String) {
        guard HTTPGrammar.isToken(name.utf8) else { return nil }
        self.name = name
    }

    init(unchecked name: String) {
        self.name = name
    }

    /// `CONNECT`: open a tunnel.
    public static let connect = HTTPMethod(unchecked: "CONNECT")
    /// `DELETE`.
    public static let delete = HTTPMethod(unchecked: "DELETE")
    /// `GET`.
    public static let get = HTTPMethod(unchecked: "GET")
    /// `HEAD`: like `GET`, and the response has no body.
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

    /// Whether the method asks for no change on the server (RFC 9110 §9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Whether sending the request twice means the same as sending it once, so that a client may retry it by itself
    /// (RFC 9110 §9.2.2). False for methods this package does not know.
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }
}

extension HTTPMethod: CustomStringConvertible, ExpressibleByStringLiteral {
    /// The method as on the wire.
    public var description: String { name }

    /// Makes a method from a literal, which must be a token.
    public init(stringLiteral value: StaticString) {
        let name = value.description
        precondition(HTTPGrammar.isToken(name.utf8), "a method must be a token (RFC 9110 §9.1)")
        self.init(unchecked: name)
    }
}
