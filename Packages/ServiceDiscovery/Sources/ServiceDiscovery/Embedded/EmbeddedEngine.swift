internal import EventLoops
internal import Glibc
internal import HostResolver

/// Multicast DNS in this process: no daemon, no D-Bus (RFC 6762, RFC 6763).
///
/// ```swift
/// let engine = EmbeddedEngine(interfaces: ["eth0"])
/// let browser = ServiceBrowser(try ServiceType("_http._tcp"), engine: .embedded(engine))
/// ```
///
/// It opens its sockets with the first operation and closes them with the last. It shares port 5353 with other programs,
/// follows interfaces and addresses as they change, and keeps within ``EngineLimits`` whatever strangers send.
///
/// Theory of operation. One `DiscoveryMachine` behind one lock. Whoever has something for it (a caller, a packet on the
/// loop, the timer) takes the lock, tells the machine, and carries out what it says until it says to wait; so a goodbye
/// has left when `stop()` returns. Only ringing the sinks is done after the lock.
public final class EmbeddedEngine: Sendable {
    /// The engine that is used where no other is named: all interfaces, this machine's host name.
    public static let shared = EmbeddedEngine()

    private struct State {
        var machine: DiscoveryMachine
        var sinks: [Int: WeakSink] = [:]
        var transport: Transport?
        var timer: LoopTimer?
        var timerTime: DiscoveryTime?
    }

    private struct WeakSink {
        weak var sink: (any DiscoverySink)?
    }

    /// What is open while there is something to do.
    private struct Transport {
        let sockets: [MulticastSocket]
        let monitor: NetworkMonitor?
        let changes: NetworkSubscription?
        let hearsUnicast: Bool
    }

    private let names: Set<String>?
    private let limits: EngineLimits
    private let loop: EventLoop
    private let state: Locked<State>

    /// Makes an engine; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - interfaces: the only interfaces to use, each of which has to exist when an operation begins; nil for all that can
    ///     multicast, or loopback if there is none.
    ///   - hostName: the label wanted for this host under `local`; nil for the machine's name. Another one is taken if it
    ///     is somebody else's.
    ///   - limits: how much it keeps and sends at most.
    ///   - loop: whose thread reads the packets.
    public init(
        interfaces: [String]? = nil, hostName: String? = nil, limits: EngineLimits = EngineLimits(),
        loop: EventLoop = .shared
    ) {
        names = interfaces.map(Set.init)
        self.limits = limits
        self.loop = loop
        let label = hostName ?? HostLabel.ofThisMachine
        state = Locked(
            State(
                machine: DiscoveryMachine(
                    hostLabel: HostLabel.fitting(label), limits: limits, seed: UInt64.random(in: .min ... .max))))
    }

    /// What it has sent, taken and refused.
    public var statistics: EngineStatistics {
        state.withLock { $0.machine.statistics }
    }

    /// The name under which this host is known, with the final dot: `desk.local.`; another one after a conflict.
    public var hostName: String {
        state.withLock { $0.machine.hostName.description }
    }

    /// Ends all operations, with goodbyes for what is published. Their readers are told that they were cancelled.
    public func close() {
        endAll(ServiceDiscoveryError(.cancelled)) { _ in true }
    }

    /// Ends all operations with `error`; the next one opens the sockets anew.
    private func endAll(_ error: ServiceDiscoveryError, if isMeant: (State) -> Bool) {
        let sinks = perform { state -> [any DiscoverySink] in
            guard isMeant(state) else { return [] }
            // Kept alive until the lock is left: who goes inside of it would want it too.
            let sinks = state.sinks.compactMap { id, sink in sink.sink.map { (id, $0) } }
            for (id, sink) in sinks { sink.put(.failed(error), of: id) }
            state.machine.close(now: .now)
            state.sinks = [:]
            return sinks.map(\.1)
        }
        for sink in sinks { sink.ring() }
    }

    /// A socket of the engine can no longer be read: its operations fail rather than hear nothing for ever.
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

extension EmbeddedEngine: DiscoveryBackend {
    func ask(_ key: RecordKey, interface: String?, sink: any DiscoverySink) throws(ServiceDiscoveryError) -> Int {
        try begin(sink, on: interface) { machine throws(ServiceDiscoveryError) in
            try machine.ask(key, interface: interface, now: .now)
        }
    }

    func publish(
        _ advertisement: ServiceAdvertisement, sink: any DiscoverySink
    ) throws(ServiceDiscoveryError) -> Int {
        try begin(sink, on: advertisement.interface) { machine throws(ServiceDiscoveryError) in
            try machine.publish(advertisement, now: .now)
        }
    }

    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        try perform { state in
            Result { () throws(ServiceDiscoveryError) in
                try state.machine.update(operation, record: record, now: .now)
            }
        }.get()
    }

    var waitingChanges: Int { limits.waitingChanges }

    func reconfirm(_ key: RecordKey, _ data: DNSRecordData) {
        perform { $0.machine.reconfirm(key, data, now: .now) }
    }

    func tellThisMachine(hasGone record: DNSRecord) {
        var message = DNSMessage(header: DNSHeader(id: 0), answers: [record])
        (message.header.isResponse, message.header.isAuthoritative) = (true, true)
        message.answers[0].timeToLive = 0
        guard let bytes = try? message.multicastWireForm() else { return }
        for family in [AF_INET, AF_INET6] {
            guard let socket = try? MulticastSocket(family: family, loop: loop) else { continue }
            defer { socket.close() }
            socket.stayOnThisMachine()
            for link in InterfaceList.links(names: names) {
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
        _ sink: any DiscoverySink, on interface: String?,
        _ body: (inout DiscoveryMachine) throws(ServiceDiscoveryError) -> Int
    ) throws(ServiceDiscoveryError) -> Int {
        try InterfaceList.check(interface, engine: names)
        let result = perform { state -> Result<Int, ServiceDiscoveryError> in
            do throws(ServiceDiscoveryError) {
                try self.open(&state)
                let id = try body(&state.machine)
                state.sinks[id] = WeakSink(sink: sink)
                return .success(id)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Tells the machine something and does what it says.
    @discardableResult
    private func perform<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, sinks) = state.withLock { state -> (Value, [any DiscoverySink]) in
            let value = body(&state)
            return (value, drive(&state))
        }
        for sink in sinks { sink.ring() }
        return value
    }

    private func drive(_ state: inout State) -> [any DiscoverySink] {
        var told: [Int: any DiscoverySink] = [:]
        while true {
            switch state.machine.next(now: .now) {
            case .send(let transmission):
                for socket in state.transport?.sockets ?? [] { socket.send(transmission) }
            case .report(let id, let event):
                guard let sink = state.sinks[id]?.sink else { continue }
                sink.put(event, of: id)
                told[id] = sink
            case .wait(let moment):
                if state.machine.isIdle {
                    Self.close(state.transport)
                    state.transport = nil
                    state.machine.setLinks([], now: .now)
                }
                setTimer(&state, state.transport == nil ? nil : moment)
                return Array(told.values)
            }
        }
    }

    private func setTimer(_ state: inout State, _ moment: DiscoveryTime?) {
        guard state.timerTime != moment else { return }
        state.timer?.cancel()
        state.timerTime = moment
        state.timer = moment.map { moment in
            loop.schedule(at: Moment(moment)) { [weak self] in
                self?.perform { state in if state.timerTime == moment { state.timerTime = nil } }
            }
        }
    }
}

// MARK: - The network

extension EmbeddedEngine {
    private func open(_ state: inout State) throws(ServiceDiscoveryError) {
        guard state.transport == nil else { return }
        let hearsUnicast = MulticastSocket.isPortFree
        var sockets: [MulticastSocket] = []
        var failure: ServiceDiscoveryError?
        for family in [AF_INET, AF_INET6] {
            // A machine without one of the families has the other.
            do throws(ServiceDiscoveryError) {
                sockets.append(try MulticastSocket(family: family, loop: loop))
            } catch {
                failure = error
            }
        }
        if sockets.isEmpty, let failure { throw failure }
        let monitor = try? NetworkMonitor()
        let changes = monitor?.onChange(on: .loop(loop)) { [weak self] _ in
            self?.perform { self?.refresh(&$0) }
        }
        state.transport = Transport(sockets: sockets, monitor: monitor, changes: changes, hearsUnicast: hearsUnicast)
        refresh(&state)
        let limit = limits.packetSize
        for socket in sockets {
            // The task knows the socket, not the engine: letting the engine go ends it.
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
    }

    /// Looks at the interfaces anew.
    private func refresh(_ state: inout State) {
        guard let transport = state.transport else { return }
        var links = InterfaceList.links(names: names)
        for index in links.indices { links[index].hearsUnicast = transport.hearsUnicast }
        for socket in transport.sockets {
            let members = links.filter { link in
                link.addresses.contains { ($0.address.family == .v4) == (socket.family == AF_INET) }
            }
            socket.join(Set(members.map(\.index)))
        }
        state.machine.setLinks(links, now: .now)
    }

    private static func close(_ transport: Transport?) {
        transport?.changes?.cancel()
        transport?.monitor?.close()
        for socket in transport?.sockets ?? [] { socket.close() }
    }
}
