/// A protocol version, such as `HTTP/1.1`.
///
/// ```swift
/// let request = try HTTPRequest(method: .get, target: "/", version: .http10)
/// print(request.version)  // HTTP/1.0
/// ```
///
/// By default, parsers accept versions 1.0 and 1.1 only. Messages of any version can be created and serialized.
public struct HTTPVersion: Hashable, Sendable, BitwiseCopyable {
    /// The digit before the dot.
    public var major: UInt8

    /// The digit after the dot.
    public var minor: UInt8

    /// Creates a version (RFC 9112 §2.3).
    ///
    /// - Precondition: both numbers are from 0 to 9.
    public init(major: UInt8, minor: UInt8) {
        precondition(major <= 9 && minor <= 9, "each part of an HTTP version must be one digit")
        self.major = major
        self.minor = minor
    }

    /// The version of responses without a head. CFNetwork has no constant for it.
    public static let http09 = HTTPVersion(unchecked: 0, 9)
    /// HTTP/1.0. Replaces `kCFHTTPVersion1_0`.
    public static let http10 = HTTPVersion(unchecked: 1, 0)
    /// HTTP/1.1. Replaces `kCFHTTPVersion1_1`.
    public static let http11 = HTTPVersion(unchecked: 1, 1)
    /// HTTP/2. Replaces `kCFHTTPVersion2_0`.
    public static let http20 = HTTPVersion(unchecked: 2, 0)
    /// HTTP/3. Replaces `kCFHTTPVersion3_0`.
    public static let http30 = HTTPVersion(unchecked: 3, 0)

    init(unchecked major: UInt8, _ minor: UInt8) {
        self.major = major
        self.minor = minor
    }
}

extension HTTPVersion: Comparable, CustomStringConvertible {
    /// Whether the first version is lower.
    public static func < (a: HTTPVersion, b: HTTPVersion) -> Bool {
        (a.major, a.minor) < (b.major, b.minor)
    }

    /// The version as in a start line, such as `HTTP/1.1`.
    public var description: String { "HTTP/\(major).\(minor)" }
}
