internal import Glibc

/// A network interface: its state, whether it has a carrier, and its addresses, as the kernel reports them.
public struct NetworkInterface: Hashable, Sendable {
    /// The name, such as `eth0`.
    public var name: String
    /// The kernel's interface index.
    public var index: UInt32
    /// Whether this is a loopback interface.
    public var isLoopback: Bool
    /// Whether the interface is administratively up.
    public var isUp: Bool
    /// Whether the link works: the cable is plugged in, the access point is associated, the tunnel is established.
    public var hasCarrier: Bool
    /// The largest packet (MTU), in bytes; nil if the kernel does not report it.
    public var maximumPacketSize: Int?
    /// The interface's addresses, in the kernel's order.
    public var addresses: [InterfaceAddress]

    /// Creates an interface.
    @_spi(Packages) public init(
        name: String, index: UInt32, isLoopback: Bool = false, isUp: Bool = true, hasCarrier: Bool = true,
        maximumPacketSize: Int? = nil, addresses: [InterfaceAddress] = []
    ) {
        self.name = name
        self.index = index
        self.isLoopback = isLoopback
        self.isUp = isUp
        self.hasCarrier = hasCarrier
        self.maximumPacketSize = maximumPacketSize
        self.addresses = addresses
    }
}

/// An address of an interface.
public struct InterfaceAddress: Hashable, Sendable {
    /// The address.
    public var address: IPAddress
    /// The length of the network prefix, in bits.
    public var prefixLength: Int
    /// Whether duplicate address detection is still in progress (RFC 4862 §5.4).
    public var isTentative: Bool
    /// Whether another machine has the same address, so that the kernel does not use it.
    public var isDuplicate: Bool
    /// Whether this is a temporary address for outgoing connections, which is replaced from time to time (RFC 8981).
    public var isTemporary: Bool
    /// The lifetime of the address; nil if it has no end.
    public var lease: AddressLease?

    /// Creates an address.
    @_spi(Packages) public init(
        _ address: IPAddress, prefixLength: Int, isTentative: Bool = false, isDuplicate: Bool = false,
        isTemporary: Bool = false, lease: AddressLease? = nil
    ) {
        self.address = address
        self.prefixLength = prefixLength
        self.isTentative = isTentative
        self.isDuplicate = isDuplicate
        self.isTemporary = isTemporary
        self.lease = lease
    }
}

extension NetworkInterface {
    private static let switchedOn: UInt32 = 1  // IFF_UP
    private static let loopback: UInt32 = 8  // IFF_LOOPBACK
    private static let lowerUp: UInt32 = 1 << 16  // IFF_LOWER_UP
    private static let headerSize = 16  // struct ifinfomsg

    /// Creates a query for the interface with this index.
    static func query(of index: UInt32, sequence: UInt32) -> NetlinkMessage {
        var payload = [UInt8](repeating: 0, count: 4)  // family, padding, type
        for field in [index, 0, 0] { payload.appendNative(field) }  // flags, mask of changes
        return NetlinkMessage(
            type: RouteNetlink.getLink, flags: RouteNetlink.request, sequence: sequence, payload: payload)
    }

    /// Parses a link message of the kernel; nil for other messages.
    init?(_ message: NetlinkMessage) {
        guard message.type == RouteNetlink.newLink, message.payload.count >= NetworkInterface.headerSize else {
            return nil
        }
        let header = message.payload[...]
        let flags = header.native(UInt32.self, at: 8)
        let attributes = message.attributes(after: NetworkInterface.headerSize)
        guard let name = attributes[RouteNetlink.linkName] else { return nil }
        self.init(
            name: String(decoding: name.prefix { $0 != 0 }, as: UTF8.self),
            index: header.native(UInt32.self, at: 4),
            isLoopback: flags & NetworkInterface.loopback != 0,
            isUp: flags & NetworkInterface.switchedOn != 0,
            hasCarrier: flags & NetworkInterface.lowerUp != 0,
            maximumPacketSize: attributes[RouteNetlink.linkPacketSize].flatMap { bytes in
                bytes.count == 4 ? Int(bytes[...].native(UInt32.self, at: 0)) : nil
            })
    }
}

extension InterfaceAddress {
    private static let temporary: UInt32 = 0x01  // IFA_F_TEMPORARY
    private static let duplicate: UInt32 = 0x08  // IFA_F_DADFAILED
    private static let tentative: UInt32 = 0x40  // IFA_F_TENTATIVE
    private static let headerSize = 8  // struct ifaddrmsg

    /// Parses an address message of the kernel; nil for other messages. Returns the address with the index of its
    /// interface. `upTime` is the time since the machine booted.
    static func read(_ message: NetlinkMessage, upTime: Duration) -> (interface: UInt32, InterfaceAddress)? {
        guard message.type == RouteNetlink.newAddress, message.payload.count >= headerSize else { return nil }
        let header = message.payload[...]
        let attributes = message.attributes(after: headerSize)
        // On point-to-point links, IFA_ADDRESS is the peer's address and IFA_LOCAL the local one. IPv6 omits IFA_LOCAL.
        guard let octets = attributes[RouteNetlink.localAddress] ?? attributes[RouteNetlink.interfaceAddress],
            let address = IPAddress(octets: octets[...])
        else { return nil }
        let flags =
            attributes[RouteNetlink.addressFlags].flatMap { $0.count == 4 ? $0[...].native(UInt32.self, at: 0) : nil }
            ?? UInt32(message.payload[2])
        let isIPv6 = address.octets.count == 16  // for IPv4, the same bit means "secondary"
        let read = InterfaceAddress(
            address, prefixLength: Int(message.payload[1]), isTentative: flags & tentative != 0,
            isDuplicate: flags & duplicate != 0, isTemporary: isIPv6 && flags & temporary != 0,
            lease: attributes[RouteNetlink.addressTimes].flatMap { AddressLease($0, upTime: upTime) })
        return (header.native(UInt32.self, at: 4), read)
    }
}

/// The lifetime of an address assigned by DHCP or a router advertisement, and how much of it remains.
///
/// ```swift
/// if let lease = address.lease, lease.isOverdue { print(address.address, "was not renewed") }
/// ```
public struct AddressLease: Hashable, Sendable {
    /// The whole lifetime, counted from the last renewal.
    public var total: Duration
    /// The remaining lifetime.
    public var remaining: Duration

    /// Creates a lease.
    @_spi(Packages) public init(total: Duration, remaining: Duration) {
        self.total = total
        self.remaining = remaining
    }

    /// Whether the lease should have been renewed: more than seven eighths have passed. At that point a DHCP client
    /// gives up on its own server and requests the address from any other (RFC 2131 §4.4.5).
    public var isOverdue: Bool { remaining * 8 < total }
}

extension AddressLease {
    private static let size = 16  // struct ifa_cacheinfo: preferred, valid, created, updated
    private static let forever = UInt32.max

    /// Parses the kernel's `ifa_cacheinfo`: the remaining lifetime in seconds, and the last renewal in hundredths of a
    /// second since boot. Nil for an address without end, and for too few bytes.
    init?(_ bytes: [UInt8], upTime: Duration) {
        guard bytes.count >= AddressLease.size else { return nil }
        let seconds = bytes[...].native(UInt32.self, at: 4)
        if seconds == AddressLease.forever { return nil }
        let remaining = Duration.seconds(Int64(seconds))
        let renewed = Duration.milliseconds(Int64(bytes[...].native(UInt32.self, at: 12)) * 10)
        self.init(total: remaining + max(.zero, upTime - renewed), remaining: remaining)
    }
}
