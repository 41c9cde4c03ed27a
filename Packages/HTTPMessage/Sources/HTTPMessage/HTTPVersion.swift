/// A protocol version, as it stands in a start line: `HTTP/1.1`.
///
/// ```swift
/// let request = try HTTPRequest(method: .get, target: "/", version: .http10)
/// print(request.version)  // HTTP/1.0
/// ```
///
/// Parsers accept 1.0 and 1.1 unless told otherwise; a message of any version can be made and written.
public struct HTTPVersion: Hashable, Sendable, BitwiseCopyable {
    /// The digit before the dot.
    public var major: UInt8

    /// The digit after the dot.
    public var minor: UInt8

    /// Makes a version; each number is one digit (RFC 9112 §2.3).
    public init(major: UInt8, minor: UInt8) {
        precondition(major <= 9 && minor <= 9, "each part of an HTTP version must be one digit")
        self.major = major
        self.minor = minor
    }

    /// Responses without a head. There is no `kCFHTTPVersion0_9`.
    public static let http09 = HTTPVersion(unchecked: 0, 9)
    /// Replaces `kCFHTTPVersion1_0`.
    public static let http10 = HTTPVersion(unchecked: 1, 0)
    /// Replaces `kCFHTTPVersion1_1`.
    public static let http11 = HTTPVersion(unchecked: 1, 1)
    /// Replaces `kCFHTTPVersion2_0`.
    public static let http20 = HTTPVersion(unchecked: 2, 0)
    /// Replaces `kCFHTTPVersion3_0`.
    public static let http30 = HTTPVersion(unchecked: 3, 0)

    init(unchecked major: UInt8, _ minor: UInt8) {
        self.major = major
        self.minor = minor
    }
}

extension HTTPVersion: Comparable, CustomStringConvertible {
    /// Orders by major, then minor number.
    public static func < (a: HTTPVersion, b: HTTPVersion) -> Bool {
        (a.major, a.minor) < (b.major, b.minor)
    }

    /// The version as on the wire.
    public var description: String { "HTTP/\(major).\(minor)" }
}
