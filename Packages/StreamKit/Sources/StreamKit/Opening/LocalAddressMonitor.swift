internal import EventLoops
internal import HostResolver

extension StreamProperty where Value == Bool {
    /// Whether an open stream fails with `EADDRNOTAVAIL` as soon as its local address is removed from this machine,
    /// rather than when the kernel stops retransmitting. Default false. If the kernel cannot report such changes, the
    /// stream fails when it opens.
    ///
    /// All streams share one netlink descriptor for this. Replaces `kCFStreamPropertyAutoErrorOnSystemChange`, whose
    /// default is true.
    public static var failsWhenAddressIsRemoved: Self {
        .init(setting: "StreamKit.failsWhenAddressIsRemoved", access: .beforeOpen, default: false)
    }
}

/// Watches the local addresses of connections with ``StreamProperty/failsWhenAddressIsRemoved``.
final class LocalAddressMonitor: Sendable {
    static let shared = LocalAddressMonitor()

    private struct Watched {
        weak var connection: Connection?
        let address: IPAddress
    }

    private struct State {
        var connections: [ObjectIdentifier: Watched] = [:]
        /// Exists while connections are watched.
        var monitor: NetworkMonitor?
        var subscription: Subscription?
    }

    private let state = Locked(State())
    private let query: @Sendable () throws(ResolverError) -> NetworkSnapshot

    /// - Parameter query: queries the kernel for the current addresses.
    init(query: @escaping @Sendable () throws(ResolverError) -> NetworkSnapshot = NetworkSnapshot.current) {
        self.query = query
    }

    /// Starts to watch the connection if an interface has its local address. Most addresses of 127.0.0.0/8 are on no
    /// interface and cannot be removed. Fails the connection if addresses cannot be watched.
    func add(_ connection: Connection) {
        guard let own = connection.point.withDescriptor(Syscalls.localAddress), let address = own?.ipAddress else {
            return
        }
        do throws(ResolverError) {
            guard try present().contains(address.withoutZone) else { return }
            try watch(connection, address)
        } catch {
            remove(connection)
            connection.failBoth(StreamError(unwatchable: error))
        }
    }

    private func watch(_ connection: Connection, _ address: IPAddress) throws(ResolverError) {
        let isFirst = state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = Watched(connection: connection, address: address)
            return state.monitor == nil
        }
        if isFirst { try begin() }
        checkAddresses()
        // The connection may have been closed, and removed, before it was added above. Closing sets these flags first.
        if connection.withDetails({ _ in connection.isClosed }) { remove(connection) }
    }

    func remove(_ connection: Connection) {
        let unused = state.withLock { state -> State? in
            state.connections[ObjectIdentifier(connection)] = nil
            guard state.connections.isEmpty, state.monitor != nil else { return nil }
            return exchange(&state, with: State())
        }
        unused?.subscription?.cancel()
        unused?.monitor?.stop()
    }

    /// Whether a connection with this local address, port included, is watched.
    func watches(_ address: SocketAddress) -> Bool {
        state.withLock { $0.connections.values.compactMap(\.connection) }
            .contains { $0.point.withDescriptor(Syscalls.localAddress) == address }
    }

    private func begin() throws(ResolverError) {
        let monitor = try NetworkMonitor()
        let subscription = monitor.observe(on: .loop(.shared)) { [self] change in
            if change.contains(.addresses) { checkAddresses() }
        }
        let isKept = state.withLock { state in
            guard state.monitor == nil, !state.connections.isEmpty else { return false }
            state.monitor = monitor
            state.subscription = subscription
            return true
        }
        if !isKept {
            subscription.cancel()
            monitor.stop()
        }
    }

    /// Fails the connections whose address no longer exists.
    private func checkAddresses() {
        // If the query fails, no connection fails. The next change causes another query.
        guard let present = try? present() else { return }
        let stranded = state.withLock { state in
            state.connections.values.filter { !present.contains($0.address.withoutZone) }
        }
        for entry in stranded {
            guard let connection = entry.connection else { continue }
            remove(connection)
            connection.failBoth(StreamError(posix: 99, .addressGone(entry.address)))  // EADDRNOTAVAIL
        }
    }

    /// The addresses of this machine's interfaces.
    private func present() throws(ResolverError) -> Set<IPAddress> {
        Set(try query().interfaces.flatMap(\.addresses).map { $0.address.withoutZone })
    }
}

extension IPAddress {
    /// The address without its zone, which may be a name or a number and does not matter here.
    fileprivate var withoutZone: IPAddress {
        switch self {
        case .v4: self
        case .v6(let address): .v6(IPv6Address(rawValue: address.rawValue))
        }
    }
}

extension StreamError {
    /// Makes the error of a stream whose local address cannot be watched.
    fileprivate init(unwatchable error: ResolverError) {
        self.init(
            domain: StreamErrorDomain(rawValue: error.domain.rawValue), code: error.number,
            sentence: Sentence(
                "connection.addressUnwatchable", "Changes of this machine's addresses cannot be watched: %1.",
                error.description),
            underlying: error)
    }
}

extension Sentence {
    fileprivate static func addressGone(_ address: IPAddress) -> Sentence {
        Sentence(
            "connection.addressGone", "This machine no longer has the address %1, which the connection uses.",
            address.description)
    }
}
