internal import CMulticast
internal import EventLoops
internal import Glibc
internal import HostResolver

/// One socket of one family at port 5353.
final class MulticastSocket: Sendable {
    let family: CInt
    private let point: WaitPoint
    private let joined = Locked<Set<UInt32>>([])

    /// Opens it beside whoever else has the port.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/system``, with `errno`.
    init(family: CInt, loop: EventLoop) throws(ServiceDiscoveryError) {
        let descriptor = netkit_multicast_open(family, MulticastRules.port, 1)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        self.family = family
        point = WaitPoint(descriptor: descriptor, ownership: .owned, loop: loop)
    }

    deinit { close() }

    /// What is sent from now on to the group does not leave this machine.
    func stayOnThisMachine() {
        _ = point.withDescriptor { netkit_multicast_stay($0, family) }
    }

    /// Whether nobody else has the port now: what is sent to this host alone then comes to us (RFC 6762 §15.1).
    static var isPortFree: Bool {
        let descriptor = netkit_multicast_open(AF_INET, MulticastRules.port, 0)
        if descriptor >= 0 { Glibc.close(descriptor) }
        return descriptor >= 0
    }

    func close() {
        point.close()
    }

    /// Is a member of the group on these interfaces and no others.
    func join(_ interfaces: Set<UInt32>) {
        _ = point.withDescriptor { descriptor in
            joined.withLock { joined in
                // An interface that has gone took its membership along; leaving fails then, which is well.
                for old in joined.subtracting(interfaces) { netkit_multicast_join(descriptor, family, old, 1) }
                var members = joined.intersection(interfaces)
                for new in interfaces.subtracting(joined)
                where netkit_multicast_join(descriptor, family, new, 0) == 0 || errno == EADDRINUSE {
                    members.insert(new)
                }
                joined = members
            }
        }
    }

    /// Sends, or not: a packet that the kernel does not take now is lost like any other.
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

    /// Most errors of the kernel in a row, such as those that an interface leaves behind when it goes, before receiving ends
    /// with the last of them.
    static let mostErrors = 16

    /// Hands over each packet until the socket is closed. Each turn takes a packet or an error, or suspends.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/system`` if the socket cannot be waited for or read any more.
    nonisolated(nonsending) func receive(
        limit: Int, _ take: (Datagram) -> Void
    ) async throws(ServiceDiscoveryError) {
        guard point.enter(.reader) == .entered else { return }
        defer { point.leave(.reader) }
        var errors = 0
        // One byte more, so that what is too large is seen to be.
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
                // A flood must not keep the loop from its other work.
                await Task.yield()
                continue
            }
            let number = errno
            guard number == EAGAIN else {
                errors += 1
                if errors == Self.mostErrors { throw Self.failure(number) }
                continue
            }
            switch await point.readerWait(for: .readable, until: nil) {
            case .ready: continue
            case .failed(let number): throw Self.failure(number)
            // There is no deadline and no other reader; the engine closes the socket rather than cancel its task.
            case .closed, .cancelled, .timedOut, .busy: return
            }
        }
    }

    static func failure(_ number: CInt) -> ServiceDiscoveryError {
        ServiceDiscoveryError(
            .system, detail: String(cString: strerror(number)), domain: .posix, number: Int(number))
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes of an address of that family.
    fileprivate func prefixing(_ family: CInt) -> UnsafeRawBufferPointer {
        let size = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
        return UnsafeRawBufferPointer(rebasing: prefix(size))
    }
}
