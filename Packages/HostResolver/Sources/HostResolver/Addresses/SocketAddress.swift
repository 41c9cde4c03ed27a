public import Glibc

/// An address that a socket can be bound or connected to.
///
/// ```swift
/// let web = SocketAddress.ip(IPAddress("2001:db8::1")!, port: 443)
/// web.withSockAddr { pointer, length in connect(descriptor, pointer, length) }
/// ```
public enum SocketAddress: Hashable, Sendable {
    /// A host's address and a port.
    case ip(IPAddress, port: UInt16)
    /// A Unix-domain socket.
    case unix(UnixSocketAddress)
    /// A `sockaddr` of another family, byte for byte, so that sockets of any family can be described.
    case other([UInt8])

    /// Largest `sockaddr` taken: the size of `sockaddr_storage`.
    public static let largestSize = 128

    /// Reads what the kernel or a C library filled in.
    ///
    /// A mapped IPv4 address (`::ffff:a.b.c.d`) stays IPv6. The zone of a link-local address becomes the interface's
    /// name, or its number if no interface has it.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if the bytes are too short for their family, or
    ///   more than ``largestSize``.
    public init(sockaddr bytes: UnsafeRawBufferPointer) throws(ResolverError) {
        guard let address = Self(decoding: bytes) else { throw ResolverError(.invalidAddress) }
        self = address
    }

    /// Reads a `sockaddr` kept as bytes, such as a `CFData` of CFHost's held.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress``, as ``init(sockaddr:)-(UnsafeRawBufferPointer)``.
    public init(sockaddr bytes: [UInt8]) throws(ResolverError) {
        guard let address = bytes.withUnsafeBytes({ Self(decoding: $0) }) else { throw ResolverError(.invalidAddress) }
        self = address
    }

    /// Gives the C form to `body` and returns its result; the pointer is good during the call only.
    ///
    /// A zone that names no interface of this machine becomes a number that no interface has: the kernel refuses the
    /// address then, instead of using the wrong link.
    ///
    /// - Throws: what `body` throws.
    public func withSockAddr<Result, Failure: Error>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch self {
        case .ip(.v4(let address), let port):
            var c = sockaddr_in()
            c.sin_family = sa_family_t(AF_INET)
            c.sin_port = port.bigEndian
            c.sin_addr.s_addr = address.rawValue.bigEndian
            return try Self.withRebound(&c, size: MemoryLayout<sockaddr_in>.size, body)
        case .ip(.v6(let address), let port):
            var c = sockaddr_in6()
            c.sin6_family = sa_family_t(AF_INET6)
            c.sin6_port = port.bigEndian
            let value = address.rawValue.bigEndian
            withUnsafeBytes(of: value) { source in
                withUnsafeMutableBytes(of: &c.sin6_addr) { $0.copyMemory(from: source) }
            }
            c.sin6_scope_id = address.zone.map(InterfaceZone.index(of:)) ?? 0
            return try Self.withRebound(&c, size: MemoryLayout<sockaddr_in6>.size, body)
        case .unix(let address):
            var c = sockaddr_un()
            c.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &c.sun_path) { $0.copyBytes(from: address.bytes) }
            // An abstract name ends where the length says; a path has its NUL counted.
            let end = address.bytes.isEmpty || address.bytes[0] == 0 ? 0 : 1
            let size = min(2 + address.bytes.count + end, MemoryLayout<sockaddr_un>.size)
            return try Self.withRebound(&c, size: size, body)
        case .other(let bytes):
            var c = sockaddr_storage()
            let size = min(bytes.count, Self.largestSize)
            withUnsafeMutableBytes(of: &c) { $0.copyBytes(from: bytes.prefix(size)) }
            return try Self.withRebound(&c, size: size, body)
        }
    }

    /// The bytes of the C form.
    public var sockaddrBytes: [UInt8] {
        withSockAddr { pointer, length in
            Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(pointer), count: Int(length)))
        }
    }

    /// The C address family: `AF_INET`, `AF_INET6`, `AF_UNIX` or another.
    public var family: CInt {
        switch self {
        case .ip(.v4, _): AF_INET
        case .ip(.v6, _): AF_INET6
        case .unix: AF_UNIX
        case .other(let bytes): bytes.count < 2 ? AF_UNSPEC : CInt(UInt16(bytes[0]) | UInt16(bytes[1]) << 8)
        }
    }

    /// The host's address; nil if the family has none.
    public var ipAddress: IPAddress? {
        if case .ip(let address, _) = self { address } else { nil }
    }

    /// The port; nil if the family has none.
    public var port: UInt16? {
        if case .ip(_, let port) = self { port } else { nil }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `192.0.2.7:80`, `[2001:db8::1]:80`, a Unix path, or the family's number.
    public var description: String {
        switch self {
        case .ip(.v4(let address), let port): "\(address):\(port)"
        case .ip(.v6(let address), let port): "[\(address)]:\(port)"
        case .unix(let address): address.description
        case .other: "address of family \(family)"
        }
    }

    /// Reads `192.0.2.7:80` or `[2001:db8::1]:80`; nil for anything else.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else { return nil }
        let host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            guard let address = IPv6Address(String(host.dropFirst().dropLast())) else { return nil }
            self = .ip(.v6(address), port: port)
        } else {
            guard let address = IPv4Address(String(host)) else { return nil }
            self = .ip(.v4(address), port: port)
        }
    }
}

extension SocketAddress {
    /// As ``init(sockaddr:)-(UnsafeRawBufferPointer)``; nil where that throws.
    init?(decoding bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2, bytes.count <= Self.largestSize else { return nil }
        switch CInt(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            guard bytes.count >= MemoryLayout<sockaddr_in>.size else { return nil }
            let c = bytes.loadUnaligned(as: sockaddr_in.self)
            let address = IPv4Address(rawValue: UInt32(bigEndian: c.sin_addr.s_addr))
            self = .ip(.v4(address), port: UInt16(bigEndian: c.sin_port))
        case AF_INET6:
            guard bytes.count >= MemoryLayout<sockaddr_in6>.size else { return nil }
            let c = bytes.loadUnaligned(as: sockaddr_in6.self)
            let value = withUnsafeBytes(of: c.sin6_addr) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
            let zone = c.sin6_scope_id == 0 ? nil : InterfaceZone.name(of: c.sin6_scope_id)
            let address = IPv6Address(rawValue: value, zone: zone) ?? IPv6Address(rawValue: value)
            self = .ip(.v6(address), port: UInt16(bigEndian: c.sin6_port))
        case AF_UNIX:
            var name = Array(bytes.dropFirst(2).prefix(108))
            if let first = name.first, first != 0 { name = Array(name.prefix { $0 != 0 }) }
            self = .unix(UnixSocketAddress(kernelBytes: name))
        default:
            self = .other(Array(bytes))
        }
    }

    private static func withRebound<C, Result, Failure: Error>(
        _ value: inout C, size: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafePointer(to: &value) { pointer throws(Failure) in
            try body(UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), socklen_t(size))
        }
    }
}
