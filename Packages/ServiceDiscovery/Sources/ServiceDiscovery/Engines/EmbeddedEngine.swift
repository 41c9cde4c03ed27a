@_spi(Packages) internal import DNSWire
internal import EventLoops
internal import Glibc
internal import HostResolver

/// Multicast DNS in this process, without a daemon or D-Bus (RFC 6762, RFC 6763).
///
/// ```swift
/// let engine = EmbeddedEngine(interfaces: ["eth0"])
/// let browser = ServiceBrowser(try ServiceType("_http._tcp"), engine: .embedded(engine))
/// ```
///
/// The engine opens its sockets with the first operation and closes them with the last. It shares port 5353 with other
/// programs. If one of them keeps the port of IPv4 or of IPv6 for itself, the engine uses the other family, says so once in the
/// system's log, and tries again every ten seconds. It follows changes of interfaces and addresses, and stays within ``EngineLimits`` whatever other hosts send.
///
/// Published services are withdrawn with goodbyes when the program returns from `main` or calls `exit`. A program that a signal ends
/// sends none: handle the signal, for example SIGTERM, by calling `exit`. A process that is forked has no engine: operations do not continue
/// in it, and it withdraws no service.
///
/// Theory of operation. One `DiscoveryMachine` behind one lock. A caller, a packet on the loop, or the timer takes the
/// lock, passes its input to the machine, and performs the machine's actions until the machine waits; therefore a
/// goodbye is sent before `stop()` returns. Only the sinks are notified after the lock is released.
public final class EmbeddedEngine: Sendable {
    /// The default engine: all interfaces and this machine's host name.
    public static let shared = EmbeddedEngine()

    private struct State {
        var machine: DiscoveryMachine
        var sinks: [Int: WeakSink] = [:]
        var transport: Transport?
        var timer: LoopTimer?
        var timerTime: DiscoveryTime?
    }

    private struct WeakSink {
        weak var sink: (any EventSink)?
    }

    /// The sockets and the interface monitor, which exist while an operation does.
    private struct Transport {
        /// Those of each family.
        var families: [GroupSockets<MulticastSocket>]
        /// The families whose port another program keeps for itself. They are tried again.
        var inUse: [CInt]
        var retry: LoopTimer?
        let monitor: NetworkMonitor?
        let changes: Subscription?

        var sockets: [MulticastSocket] { families.flatMap(\.all) }

        /// Whether other sockets of this machine use the port as well.
        var isPortShared: Bool { PortUse.isShared(beside: Set(sockets.compactMap(\.inode))) }
    }

    private let names: Set<String>?
    private let limits: EngineLimits
    private let loop: EventLoop
    private let state: Locked<State>

    /// Creates an engine; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - interfaces: the only interfaces to use, each of which must exist when an operation begins; nil for all that
    ///     support multicast, or loopback if there is none.
    ///   - hostName: the first label of this host's name under `local`; nil for the machine's name. If another host has
    ///     the name, the engine chooses another one.
    ///   - limits: the limits of its memory and traffic.
    ///   - loop: the loop on which packets are received.
    public init(
        interfaces: [String]? = nil, hostName: String? = nil, limits: EngineLimits = EngineLimits(),
        loop: EventLoop = .shared
    ) {
        let limits = limits.inRange
        names = interfaces.map(Set.init)
        self.limits = limits
        self.loop = loop
        let label = hostName ?? HostLabel.ofThisMachine
        state = Locked(
            State(
                machine: DiscoveryMachine(
                    hostLabel: HostLabel.fitting(label), limits: limits, seed: UInt64.random(in: .min ... .max))))
    }

    /// What the engine has sent, received and refused.
    public var statistics: EngineStatistics {
        state.withLock { $0.machine.statistics }
    }

    /// The name of this host with the final dot, such as `desk.local.`; it changes after a conflict.
    public var hostName: String {
        state.withLock { $0.machine.hostName.description }
    }

    /// Ends all operations, with goodbyes for published services. Their readers get
    /// ``ServiceDiscoveryError/Code-swift.struct/cancelled``.
    public func stop() {
        endAll(ServiceDiscoveryError(.cancelled)) { _ in true }
    }

    /// Sends the goodbyes of all published services, without notifying their publishers.
    func sendGoodbyes() {
        state.withLock { state in
            state.machine.close(now: .now)
            state.sinks = [:]
            _ = drive(&state)
        }
    }

    /// Ends all operations with `error`; the next one opens the sockets again.
    private func endAll(_ error: ServiceDiscoveryError, if condition: (State) -> Bool) {
        let sinks = perform { state -> [any EventSink] in
            guard condition(state) else { return [] }
            // The sinks are retained until the lock is released: a deinitializer would need the same lock.
            let sinks = state.sinks.compactMap { id, sink in sink.sink.map { (id, $0) } }
            for (id, sink) in sinks { sink.receive(.failed(error), of: id) }
            state.machine.close(now: .now)
            state.sinks = [:]
            return sinks.map(\.1)
        }
        for sink in sinks { sink.notify() }
    }

    /// Ends the operations because a socket of the engine cannot be read any more; they would never get another event.
    func fail(_ error: ServiceDiscoveryError, of socket: MulticastSocket) {
        endAll(error) { $0.transport?.sockets.contains { $0 === socket } ?? false }
    }

    deinit {
        state.withLock { state in
            state.timer?.cancel()
            Self.close(state.transport)
        }
    }
}

// MARK: - Operations

extension EmbeddedEngine: RecordEngine {
    func query(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try begin(operation, sink, on: interface) { machine throws(ServiceDiscoveryError) in
            try machine.query(key, interface: interface, as: operation, now: .now)
        }
    }

    func publish(
        _ advertisement: ServiceAdvertisement, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        GoodbyeAtExit.add(self)
        try begin(operation, sink, on: advertisement.interface) { machine throws(ServiceDiscoveryError) in
            try machine.publish(advertisement, as: operation, now: .now)
        }
    }

    func publish(_ record: RecordAdvertisement, as operation: Int, sink: any EventSink) throws(ServiceDiscoveryError) {
        GoodbyeAtExit.add(self)
        try begin(operation, sink, on: record.interface) { machine throws(ServiceDiscoveryError) in
            try machine.publish(record, as: operation, now: .now)
        }
    }

    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        try update { machine throws(ServiceDiscoveryError) in
            try machine.update(operation, record: record, now: .now)
        }
    }

    func update(_ operation: Int, records: [OwnRecord]) throws(ServiceDiscoveryError) {
        try update { machine throws(ServiceDiscoveryError) in
            try machine.update(operation, records: records, now: .now)
        }
    }

    private func update(
        _ body: (inout DiscoveryMachine) throws(ServiceDiscoveryError) -> Void
    ) throws(ServiceDiscoveryError) {
        try perform { state in
            Result { () throws(ServiceDiscoveryError) in try body(&state.machine) }
        }.get()
    }

    var maximumWaiting: WaitingLimit { WaitingLimit(limits) }

    func reconfirm(_ key: RecordKey, _ data: DNSRecordData, interface: String?) {
        perform { $0.machine.reconfirm(key, data, interface: interface, now: .now) }
    }

    func sendLocalGoodbye(for record: DNSRecord) {
        var message = DNSMessage(header: DNSHeader(id: 0), answers: [record])
        (message.header.isResponse, message.header.isAuthoritative) = (true, true)
        message.answers[0].timeToLive = 0
        guard let bytes = try? message.multicastWireForm() else { return }
        for family in [AF_INET, AF_INET6] {
            guard let socket = try? MulticastSocket(family: family, loop: loop) else { continue }
            defer { socket.close() }
            socket.limitToThisMachine()
            for link in (try? InterfaceList.links(names: names)) ?? [] {
                socket.send(Transmission(bytes: bytes, destination: .group, interface: link.index))
            }
        }
    }

    func end(_ operation: Int) {
        perform { state in
            state.sinks[operation] = nil
            state.machine.end(operation, now: .now)
        }
    }

    private func begin(
        _ operation: Int, _ sink: any EventSink, on interface: String?,
        _ body: (inout DiscoveryMachine) throws(ServiceDiscoveryError) -> Void
    ) throws(ServiceDiscoveryError) {
        try InterfaceList.check(interface, engine: names)
        try perform { state in
            Result { () throws(ServiceDiscoveryError) in
                try self.open(&state)
                try body(&state.machine)
                state.sinks[operation] = WeakSink(sink: sink)
            }
        }.get()
    }

    /// Passes an input to the machine and performs its actions.
    @discardableResult
    private func perform<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, sinks) = state.withLock { state -> (Value, [any EventSink]) in
            let value = body(&state)
            return (value, drive(&state))
        }
        for sink in sinks { sink.notify() }
        return value
    }

    private func drive(_ state: inout State) -> [any EventSink] {
        var notified: [Int: any EventSink] = [:]
        while true {
            switch state.machine.next(now: .now) {
            case .send(let transmission):
                for family in state.transport?.families ?? [] { family.first.send(transmission) }
            case .report(let id, let event):
                guard let sink = state.sinks[id]?.sink else { continue }
                sink.receive(event, of: id)
                notified[id] = sink
            case .wait(let time):
                if state.machine.isIdle {
                    Self.close(state.transport)
                    state.transport = nil
                    state.machine.setLinks([], now: .now)
                }
                setTimer(&state, state.transport == nil ? nil : time)
                return Array(notified.values)
            }
        }
    }

    private func setTimer(_ state: inout State, _ time: DiscoveryTime?) {
        guard state.timerTime != time else { return }
        state.timer?.cancel()
        state.timerTime = time
        state.timer = time.map { time in
            loop.schedule(at: Moment(time)) { [weak self] in
                self?.perform { state in
                    if state.timerTime == time { state.timerTime = nil }
                    Self.lookAtPort(&state)
                }
            }
        }
    }

    /// Looks, before questions are sent, whether another program uses the port by now. From then on, until the sockets are closed, no
    /// unicast response is requested.
    private static func lookAtPort(_ state: inout State) {
        guard let transport = state.transport, state.machine.receivesUnicast, state.machine.hasQuestionsDue(.now) else {
            return
        }
        state.machine.receivesUnicast = !transport.isPortShared
    }
}

// MARK: - The network

extension EmbeddedEngine {
    private func open(_ state: inout State) throws(ServiceDiscoveryError) {
        guard state.transport == nil else { return }
        let (sockets, inUse) = try SocketOpening.sockets(of: [AF_INET, AF_INET6], openSocket)
        let monitor = try Self.makeMonitor()
        let links = try InterfaceList.links(names: names)
        let changes = monitor?.observe(on: .loop(loop)) { [weak self] _ in self?.refresh() }
        let transport = Transport(
            families: sockets.map(GroupSockets.init), inUse: inUse, monitor: monitor, changes: changes)
        state.machine.receivesUnicast = !transport.isPortShared
        state.transport = transport
        for socket in sockets { receive(from: socket) }
        PortWarnings.log(inUse)
        retryLater(&state)
        // If this fails, the engine is idle, and the transport is closed.
        try use(links, &state).get()
    }

    /// The pause before a family is tried again whose port another program keeps for itself.
    private static let retryPause: Duration = .seconds(10)

    private func retryLater(_ state: inout State) {
        if state.transport?.inUse.isEmpty ?? true { return }
        state.transport?.retry = loop.schedule(at: .now + Self.retryPause) { [weak self] in self?.retry() }
    }

    /// Opens the families whose port is free by now. The operations begin again on all links, as on those that come back.
    private func retry() {
        let hasOpened = perform { state in
            guard var transport = state.transport else { return false }
            let sockets = transport.inUse.compactMap { try? openSocket($0) }
            transport.inUse.removeAll { family in sockets.contains { $0.family == family } }
            transport.families += sockets.map(GroupSockets.init)
            state.transport = transport
            for socket in sockets { receive(from: socket) }
            if !sockets.isEmpty { state.machine.setLinks([], now: .now) }
            retryLater(&state)
            return !sockets.isEmpty
        }
        if hasOpened { refresh() }
    }

    private func openSocket(_ family: CInt) throws(ServiceDiscoveryError) -> MulticastSocket {
        try MulticastSocket(family: family, loop: loop)
    }

    private func receive(from socket: MulticastSocket) {
        let limit = limits.packetSize
        // The task retains the socket, not the engine, so that releasing the engine ends it.
        Task(executorPreference: loop) { [weak self] in
            do throws(ServiceDiscoveryError) {
                try await socket.receive(limit: limit) { datagram in
                    self?.perform { $0.machine.receive(datagram, now: .now) }
                }
            } catch {
                self?.fail(error, of: socket)
            }
        }
    }

    /// The monitor of the interfaces; nil on a machine that has none to offer. Without descriptors for it, the engine would never
    /// notice a change.
    private static func makeMonitor() throws(ServiceDiscoveryError) -> NetworkMonitor? {
        do throws(ResolverError) {
            return try NetworkMonitor()
        } catch {
            let failure = ServiceDiscoveryError(errno: CInt(truncatingIfNeeded: error.number))
            guard error.domain == .posix, failure.isScarcity else { return nil }
            throw failure
        }
    }

    /// Reads the interfaces and uses them. If that fails just now, it is repeated later.
    private func refresh() {
        do throws(ServiceDiscoveryError) {
            let links = try InterfaceList.links(names: names)
            try perform { use(links, &$0) }.get()
        } catch {
            loop.schedule(at: .now + Self.refreshPause) { [weak self] in self?.refresh() }
        }
    }

    /// The pause before the interfaces are read again, if that failed.
    private static let refreshPause: Duration = .seconds(1)

    /// Joins the group on the links, and passes them to the machine.
    ///
    /// - Returns: the error if the group could not be joined on all of them.
    private func use(_ links: [MulticastLink], _ state: inout State) -> Result<Void, ServiceDiscoveryError> {
        guard var transport = state.transport else { return .success(()) }
        let links = Array(links.prefix(limits.interfaces))
        var result: Result<Void, ServiceDiscoveryError> = .success(())
        for index in transport.families.indices {
            do throws(ServiceDiscoveryError) {
                try join(links, &transport.families[index])
            } catch {
                result = .failure(error)
            }
        }
        state.transport = transport
        state.machine.setLinks(links, now: .now)
        return result
    }

    private func join(
        _ links: [MulticastLink], _ sockets: inout GroupSockets<MulticastSocket>
    ) throws(ServiceDiscoveryError) {
        let family = sockets.first.family
        let members = links.filter { link in
            link.addresses.contains { ($0.address.family == .v4) == (family == AF_INET) }
        }
        try sockets.join(members.map(\.index)) { () throws(ServiceDiscoveryError) in
            let another = try openSocket(family)
            receive(from: another)
            return another
        }
    }

    private static func close(_ transport: Transport?) {
        transport?.retry?.cancel()
        transport?.changes?.cancel()
        transport?.monitor?.stop()
        for socket in transport?.sockets ?? [] { socket.close() }
    }
}
