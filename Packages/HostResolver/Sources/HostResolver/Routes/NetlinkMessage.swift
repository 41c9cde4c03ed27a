/// A message of the kernel's netlink protocol (netlink(7)), in this machine's byte order.
struct NetlinkMessage: Hashable {
    /// The largest datagram that is received, in bytes.
    static let maximumDatagramSize = 65_536

    var type: UInt16
    var flags: UInt16
    var sequence: UInt32
    /// The bytes after the header, without padding.
    var payload: [UInt8]

    static let headerSize = 16

    /// The message as bytes, padded to a multiple of four.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendNative(UInt32(Self.headerSize + payload.count))
        bytes.appendNative(type)
        bytes.appendNative(flags)
        bytes.appendNative(sequence)
        bytes.appendNative(UInt32(0))
        bytes += payload
        bytes.padToFour()
        return bytes
    }

    /// Parses all complete messages in a datagram. An invalid length ends the list.
    static func messages(in datagram: [UInt8]) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = datagram[...]
        while rest.count >= headerSize {
            let start = rest.startIndex
            let length = Int(rest.native(UInt32.self, at: 0))
            guard length >= headerSize, length <= rest.count else { break }
            messages.append(
                NetlinkMessage(
                    type: rest.native(UInt16.self, at: 4), flags: rest.native(UInt16.self, at: 6),
                    sequence: rest.native(UInt32.self, at: 8), payload: Array(rest[start + headerSize..<start + length])
                ))
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return messages
    }

    /// Parses the attributes after the first `offset` bytes of the payload. Of several with one type, the last one
    /// counts.
    func attributes(after offset: Int) -> [UInt16: [UInt8]] {
        var attributes: [UInt16: [UInt8]] = [:]
        var rest = payload.dropFirst(offset)
        while rest.count >= 4 {
            let start = rest.startIndex
            let length = Int(rest.native(UInt16.self, at: 0))
            guard length >= 4, length <= rest.count else { break }
            // The two highest bits are flags.
            attributes[rest.native(UInt16.self, at: 2) & 0x3FFF] = Array(rest[start + 4..<start + length])
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return attributes
    }
}

extension [UInt8] {
    mutating func appendNative(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value) { append(contentsOf: $0) }
    }

    mutating func padToFour() {
        append(contentsOf: repeatElement(0, count: -count & 3))
    }

    /// Appends a netlink attribute.
    mutating func appendAttribute(_ type: UInt16, _ value: [UInt8]) {
        appendNative(UInt16(4 + value.count))
        appendNative(type)
        self += value
        padToFour()
    }
}

extension ArraySlice<UInt8> {
    /// Reads a number in this machine's byte order at `offset` from the start; the bytes must exist.
    func native<Number: FixedWidthInteger>(_: Number.Type, at offset: Int) -> Number {
        withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
    }
}

/// The constants of `linux/rtnetlink.h` in use here. Swift's Glibc module does not include that header.
enum RouteNetlink {
    /// `NETLINK_ROUTE`
    static let family: Int32 = 0

    static let newLink: UInt16 = 16
    static let deleteLink: UInt16 = 17
    static let newAddress: UInt16 = 20
    static let deleteAddress: UInt16 = 21
    static let newRoute: UInt16 = 24
    static let deleteRoute: UInt16 = 25
    static let getRoute: UInt16 = 26
    static let getLink: UInt16 = 18
    static let getAddress: UInt16 = 22
    static let newNeighbor: UInt16 = 28
    static let getNeighbor: UInt16 = 30

    /// `NLMSG_ERROR`
    static let error: UInt16 = 2
    /// `NLMSG_DONE`
    static let done: UInt16 = 3
    /// `NLM_F_REQUEST`
    static let request: UInt16 = 1
    /// `NLM_F_DUMP`
    static let dump: UInt16 = 0x300

    /// `RTMGRP_LINK`, and addresses and routes of both families.
    static let changeGroups: UInt32 = 1 | 0x10 | 0x40 | 0x100 | 0x400
    /// `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV6_IFADDR`
    static let addressGroups: UInt32 = 0x10 | 0x100

    /// `sizeof(struct rtmsg)`
    static let routeHeaderSize = 12
    static let destination: UInt16 = 1
    static let outputInterface: UInt16 = 4
    static let gateway: UInt16 = 5
    static let preferredSource: UInt16 = 7
    static let via: UInt16 = 18
    static let routeMetric: UInt16 = 6
    static let routeTable: UInt16 = 15

    /// `IFLA_IFNAME`, `IFLA_MTU`
    static let linkName: UInt16 = 3
    static let linkPacketSize: UInt16 = 4

    /// `IFA_ADDRESS`, `IFA_LOCAL`, `IFA_CACHEINFO`, `IFA_FLAGS`
    static let interfaceAddress: UInt16 = 1
    static let localAddress: UInt16 = 2
    static let addressTimes: UInt16 = 6
    static let addressFlags: UInt16 = 8

    /// `NDA_DST`
    static let neighborAddress: UInt16 = 1

    /// `RTNH_F_DEAD | RTNH_F_LINKDOWN`
    static let deadFlags: UInt32 = 1 | 16
}
