internal import Glibc

/// An address family: the first argument of `socket(2)`.
///
/// Any number is valid, such as `SocketFamily(rawValue: AF_BLUETOOTH)`.
public struct SocketFamily: RawRepresentable, Sendable, Hashable {
    /// The C constant.
    public let rawValue: Int32

    /// Makes a family from its C constant.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// IPv4. The C name is `AF_INET`.
    public static let ipv4 = SocketFamily(rawValue: AF_INET)
    /// IPv6, including IPv4 unless ``SocketOption/isIPv6Only`` is set. The C name is `AF_INET6`.
    public static let ipv6 = SocketFamily(rawValue: AF_INET6)
    /// Local sockets. The C name is `AF_UNIX`.
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
