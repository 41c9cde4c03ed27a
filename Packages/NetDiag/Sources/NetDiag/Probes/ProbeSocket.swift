internal import Glibc

/// A socket that sends one packet along the path: a UDP datagram, or an echo request without privileges (icmp(7), "ping
/// sockets").
///
/// It receives the answer, and the ICMP errors about the packet. The kernel delivers only errors that quote a packet of this
/// socket; of these, only errors that quote the socket's random mark are accepted.
final class ProbeSocket: Sendable {
    /// The kind of packet to send.
    enum Kind: Sendable, Hashable {
        /// A datagram to this port.
        case datagram(port: UInt16)
        case echo
    }

    /// The first reaction to the packet.
    enum Reaction: Sendable, Hashable {
        case answered
        case report(ICMPReport)
    }

    /// An `errno` value.
    struct Failure: Error, Hashable {
        var number: CInt
    }

    /// The number of bytes of the random mark at the beginning of the payload.
    static let markSize = 16
    private static let echoHeader = 8

    private let point: WaitPoint
    private let isEcho: Bool
    private let packet: [UInt8]
    private let mark: [UInt8]

    /// Creates a connected socket, and the packet that it will send.
    ///
    /// - Parameters:
    ///   - hopLimit: The hop limit (TTL) of the packet; nil for the system's default.
    ///   - size: The size of the whole packet with its IP header; nil for a small one. The packet is never fragmented.
    init(
        to address: IPAddress, _ kind: Kind, hopLimit: Int? = nil, size: Int? = nil, mark: [UInt8]
    ) throws(Failure) {
        let isIPv6 = address.family == .v6
        isEcho = kind == .echo
        let protocolNumber = isEcho ? CInt(isIPv6 ? 58 : 1) : 0  // IPPROTO_ICMPV6, IPPROTO_ICMP
        let type = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, type, protocolNumber)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        point = WaitPoint(descriptor: descriptor, ownership: .owned)
        self.mark = mark
        let overhead = (isIPv6 ? 40 : 20) + ProbeSocket.echoHeader  // the UDP header has the same length
        let length = max(mark.count, (size ?? 0) - overhead)
        let payload = mark + [UInt8](repeating: 0x2E, count: length - mark.count)
        // Type, code, checksum and identifier (the kernel's), sequence number.
        packet = isEcho ? [isIPv6 ? 128 : 8, 0, 0, 0, 0, 0, 0, 1] + payload : payload

        // IP_RECVERR, IP_MTU_DISCOVER, IP_TTL; or IPV6_RECVERR, IPV6_MTU_DISCOVER, IPV6_UNICAST_HOPS.
        let level: CInt = isIPv6 ? 41 : 0
        set(level, isIPv6 ? 25 : 11, 1)
        set(level, isIPv6 ? 23 : 10, 3)  // IP_PMTUDISC_PROBE: up to the link's size, never fragmented
        if let hopLimit { set(level, isIPv6 ? 16 : 2, CInt(clamping: hopLimit)) }
        let port: UInt16 = if case .datagram(let port) = kind { port } else { 0 }
        let peer = SocketAddress.ip(address, port: port)
        guard peer.withSockAddr({ connect(descriptor, $0, $1) }) == 0 else {
            let failure = Failure(number: errno)
            point.close()
            throw failure
        }
    }

    deinit { point.close() }

    private func set(_ level: CInt, _ option: CInt, _ value: CInt) {
        var value = value
        setsockopt(point.descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Sends the packet and waits for the first answer or error; returns nil if none arrives until `deadline`.
    ///
    /// - Parameter interval: The time after which the packet is sent again while nothing has arrived; nil to send it once.
    nonisolated(nonsending) func run(
        until deadline: ContinuousClock.Instant, resendingEvery interval: Duration? = nil
    ) async throws(Failure) -> Reaction? {
        guard point.enter(.reader) == .entered else { return nil }
        defer { point.leave(.reader) }
        while !Task.isCancelled {
            if Glibc.send(point.descriptor, packet, packet.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)) < 0 {
                let number = errno
                if let report = takeReport() { return .report(report) }
                throw Failure(number: number)
            }
            let next = interval.map { min(ContinuousClock.now + $0, deadline) } ?? deadline
            if let reaction = await reaction(until: next) { return reaction }
            if ContinuousClock.now >= deadline { return nil }
        }
        return nil
    }

    /// Waits for the first answer or error.
    private nonisolated(nonsending) func reaction(until deadline: ContinuousClock.Instant) async -> Reaction? {
        while !Task.isCancelled {
            if let report = takeReport() { return .report(report) }
            if receiveAnswer() { return .answered }
            // An error that arrives between the two checks is still reported by the wait.
            if ContinuousClock.now >= deadline { return nil }
            switch await point.readerWait(for: .readable, until: Moment(deadline)) {
            case .ready: continue
            case .timedOut, .cancelled, .closed, .busy, .failed: break
            }
            if let report = takeReport() { return .report(report) }
            return receiveAnswer() ? .answered : nil
        }
        return nil
    }

    /// Receives the packets that have arrived. Returns whether the peer itself has answered the probe with one; discards all others.
    private func receiveAnswer() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 256)
        for _ in 0..<64 {
            let count = recv(point.descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            if count < 0 {
                if errno == EAGAIN { return false }
                continue  // the error queue has the details
            }
            let received = buffer[..<count]
            if !isEcho { return true }
            if received.dropFirst(ProbeSocket.echoHeader).starts(with: mark) { return true }
        }
        return false
    }

    /// Takes the next entry of the error queue that quotes the packet.
    private func takeReport() -> ICMPReport? {
        for _ in 0..<64 {
            var data = [UInt8](repeating: 0, count: 128)
            var control = [UInt8](repeating: 0, count: 256)
            var count = -1
            data.withUnsafeMutableBytes { data in
                control.withUnsafeMutableBytes { control in
                    var vector = iovec(iov_base: data.baseAddress, iov_len: data.count)
                    withUnsafeMutablePointer(to: &vector) { vector in
                        var message = msghdr()
                        message.msg_iov = vector
                        message.msg_iovlen = 1
                        message.msg_control = control.baseAddress
                        message.msg_controllen = control.count
                        count = recvmsg(
                            point.descriptor, &message, CInt(MSG_ERRQUEUE) | CInt(MSG_DONTWAIT))
                    }
                }
            }
            guard count >= 0 else { return nil }
            guard let report = ICMPReport(control: control) else { continue }
            let quoted = data.prefix(count).dropFirst(isEcho ? ProbeSocket.echoHeader : 0).prefix(mark.count)
            // A router may quote no more than the headers (RFC 792), which the kernel has matched.
            if quoted.isEmpty || quoted.elementsEqual(mark.prefix(quoted.count)) { return report }
        }
        return nil
    }
}

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
