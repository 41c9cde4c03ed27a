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

/// Watches the local addresses of connections with ``StreamProperty/failsWhenAddressIsRemoved``. It knows only their points.
final class LocalAddressMonitor: Sendable {
    static let shared = LocalAddressMonitor()

    private struct Watched {
        weak var point: WaitPoint?
        let address: IPAddress
        /// Fails the connection.
        let fail: @Sendable (StreamError) -> Void
    }

    private struct State {
        var points: [ObjectIdentifier: Watched] = [:]
        /// Exists while points are watched.
        var monitor: NetworkMonitor?
        var subscription: Subscription?
    }

    private let state = Locked(State())
    private let query: @Sendable () throws(ResolverError) -> NetworkSnapshot

    /// - Parameter query: queries the kernel for the current addresses.
    init(query: @escaping @Sendable () throws(ResolverError) -> NetworkSnapshot = NetworkSnapshot.current) {
        self.query = query
    }

    /// Starts to watch the local address of a connection if an interface has it. Most addresses of 127.0.0.0/8 are on no
    /// interface and cannot be removed.
    ///
    /// - Parameter fail: fails the connection: the address is gone, or addresses cannot be watched.
    func add(_ point: WaitPoint, fail: @escaping @Sendable (StreamError) -> Void) {
        guard let own = point.withDescriptor(Syscalls.localAddress), let address = own?.ipAddress else { return }
        do throws(ResolverError) {
            guard try present().contains(address.withoutZone) else { return }
            try watch(Watched(point: point, address: address, fail: fail), ObjectIdentifier(point))
        } catch {
            remove(point)
            fail(StreamError(unwatchable: error))
        }
    }

    private func watch(_ watched: Watched, _ id: ObjectIdentifier) throws(ResolverError) {
        let isFirst = state.withLock { state in
            state.points[id] = watched
            return state.monitor == nil
        }
        if isFirst { try begin() }
        checkAddresses()
    }

    func remove(_ point: WaitPoint) {
        let unused = state.withLock { state -> State? in
            state.points[ObjectIdentifier(point)] = nil
            guard state.points.isEmpty, state.monitor != nil else { return nil }
            return exchange(&state, with: State())
        }
        unused?.subscription?.cancel()
        unused?.monitor?.stop()
    }

    /// Whether a connection with this local address, port included, is watched.
    func watches(_ address: SocketAddress) -> Bool {
        state.withLock { $0.points.values.compactMap(\.point) }
            .contains { $0.withDescriptor(Syscalls.localAddress) == address }
    }

    private func begin() throws(ResolverError) {
        let monitor = try NetworkMonitor()
        let subscription = monitor.observe(on: .loop(.shared)) { [self] change in
            if change.contains(.addresses) { checkAddresses() }
        }
        let isKept = state.withLock { state in
            guard state.monitor == nil, !state.points.isEmpty else { return false }
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
            state.points.values.filter { !present.contains($0.address.withoutZone) }
        }
        for entry in stranded {
            guard let point = entry.point else { continue }
            remove(point)
            entry.fail(StreamError(posix: 99, .addressGone(entry.address)))  // EADDRNOTAVAIL
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
