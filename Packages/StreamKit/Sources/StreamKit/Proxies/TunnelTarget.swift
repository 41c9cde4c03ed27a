internal import Glibc
public import HostResolver

/// The target that a proxy is asked to connect to: a name or an address, and a port.
///
/// Made from the target of the stream. A name is in the form sent to the proxy: ASCII, with international labels
/// converted (RFC 5890 §2.3.2.1). It is never looked up here.
public struct TunnelTarget: Sendable, Hashable {
    /// The name, or the address in its text form (IPv6 without brackets).
    public let host: String
    /// The port.
    public let port: UInt16
    /// The address, if the target is one.
    public let address: IPAddress?

    /// Makes a target from an address and a port.
    ///
    /// - Throws: `EINVAL` for an IPv6 address with a zone, which is valid only on this machine.
    public init(_ address: IPAddress, port: UInt16) throws(StreamError) {
        if case .v6(let address) = address, address.zone != nil {
            throw StreamError(
                posix: EINVAL, .targetNotForProxies(address.description, "its zone is valid only on this machine"))
        }
        self.address = address
        host = address.description
        self.port = port
    }

    /// Makes a target from a name, or from an address in text form, and a port.
    ///
    /// A name may be longer than the DNS allows, because a proxy may know names from elsewhere. The proxy's protocol
    /// refuses a name that it cannot carry.
    ///
    /// - Throws: `EINVAL` for a name with invalid bytes (control characters, spaces, `:`, `/`, `@`, …), and for one
    ///   that cannot be converted.
    public init(host: String, port: UInt16) throws(StreamError) {
        if let address = IPAddress(host) {
            try self.init(address, port: port)
            return
        }
        var name = host
        if !host.utf8.allSatisfy({ $0 < 0x80 }) {
            do throws(ResolverError) {
                let converted = try HostName(host)
                if let address = converted.address {
                    self.init(host: address.description, address: address, port: port)
                    return
                }
                name = converted.ascii
            } catch {
                throw StreamError(posix: EINVAL, .targetNotForProxies(host, error.description), underlying: error)
            }
        }
        guard !name.isEmpty, name.utf8.allSatisfy(TunnelTarget.isNameByte) else {
            throw StreamError(
                posix: EINVAL, .targetNotForProxies(host, "it contains characters that are invalid in host names"))
        }
        self.init(host: name, address: nil, port: port)
    }

    private init(host: String, address: IPAddress?, port: UInt16) {
        self.host = host
        self.address = address
        self.port = port
    }

    /// Letters, digits, `-`, `.` and `_`: no byte that could end a line, a field or a name early.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }
}

extension TunnelTarget: CustomStringConvertible {
    /// `host:port`, with IPv6 in brackets.
    public var description: String {
        if case .v6 = address { "[\(host)]:\(port)" } else { "\(host):\(port)" }
    }
}
