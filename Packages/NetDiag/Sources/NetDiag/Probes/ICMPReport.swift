/// An ICMP error about a packet that this machine has sent: one entry of a socket's error queue (ip(7), `IP_RECVERR`).
struct ICMPReport: Sendable, Hashable {
    /// The kind of error.
    enum Kind: Sendable, Hashable {
        /// The hop limit (TTL) was exceeded.
        case hopLimitExceeded
        /// The packet arrived, but nothing listens on the port.
        case portUnreachable
        /// The packet is larger than the next link allows; the value is the largest size allowed, if reported.
        case tooLarge(Int?)
        /// The packet is administratively prohibited.
        case forbidden
        /// The destination is unreachable.
        case unreachable
    }

    var kind: Kind
    /// The sender of the error; nil if it is this machine.
    var source: IPAddress?

    private static let recvErr4: (level: CInt, type: CInt) = (0, 11)  // IPPROTO_IP, IP_RECVERR
    private static let recvErr6: (level: CInt, type: CInt) = (41, 25)  // IPPROTO_IPV6, IPV6_RECVERR
    private static let word = MemoryLayout<Int>.size

    init(_ kind: Kind, from source: IPAddress? = nil) {
        self.kind = kind
        self.source = source
    }

    /// Parses the control messages of `recvmsg(MSG_ERRQUEUE)`; returns nil if they contain no ICMP error.
    init?(control: [UInt8]) {
        var rest = control[...]
        // struct cmsghdr: length, level, type; the next one begins at a multiple of a word.
        let header = ICMPReport.word + 8
        while rest.count >= header {
            let length =
                ICMPReport.word == 8
                ? Int(clamping: rest.number(UInt64.self, at: 0)) : Int(rest.number(UInt32.self, at: 0))
            guard length >= header, length <= rest.count else { return nil }
            let level = rest.number(Int32.self, at: ICMPReport.word)
            let type = rest.number(Int32.self, at: ICMPReport.word + 4)
            let data = rest[(rest.startIndex + header)..<(rest.startIndex + length)]
            if (level, type) == ICMPReport.recvErr4 || (level, type) == ICMPReport.recvErr6 {
                self.init(data, isIPv6: level == ICMPReport.recvErr6.level)
                return
            }
            let step = (length + ICMPReport.word - 1) / ICMPReport.word * ICMPReport.word
            rest = rest.dropFirst(step)
        }
        return nil
    }

    /// Parses `struct sock_extended_err` and the address behind it.
    private init?(_ data: ArraySlice<UInt8>, isIPv6: Bool) {
        guard data.count >= 16 else { return nil }
        let bytes = Array(data)
        let (origin, type, code) = (bytes[4], bytes[5], bytes[6])
        let info = Int(bytes[...].number(UInt32.self, at: 8))
        let kind: Kind? =
            switch (origin, type, code) {
            case (1, _, _): .tooLarge(info > 0 ? info : nil)  // this machine's own link, or its cached path MTU
            case (2, 11, _), (3, 3, _): .hopLimitExceeded
            case (2, 3, 3), (3, 1, 4): .portUnreachable
            case (2, 3, 4), (3, 2, _): .tooLarge(info > 0 ? info : nil)
            case (2, 3, 9), (2, 3, 10), (2, 3, 13), (3, 1, 1), (3, 1, 5), (3, 1, 6): .forbidden
            case (2, 3, _), (3, 1, _): .unreachable
            default: nil
            }
        guard let kind else { return nil }
        // struct sockaddr_in: family, port, address; struct sockaddr_in6 has the flow label before the address.
        let (start, size) = isIPv6 ? (24, 16) : (20, 4)
        var source: IPAddress?
        if origin != 1, bytes.count >= start + size {
            let octets = bytes[start..<(start + size)]
            source =
                isIPv6
                ? IPv6Address(octets: octets).map { .v6($0) }
                : .v4(IPv4Address(rawValue: octets.reduce(0) { $0 << 8 | UInt32($1) }))
        }
        self.init(kind, from: source)
    }
}

extension ArraySlice<UInt8> {
    /// Reads a number in this machine's byte order; the caller has checked the length.
    fileprivate func number<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number {
        let start = startIndex + offset
        return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start - startIndex, as: Number.self) }
    }
}
