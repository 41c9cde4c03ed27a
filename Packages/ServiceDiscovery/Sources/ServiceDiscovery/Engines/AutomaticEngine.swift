internal import DNSWire
internal import EventLoops
internal import HostResolver

/// The default engine: the daemon performs each operation that it supports, and multicast DNS in this process the
/// others.
///
/// An operation that the daemon refuses when it begins goes to the embedded engine. One that has begun stays with the
/// daemon, and fails if the daemon fails.
final class AutomaticEngine: RecordEngine, Sendable {
    static let shared = AutomaticEngine(DaemonEngine.shared, or: EmbeddedEngine.shared)

    private struct State {
        var operations: [Int: FallbackOperation] = [:]
        /// The records that the embedded engine is verifying for the daemon.
        var verifying: Set<RecordIdentity> = []
    }

    private let daemon: any RecordEngine
    private let embedded: any RecordEngine
    private let verificationTime: Duration
    private let state = Locked(State())

    /// - Parameter verificationTime: how long an owner has to confirm its record: as long as the embedded engine waits, and a
    ///   little more.
    init(
        _ daemon: any RecordEngine, or embedded: any RecordEngine,
        verificationTime: Duration = MulticastRules.verificationTime + .seconds(1)
    ) {
        self.daemon = daemon
        self.embedded = embedded
        self.verificationTime = verificationTime
    }

    func query(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try begin(operation, sink) { engine, sink throws(ServiceDiscoveryError) in
            try engine.query(key, interface: interface, as: operation, sink: sink)
        }
    }

    /// A daemon would ask name servers for a name that is not in `local`.
    func queryLink(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try begin(operation, sink, with: [embedded]) { engine, sink throws(ServiceDiscoveryError) in
            try engine.query(key, interface: interface, as: operation, sink: sink)
        }
    }

    func publish(
        _ advertisement: ServiceAdvertisement, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        try begin(operation, sink) { engine, sink throws(ServiceDiscoveryError) in
            try engine.publish(advertisement, as: operation, sink: sink)
        }
    }

    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        try state.withLock { $0.operations[operation] }?.update(record)
    }

    /// The daemon engine publishes services only.
    func publish(_ record: RecordAdvertisement, as operation: Int, sink: any EventSink) throws(ServiceDiscoveryError) {
        try begin(operation, sink, with: [embedded]) { engine, sink throws(ServiceDiscoveryError) in
            try engine.publish(record, as: operation, sink: sink)
        }
    }

    func update(_ operation: Int, records: [OwnRecord]) throws(ServiceDiscoveryError) {
        try state.withLock { $0.operations[operation] }?.update(records)
    }

    func reconfirm(
        _ key: RecordKey, _ data: DNSRecordData, interface: String?
    ) throws(ServiceDiscoveryError) {
        do throws(ServiceDiscoveryError) {
            try daemon.reconfirm(key, data, interface: interface)
        } catch {
            try embedded.reconfirm(key, data, interface: interface)
            if error.code == .unsupported { try verifyForDaemon(key, data, interface) }
        }
    }

    /// Verifies a record for Avahi's daemon, which cannot be asked to do so but accepts a goodbye. The embedded engine
    /// queries the record (RFC 6762 §10.4). If no answer confirms it, a goodbye is sent that does not leave this
    /// machine.
    private func verifyForDaemon(
        _ key: RecordKey, _ data: DNSRecordData, _ interface: String?
    ) throws(ServiceDiscoveryError) {
        let record = DNSRecord(key.name, timeToLive: 0, data)
        guard state.withLock({ $0.verifying.insert(record.identity).inserted }) else { return }
        let presence = RecordPresence(data)
        let query = OperationNumber.next()
        do throws(ServiceDiscoveryError) {
            try embedded.query(key, interface: interface, as: query, sink: presence)
            EventLoop.shared.schedule(at: .now + verificationTime) { [embedded, weak self] in
                embedded.end(query)
                if !presence.isKnown { embedded.sendLocalGoodbye(for: record) }
                self?.state.withLock { _ = $0.verifying.remove(record.identity) }
            }
        } catch {
            state.withLock { _ = $0.verifying.remove(record.identity) }
            throw error
        }
    }

    /// The limit of the embedded engine; the daemon's cannot be set.
    var maximumWaiting: WaitingLimit { embedded.maximumWaiting }

    func end(_ operation: Int) {
        state.withLock { $0.operations.removeValue(forKey: operation) }?.end()
    }

    private func begin(
        _ number: Int, _ sink: any EventSink, with engines: [any RecordEngine]? = nil,
        _ start: @escaping FallbackOperation.Start
    ) throws(ServiceDiscoveryError) {
        let operation = FallbackOperation(number, sink: sink, start: start, engines: engines ?? [daemon, embedded])
        state.withLock { $0.operations[number] = operation }
        do throws(ServiceDiscoveryError) {
            try operation.begin()
        } catch {
            end(number)
            throw error
        }
    }
}

/// One operation of an ``AutomaticEngine``: forwards the events of the first engine that accepts it.
///
/// Theory of operation. The engines are tried in order, each with an ``Attempt`` as its sink. Only the newest attempt
/// counts. An engine may fail while the call that begins its operation has not returned yet; the next attempt then
/// starts at once, perhaps on another thread, and the operation of the slow call is ended when it returns. An operation that
/// begins after ``end()`` is ended as well. Events of an attempt that no longer counts are dropped. The operation has the same
/// number at each engine.
final class FallbackOperation: Sendable {
    typealias Start = @Sendable (any RecordEngine, any EventSink) throws(ServiceDiscoveryError) -> Void

    /// The sink of one engine.
    private final class Attempt: EventSink {
        let number: Int
        private weak let operation: FallbackOperation?

        init(_ number: Int, of operation: FallbackOperation) {
            self.number = number
            self.operation = operation
        }

        func receive(_ event: DiscoveryEvent, of operation: Int) {
            self.operation?.receive(event, of: self)
        }

        func notify() {
            operation?.notify(self)
        }
    }

    private struct State {
        weak var sink: (any EventSink)?
        /// Retained from an event until its notification: released with the engine's lock held, its deinitializer would
        /// need the same lock.
        var retainedSink: (any EventSink)?
        /// The engines that were not tried yet.
        var engines: ArraySlice<any RecordEngine>
        /// The attempt that counts. Retained here because engines do not retain their sinks.
        var attempt: Attempt?
        var attempts = 0
        /// The engine of the attempt that counts, once it has begun and has the newest record.
        var current: (any RecordEngine)?
        /// The TXT record of the last update; nil for that of the advertisement.
        var record: TXTRecord?
        /// Whether an engine has begun, so that its failures are those of the operation.
        var isSettled = false
        /// Whether the current attempt has failed before that, so that another one follows.
        var isRefused = false
        var isOver = false
    }

    private let id: Int
    private let start: Start
    private let state: Locked<State>

    init(
        _ id: Int, sink: any EventSink, start: @escaping Start, engines: [any RecordEngine]
    ) {
        self.id = id
        self.start = start
        state = Locked(State(sink: sink, engines: engines[...]))
    }

    /// Begins the operation with the next engine that accepts it.
    func begin() throws(ServiceDiscoveryError) {
        while let (attempt, engine) = nextAttempt() {
            do throws(ServiceDiscoveryError) {
                try start(engine, attempt)
            } catch {
                if state.withLock({ $0.attempt !== attempt }) { return }
                if state.withLock({ $0.engines.isEmpty }) { throw error }
                continue
            }
            do throws(ServiceDiscoveryError) {
                if try !adopt(engine, in: attempt) { engine.end(id) }
            } catch {
                engine.end(id)
                throw error
            }
            return
        }
    }

    private func nextAttempt() -> (Attempt, any RecordEngine)? {
        state.withLock { state in
            guard !state.isOver, let engine = state.engines.popFirst() else { return nil }
            state.attempts += 1
            let attempt = Attempt(state.attempts, of: self)
            (state.attempt, state.current, state.isRefused) = (attempt, nil, false)
            return (attempt, engine)
        }
    }

    /// Stores the engine of an attempt after it was updated to the newest record; false if the attempt no longer counts.
    private func adopt(_ engine: any RecordEngine, in attempt: Attempt) throws(ServiceDiscoveryError) -> Bool {
        var announced: TXTRecord?
        while true {
            let (counts, newer) = state.withLock { state -> (Bool, TXTRecord?) in
                guard !state.isOver, state.attempt === attempt else { return (false, nil) }
                if let record = state.record, record != announced { return (true, record) }
                state.current = engine
                return (true, nil)
            }
            guard counts, let newer else { return counts }
            try engine.update(id, record: newer)
            announced = newer
        }
    }

    /// Announces a new TXT record: at once, or as soon as an engine has begun.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine rejects it; the old record stays in effect.
    func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        let (current, old) = state.withLock { state in
            defer { state.record = record }
            return (state.current, state.record)
        }
        guard let current else { return }
        do throws(ServiceDiscoveryError) {
            try current.update(id, record: record)
        } catch {
            state.withLock { if $0.record == record { $0.record = old } }
            throw error
        }
    }

    /// Replaces the records beside the published ones.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/unsupported`` if a daemon publishes, or may still do so; the former records
    ///   stay in effect.
    func update(_ records: [OwnRecord]) throws(ServiceDiscoveryError) {
        guard let current = state.withLock({ $0.current }) else {
            throw ServiceDiscoveryError(.unsupported, detail: "the daemon is asked first; it publishes no such records")
        }
        try current.update(id, records: records)
    }

    func end() {
        let (current, attempt) = state.withLock { state in
            state.isOver = true
            return (state.current.take(), state.attempt.take())
        }
        current?.end(id)
        withExtendedLifetime(attempt) {}  // released without the lock
    }

    private func receive(_ event: DiscoveryEvent, of attempt: Attempt) {
        let sink = state.withLock { state -> (any EventSink)? in
            guard state.attempt === attempt, !state.isRefused else { return nil }
            if case .failed(let error) = event, !state.isSettled, !state.engines.isEmpty, error.code != .collision {
                state.isRefused = true
                return nil
            }
            state.isSettled = true
            state.retainedSink = state.sink
            return state.retainedSink
        }
        sink?.receive(event, of: id)
    }

    private func notify(_ attempt: Attempt) {
        let (retainedSink, sink, isRefused) = state.withLock { state in
            guard state.attempt === attempt else {
                return (nil as (any EventSink)?, nil as (any EventSink)?, false)
            }
            defer { (state.retainedSink, state.isRefused) = (nil, false) }
            return (state.retainedSink, state.sink, state.isRefused)
        }
        if isRefused {
            do throws(ServiceDiscoveryError) {
                try begin()
                return
            } catch {
                sink?.receive(.failed(error), of: id)
            }
        }
        sink?.notify()
        withExtendedLifetime(retainedSink) {}  // released without the lock
    }
}

/// Observes whether a record exists.
final class RecordPresence: EventSink {
    private let data: DNSRecordData
    private let interfaces = Locked<Set<UInt32>>([])

    init(_ data: DNSRecordData) {
        self.data = data
    }

    /// Whether the record is known on at least one interface.
    var isKnown: Bool { interfaces.withLock { !$0.isEmpty } }

    func receive(_ event: DiscoveryEvent, of operation: Int) {
        switch event {
        case .added(let record, let interface, _) where record.data == data:
            interfaces.withLock { _ = $0.insert(interface) }
        case .removed(let record, let interface) where record.data == data:
            interfaces.withLock { _ = $0.remove(interface) }
        default: break
        }
    }

    func notify() {}
}
