internal import Glibc
public import HostResolver

/// Where a proxy is asked to connect to: a name or an address, and a port.
///
/// Made from what the stream was made with. Names are in the form that goes over the wire: ASCII, with international
/// labels converted (RFC 5890 §2.3.2.1). A name is never looked up here.
public struct TunnelTarget: Sendable, Hashable {
    /// The name, or the address in its text form (IPv6 without brackets).
    public let host: String
    /// The port.
    public let port: UInt16
    /// The address, if the target is one.
    public let address: IPAddress?

    /// An address and a port.
    ///
    /// - Throws: `EINVAL` for an IPv6 address with a zone, which means something on this machine only.
    public init(_ address: IPAddress, port: UInt16) throws(StreamError) {
        if case .v6(let address) = address, address.zone != nil {
            throw StreamError(posix: EINVAL, .targetNotForProxies(address.description, "its zone is known here only"))
        }
        self.address = address
        host = address.description
        self.port = port
    }

    /// A name, or an address in text form, and a port.
    ///
    /// A name may be longer than the DNS allows, as a proxy may know others than the DNS does; what a proxy's protocol
    /// cannot carry it refuses itself.
    ///
    /// - Throws: `EINVAL` for a name with bytes that no name has (control characters, spaces, `:`, `/`, `@`, …), and for one
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
                posix: EINVAL, .targetNotForProxies(host, "it has characters that host names do not have"))
        }
        self.init(host: name, address: nil, port: port)
    }

    private init(host: String, address: IPAddress?, port: UInt16) {
        self.host = host
        self.address = address
        self.port = port
    }

    /// Letters, digits, `-`, `.` and `_`: nothing that could end a line, a field or a name early.
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
    /// `host:port`, IPv6 in brackets.
    public var description: String {
        if case .v6 = address { "[\(host)]:\(port)" } else { "\(host):\(port)" }
    }
}
