internal import Glibc

/// What kind of addresses a socket uses: the first argument of `socket(2)`.
///
/// An open set: `SocketFamily(rawValue: AF_BLUETOOTH)` is as good as the named ones.
public struct SocketFamily: RawRepresentable, Sendable, Hashable {
    /// The C number.
    public let rawValue: Int32

    /// The family with the C number `rawValue`.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// IPv4. The C name is `AF_INET`.
    public static let ipv4 = SocketFamily(rawValue: AF_INET)
    /// IPv6, and IPv4 through it unless ``SocketOption/isIPv6Only``. The C name is `AF_INET6`.
    public static let ipv6 = SocketFamily(rawValue: AF_INET6)
    /// Within this machine. The C name is `AF_UNIX`.
    public static let unix = SocketFamily(rawValue: AF_UNIX)
}

extension SocketFamily: CustomStringConvertible {
    /// `IPv4`, `IPv6`, `Unix`, or the number.
    public var description: String {
        switch self {
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        case .unix: "Unix"
        default: "family \(rawValue)"
        }
    }
}
