public import Glibc

/// An address to which a socket can be bound or connected.
///
/// ```swift
/// let web = SocketAddress.ip(IPAddress("2001:db8::1")!, port: 443)
/// web.withSockAddr { pointer, length in connect(descriptor, pointer, length) }
/// ```
public enum SocketAddress: Hashable, Sendable {
    /// An IP address and a port.
    case ip(IPAddress, port: UInt16)
    /// The address of a Unix-domain socket.
    case unix(UnixSocketAddress)
    /// A `sockaddr` of another family, byte for byte, so that sockets of all families can be described.
    case other([UInt8])

    /// The largest valid `sockaddr`, in bytes: the size of `sockaddr_storage`.
    public static let maximumSize = 128

    /// Creates an address from a `sockaddr` that the kernel or a C library filled in.
    ///
    /// An IPv4-mapped address (`::ffff:a.b.c.d`) remains an IPv6 address. The scope ID becomes a zone with the
    /// interface's name, or with the number itself if there is no such interface.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if there are too few bytes for the family, or more
    ///   than ``maximumSize``.
    public init(sockaddr bytes: UnsafeRawBufferPointer) throws(ResolverError) {
        guard let address = Self(decoding: bytes) else { throw ResolverError(.invalidAddress) }
        self = address
    }

    /// Creates an address from the bytes of a `sockaddr`, such as those that CFHost keeps in a `CFData`.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress``, as ``init(sockaddr:)-(UnsafeRawBufferPointer)``.
    public init(sockaddr bytes: [UInt8]) throws(ResolverError) {
        guard let address = bytes.withUnsafeBytes({ Self(decoding: $0) }) else { throw ResolverError(.invalidAddress) }
        self = address
    }

    /// Calls `body` with the address as a C `sockaddr` and returns its result. The pointer is valid during the call
    /// only.
    ///
    /// A zone that names no interface of this machine becomes an index that no interface has. The kernel then rejects
    /// the address, instead of using the wrong link.
    ///
    /// - Throws: The error that `body` throws.
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
            // The length delimits an abstract name. The length of a path includes its NUL.
            let end = address.bytes.isEmpty || address.bytes[0] == 0 ? 0 : 1
            let size = min(2 + address.bytes.count + end, MemoryLayout<sockaddr_un>.size)
            return try Self.withRebound(&c, size: size, body)
        case .other(let bytes):
            var c = sockaddr_storage()
            let size = min(bytes.count, Self.maximumSize)
            withUnsafeMutableBytes(of: &c) { $0.copyBytes(from: bytes.prefix(size)) }
            return try Self.withRebound(&c, size: size, body)
        }
    }

    /// The bytes of the C `sockaddr`.
    public var sockaddrBytes: [UInt8] {
        withSockAddr { pointer, length in
            Array(UnsafeRawBufferPointer(start: UnsafeRawPointer(pointer), count: Int(length)))
        }
    }

    /// The C address family, such as `AF_INET`, `AF_INET6` or `AF_UNIX`.
    public var family: CInt {
        switch self {
        case .ip(.v4, _): AF_INET
        case .ip(.v6, _): AF_INET6
        case .unix: AF_UNIX
        case .other(let bytes): bytes.count < 2 ? AF_UNSPEC : CInt(UInt16(bytes[0]) | UInt16(bytes[1]) << 8)
        }
    }

    /// The IP address; nil for other families.
    public var ipAddress: IPAddress? {
        if case .ip(let address, _) = self { address } else { nil }
    }

    /// The port; nil for families without ports.
    public var port: UInt16? {
        if case .ip(_, let port) = self { port } else { nil }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// The text form: `192.0.2.7:80`, `[2001:db8::1]:80`, a Unix path, or the number of another family.
    public var description: String {
        switch self {
        case .ip(.v4(let address), let port): "\(address):\(port)"
        case .ip(.v6(let address), let port): "[\(address)]:\(port)"
        case .unix(let address): address.description
        case .other: "address of family \(family)"
        }
    }

    /// Parses `192.0.2.7:80` or `[2001:db8::1]:80`; nil for all other text.
    public init?(_ text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let digits = text[text.utf8.index(after: colon)...]
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
    /// Reads the `sockaddr` of an IP address, whose size follows from its family; nil for another family.
    @_spi(Packages) public init?(ip pointer: UnsafePointer<sockaddr>) {
        let size =
            switch CInt(pointer.pointee.sa_family) {
            case AF_INET: MemoryLayout<sockaddr_in>.size
            case AF_INET6: MemoryLayout<sockaddr_in6>.size
            default: 0
            }
        self.init(decoding: UnsafeRawBufferPointer(start: pointer, count: size))
    }

    /// Does the work of ``init(sockaddr:)-(UnsafeRawBufferPointer)``; nil where that throws.
    init?(decoding bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2, bytes.count <= Self.maximumSize else { return nil }
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

/// The address of a Unix-domain socket (unix(7)): a path, an abstract name, or unnamed.
///
/// ```swift
/// let daemon = try UnixSocketAddress(path: "/run/daemon.sock")
/// let hidden = try UnixSocketAddress(abstractName: "daemon")
/// ```
public struct UnixSocketAddress: Hashable, Sendable {
    /// The longest path or abstract name, in bytes: `sun_path` has 108, of which one is for the NUL.
    public static let maximumNameLength = 107

    /// The bytes of `sun_path`: empty if unnamed, a NUL and the name if abstract, otherwise the path without its final
    /// NUL.
    let bytes: [UInt8]

    /// Creates the address of a socket in the file system.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if the path is empty, contains a NUL or is longer
    ///   than ``maximumNameLength``.
    public init(path: String) throws(ResolverError) {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count <= Self.maximumNameLength else {
            throw ResolverError(.invalidAddress, name: path)
        }
        self.bytes = bytes
    }

    /// Creates the address of a socket in Linux's abstract name space, which leaves no file behind.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if the name is empty or longer than
    ///   ``maximumNameLength``.
    public init(abstractName: String) throws(ResolverError) {
        guard !abstractName.isEmpty, abstractName.utf8.count <= Self.maximumNameLength else {
            throw ResolverError(.invalidAddress, name: abstractName)
        }
        bytes = [0] + Array(abstractName.utf8)
    }

    /// The address that the kernel reports for an unbound socket, such as a client's.
    public static let unnamed = UnixSocketAddress(kernelBytes: [])

    init(kernelBytes: [UInt8]) {
        bytes = kernelBytes
    }

    /// The path in the file system; nil for abstract and unnamed sockets.
    public var path: String? {
        bytes.first.map { $0 != 0 } == true ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// The name in the abstract name space; nil for paths and unnamed sockets.
    public var abstractName: String? {
        bytes.first == 0 ? String(decoding: bytes.dropFirst(), as: UTF8.self) : nil
    }
}

extension UnixSocketAddress: CustomStringConvertible {
    /// The path, `@name` for an abstract name (as in ss(8)), or `unnamed`.
    public var description: String {
        path ?? abstractName.map { "@" + $0 } ?? "unnamed"
    }
}

/// Conversion between a zone's text and the kernel's interface index.
enum InterfaceZone {
    /// An index that no interface has: the kernel counts up from 1.
    static let unknown = UInt32(Int32.max)

    static func index(of zone: String) -> UInt32 {
        let index = if_nametoindex(zone)
        return index != 0 ? index : UInt32(zone) ?? unknown
    }

    static func name(of index: UInt32) -> String {
        // IF_NAMESIZE is 16, including the NUL.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { buffer in
            if_indextoname(index, buffer.baseAddress!).map { String(cString: $0) } ?? String(index)
        }
    }
}

extension SocketAddress {
    /// The local address of a socket; nil if the kernel reports none.
    static func local(of descriptor: CInt) -> SocketAddress? {
        withUnsafeTemporaryAllocation(byteCount: maximumSize, alignment: 8) { buffer in
            var length = socklen_t(buffer.count)
            let pointer = buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard getsockname(descriptor, pointer, &length) == 0 else { return nil }
            return try? SocketAddress(sockaddr: UnsafeRawBufferPointer(rebasing: buffer[..<Int(length)]))
        }
    }
}
