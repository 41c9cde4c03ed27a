internal import Glibc

/// A network interface as the kernel sees it: whether it is switched on, has a carrier, and which addresses it holds.
public struct NetworkInterface: Hashable, Sendable {
    /// Its name: `eth0`.
    public var name: String
    /// Its number.
    public var index: UInt32
    /// It only leads to this machine.
    public var isLoopback: Bool
    /// Somebody switched it on.
    public var isUp: Bool
    /// There is something at the other end: a plugged cable, an associated access point, a tunnel.
    public var hasCarrier: Bool
    /// Most bytes of one packet; nil if the kernel does not say.
    public var maximumPacketSize: Int?
    /// What it holds, in the kernel's order.
    public var addresses: [InterfaceAddress]

    /// Makes an interface.
    public init(
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
    /// How many of its bits name the network.
    public var prefixLength: Int
    /// The kernel has not finished looking whether somebody else has it (RFC 4862 §5.4).
    public var isTentative: Bool
    /// Somebody else has it: the kernel does not use it.
    public var isDuplicate: Bool
    /// It is for outgoing connections and is replaced by another one from time to time (RFC 8981).
    public var isTemporary: Bool
    /// How long it was given for and how much is left; nil for one that stays until it is taken away.
    public var lease: AddressLease?

    /// Makes an address.
    public init(
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

    /// The kernel's question for the interface with this number.
    static func query(of index: UInt32, sequence: UInt32) -> NetlinkMessage {
        var payload = [UInt8](repeating: 0, count: 4)  // family, padding, type
        for field in [index, 0, 0] { payload.appendNative(field) }  // flags, mask of changes
        return NetlinkMessage(
            type: RouteNetlink.getLink, flags: RouteNetlink.request, sequence: sequence, payload: payload)
    }

    /// Reads the kernel's message about a link; nil if it is none.
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

    /// Reads the kernel's message about an address, with the number of its interface; nil if it is none. `upTime` is how long
    /// the machine has been running.
    static func read(_ message: NetlinkMessage, upTime: Duration) -> (interface: UInt32, InterfaceAddress)? {
        guard message.type == RouteNetlink.newAddress, message.payload.count >= headerSize else { return nil }
        let header = message.payload[...]
        let attributes = message.attributes(after: headerSize)
        // On point-to-point links IFA_ADDRESS is the peer's; the own one is IFA_LOCAL, which IPv6 leaves out.
        guard let octets = attributes[RouteNetlink.localAddress] ?? attributes[RouteNetlink.interfaceAddress],
            let address = IPAddress(octets: octets[...])
        else { return nil }
        let flags =
            attributes[RouteNetlink.addressFlags].flatMap { $0.count == 4 ? $0[...].native(UInt32.self, at: 0) : nil }
            ?? UInt32(message.payload[2])
        let isIPv6 = address.octets.count == 16  // to IPv4 the same bit says "secondary"
        let read = InterfaceAddress(
            address, prefixLength: Int(message.payload[1]), isTentative: flags & tentative != 0,
            isDuplicate: flags & duplicate != 0, isTemporary: isIPv6 && flags & temporary != 0,
            lease: attributes[RouteNetlink.addressTimes].flatMap { AddressLease($0, upTime: upTime) })
        return (header.native(UInt32.self, at: 4), read)
    }
}
