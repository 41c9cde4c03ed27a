internal import CMulticast
internal import EventLoops
internal import Glibc
internal import HostResolver

/// A socket of one family on port 5353.
final class MulticastSocket: GroupSocket {
    let family: CInt
    private let point: WaitPoint
    private let joined = Locked<Set<UInt32>>([])

    /// Opens the socket. Other programs may use the same port.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/system``, with `errno`.
    convenience init(family: CInt, loop: EventLoop) throws(ServiceDiscoveryError) {
        let descriptor = netkit_multicast_open(family, MulticastRules.port)
        guard descriptor >= 0 else { throw ServiceDiscoveryError(errno: errno) }
        self.init(family: family, at: WaitPoint(descriptor: descriptor, ownership: .owned, loop: loop))
    }

    /// Uses the socket of a wait point.
    init(family: CInt, at point: WaitPoint) {
        self.family = family
        self.point = point
    }

    deinit { close() }

    /// Limits the group's packets of this socket to this machine from now on.
    func limitToThisMachine() {
        _ = point.withDescriptor { netkit_multicast_limit_to_host($0, family) }
    }

    /// The number by which the kernel lists the socket; nil if it is closed.
    var inode: UInt64? {
        let number = point.withDescriptor { descriptor -> UInt64? in
            var status = stat()
            return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
        }
        return number ?? nil
    }

    func close() {
        point.close()
    }

    var interfaces: Set<UInt32> { joined.withLock { $0 } }

    func join(_ interface: UInt32) -> GroupJoining {
        let result = point.withDescriptor { descriptor -> GroupJoining in
            if netkit_multicast_join(descriptor, family, interface, 0) == 0 || errno == EADDRINUSE {
                joined.withLock { _ = $0.insert(interface) }
                return .joined
            }
            return ServiceDiscoveryError(errno: errno).isScarcity ? .full : .refused
        }
        return result ?? .refused
    }

    func leave(_ interface: UInt32) {
        // Leaving fails if the interface is gone, together with its membership.
        _ = point.withDescriptor { netkit_multicast_join($0, family, interface, 1) }
        joined.withLock { _ = $0.remove(interface) }
    }

    /// Sends a packet. A packet that the kernel does not accept now is dropped, as a network may drop it.
    func send(_ transmission: Transmission) {
        let destination: SocketAddress
        switch (transmission.destination, family) {
        case (.group, AF_INET): destination = .ip(.v4(MulticastRules.groupV4), port: MulticastRules.port)
        case (.group, _): destination = .ip(.v6(MulticastRules.groupV6), port: MulticastRules.port)
        case (.host(let address, let port), _): destination = .ip(address, port: port)
        }
        guard destination.family == family else { return }
        _ = point.withDescriptor { descriptor in
            destination.withSockAddr { pointer, length in
                transmission.bytes.withUnsafeBytes {
                    _ = netkit_multicast_send(
                        descriptor, $0.baseAddress, $0.count, pointer, length, transmission.interface)
                }
            }
        }
    }

    /// The most errors in a row, such as those that a removed interface causes, before receiving ends with the last of
    /// them.
    static let maximumErrors = 16

    /// Passes each packet to `take` until the socket is closed. Each turn handles one packet or one error, or suspends.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/system`` if the socket can no longer be waited for or read.
    nonisolated(nonsending) func receive(
        limit: Int, _ take: (Datagram) -> Void
    ) async throws(ServiceDiscoveryError) {
        guard point.enter(.reader) == .entered else { return }
        defer { point.leave(.reader) }
        var errors = 0
        // One byte more than the limit, so that a larger packet is recognized.
        var buffer = [UInt8](repeating: 0, count: limit + 1)
        while !point.isClosed(.reader) {
            var source = sockaddr_storage()
            var interface: UInt32 = 0
            var isMulticast: CInt = 0
            let count = netkit_multicast_receive(
                point.descriptor, &buffer, buffer.count, &source, &interface, &isMulticast)
            if count >= 0 {
                errors = 0
                let address = withUnsafeBytes(of: source) { try? SocketAddress(sockaddr: $0.prefixing(family)) }
                if case .ip(let address, let port)? = address {
                    take(
                        Datagram(
                            bytes: Array(buffer.prefix(min(count, buffer.count))), source: address, sourcePort: port,
                            isMulticast: isMulticast != 0, interface: interface))
                }
                // Lets other work of the loop run during a flood of packets.
                await Task.yield()
                continue
            }
            let number = errno
            guard number == EAGAIN else {
                errors += 1
                if errors == Self.maximumErrors { throw ServiceDiscoveryError(errno: number) }
                continue
            }
            switch await point.readerWait(for: .readable, until: nil) {
            case .ready: continue
            case .failed(let number): throw ServiceDiscoveryError(errno: number)
            // There is no deadline and no other reader, and the engine closes the socket instead of cancelling the
            // task.
            case .closed, .cancelled, .timedOut, .busy: return
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes of a socket address of that family.
    fileprivate func prefixing(_ family: CInt) -> UnsafeRawBufferPointer {
        let size = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
        return UnsafeRawBufferPointer(rebasing: prefix(size))
    }
}

/// A received packet with its source.
struct Datagram: Sendable {
    let bytes: [UInt8]
    let source: IPAddress
    let sourcePort: UInt16
    /// Whether the packet was sent to the multicast group rather than to this host.
    let isMulticast: Bool
    /// The index of the interface on which the packet arrived.
    let interface: UInt32
}

/// A packet to send.
struct Transmission: Hashable, Sendable {
    /// The destination of a packet.
    enum Destination: Hashable, Sendable {
        /// All hosts on the link, over IPv4 and IPv6.
        case group
        case host(IPAddress, port: UInt16)
    }

    let bytes: [UInt8]
    let destination: Destination
    let interface: UInt32
}

/// Recognizes this host's own packets, which the kernel must loop back so that other programs on this machine receive
/// them.
///
/// Each packet sent matches one arrival of the same bytes from an own address, per family, within two seconds. The same
/// bytes from another program on this machine are not an echo.
struct EchoFilter {
    /// The most packets that are remembered.
    static let maximumPackets = 512
    static let memory: Duration = .seconds(2)

    private struct Sent {
        let bytes: [UInt8]
        var v4: Bool
        var v6: Bool
        let until: DiscoveryTime
    }

    private var sent: [Sent] = []

    mutating func noteSent(_ bytes: [UInt8], now: DiscoveryTime) {
        sent.removeAll { $0.until <= now || !($0.v4 || $0.v6) }
        if sent.count == Self.maximumPackets { sent.removeFirst() }
        sent.append(Sent(bytes: bytes, v4: true, v6: true, until: now + Self.memory))
    }

    /// Takes the packet for an echo if it is one: once for each family and sent packet. Returns whether it is.
    mutating func takeEcho(_ bytes: [UInt8], from address: IPAddress, now: DiscoveryTime) -> Bool {
        let isV4 = address.family == .v4
        guard
            let index = sent.firstIndex(where: {
                (isV4 ? $0.v4 : $0.v6) && $0.until > now && $0.bytes == bytes
            })
        else { return false }
        if isV4 { sent[index].v4 = false } else { sent[index].v6 = false }
        return true
    }
}
