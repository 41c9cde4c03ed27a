internal import DNSWire
internal import EventLoops
internal import Glibc
internal import HostResolver

/// The engine of the system's daemon, Avahi or mDNSResponder, through the library of dns_sd.h.
///
/// Theory of operation. Every query is a `DNSServiceQueryRecord`, which all libraries have and which runs until it is
/// ended. Equal queries of this process share one, because each takes a connection to the daemon. The library's calls
/// wait for the daemon, so all of them run on a thread of the engine, callers never wait for them, and their
/// failures are reported by events. Operations that Avahi's library does not support are refused here, because that
/// library would also print messages on standard error.
final class DaemonEngine: RecordEngine, Sendable {
    /// The only engine of the system's library.
    static let shared = DaemonEngine(DaemonLibrary.installed)

    /// How long browse results are gathered before they are delivered: the daemon does not report whether more follow.
    static let gatheringTime: Duration = .milliseconds(50)

    private struct Operation {
        weak var sink: (any EventSink)?
        var subject: DaemonQuery.Subject?
        /// The published service, with the newest TXT record.
        var advertisement: ServiceAdvertisement?
        /// Reads the publication's replies; nil until the daemon has begun with the newest TXT record.
        var reader: DaemonReader?
        /// The TXT record that the daemon has.
        var announced: TXTRecord?
    }

    private struct State {
        var operations: [Int: Operation] = [:]
        var queries: [DaemonQuery.Subject: DaemonQuery] = [:]
        /// The sinks to notify when the gathering time ends.
        var waiting: [Int: any EventSink] = [:]
        var gatheringTimer: LoopTimer?
    }

    private let library: DaemonLibrary?
    // One thread per process, created with the first operation.
    private static let loop = EventLoop(name: "netkit-dnssd")
    private let state = Locked(State())

    init(_ library: DaemonLibrary?) {
        self.library = library
    }

    func query(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        let library = try requireLibrary()
        guard !library.isAvahi || key.name.isLocal else {
            throw ServiceDiscoveryError(
                .unsupported, name: key.name.description, detail: "Avahi's library browses only in local.")
        }
        let subject = DaemonQuery.Subject(key: key, interface: try Self.index(of: interface))
        let (known, isNew) = state.withLock { state -> ([DiscoveryEvent], Bool) in
            state.operations[operation] = Operation(sink: sink, subject: subject)
            let isNew = state.queries[subject] == nil
            let new = DaemonQuery(number: operation, records: DaemonRecords(of: key.name))
            state.queries[subject, default: new].operations.insert(operation)
            let known = state.queries[subject]?.records.known ?? []
            for event in known { sink.receive(event, of: operation) }
            return (known, isNew)
        }
        if isNew {
            Self.loop.execute { self.begin(subject, number: operation, library) }
        } else if !known.isEmpty {
            Self.loop.execute { sink.notify() }
        }
    }

    /// The daemon asks the link for names in `local`, and name servers for others.
    func queryLink(
        _ key: RecordKey, interface: String?, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        guard key.name.isLocal else {
            throw ServiceDiscoveryError(
                .unsupported, name: key.name.description, detail: "the daemon asks the link for names in local only")
        }
        try query(key, interface: interface, as: operation, sink: sink)
    }

    func publish(
        _ advertisement: ServiceAdvertisement, as operation: Int, sink: any EventSink
    ) throws(ServiceDiscoveryError) {
        let library = try requireLibrary()
        if library.isAvahi, !advertisement.renamesOnConflict {
            throw ServiceDiscoveryError(
                .unsupported, name: advertisement.name, detail: "Avahi's library always renames after a conflict")
        }
        if library.isAvahi, !(advertisement.domain?.isLocal ?? true) {
            throw ServiceDiscoveryError(
                .unsupported, name: advertisement.domain?.description,
                detail: "Avahi's library publishes only in local.")
        }
        _ = try ServiceInstance(
            name: advertisement.name, type: advertisement.type, domain: advertisement.domain ?? .local)
        let interface = try Self.index(of: advertisement.interface)
        state.withLock { $0.operations[operation] = Operation(sink: sink, advertisement: advertisement) }
        Self.loop.execute { self.begin(operation, interface, library) }
    }

    // A record that the daemon refuses fails the operation, because its answer comes later.
    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        let exists = state.withLock { state in
            // If the publication has not begun, it will use the newest record.
            state.operations[operation]?.advertisement?.record = record
            return state.operations[operation]?.advertisement != nil
        }
        guard exists else { throw ServiceDiscoveryError(.invalidated) }
        Self.loop.execute { self.announce(operation) }
    }

    func reconfirm(
        _ key: RecordKey, _ data: DNSRecordData, interface: String?
    ) throws(ServiceDiscoveryError) {
        let library = try requireLibrary()
        let index = try Self.index(of: interface)
        guard library.reconfirms else {
            throw ServiceDiscoveryError(
                .unsupported, name: key.name.description, detail: "Avahi's library cannot reconfirm a record")
        }
        // Only a hint to the daemon: a failure changes nothing.
        Self.loop.execute { _ = library.reconfirm(key, data.wireForm, interface: index) }
    }

    func end(_ operation: Int) {
        let reader = state.withLock { state -> DaemonReader? in
            state.waiting[operation] = nil
            guard let old = state.operations.removeValue(forKey: operation) else { return nil }
            guard let subject = old.subject else { return old.reader }
            state.queries[subject]?.operations.remove(operation)
            guard state.queries[subject]?.operations.isEmpty == true else { return nil }
            return state.queries.removeValue(forKey: subject)?.reader
        }
        guard let reader else { return }
        reader.stop()
        // The library talks to the daemon to end an operation, which may take long.
        Self.loop.execute { reader.end() }
    }

    private func requireLibrary() throws(ServiceDiscoveryError) -> DaemonLibrary {
        guard let library else {
            throw ServiceDiscoveryError(.daemonUnavailable, detail: "libdns_sd.so.1 is not installed")
        }
        return library
    }

    private static func index(of interface: String?) throws(ServiceDiscoveryError) -> UInt32 {
        guard let interface else { return 0 }
        guard let index = try InterfaceName.index(of: interface) else {
            throw ServiceDiscoveryError(.badArgument, name: interface, detail: "no such interface")
        }
        return index
    }
}

// MARK: - On the loop

extension DaemonEngine {
    private func begin(_ subject: DaemonQuery.Subject, number: Int, _ library: DaemonLibrary) {
        guard state.withLock({ $0.queries[subject]?.number == number }) else { return }
        do throws(ServiceDiscoveryError) {
            let reference = try DaemonReference(querying: subject.key, interface: subject.interface, library: library)
            let reader = DaemonReader(reference, loop: Self.loop) { [weak self] in
                self?.receive($0, of: subject, number: number)
            }
            let isWanted = state.withLock { state in
                guard state.queries[subject]?.number == number else { return false }
                state.queries[subject]?.reader = reader
                return true
            }
            if !isWanted { reader.end() }
        } catch {
            fail(subject, number: number, error)
        }
    }

    private func begin(_ id: Int, _ interface: UInt32, _ library: DaemonLibrary) {
        var takenName: String?
        while let advertisement = state.withLock({ $0.operations[id]?.advertisement }) {
            let name = takenName.map(NameSuccession.afterService) ?? advertisement.name
            do throws(ServiceDiscoveryError) {
                let reference = try DaemonReference(
                    publishing: advertisement, name: name, interface: interface, library: library)
                let reader = DaemonReader(reference, loop: Self.loop) { [weak self] in
                    self?.receive($0, of: id, advertisement)
                }
                do throws(ServiceDiscoveryError) {
                    if try !adopt(reader, of: id, publishing: advertisement.record) { reader.end() }
                } catch {
                    reader.end()
                    fail(id, error)
                }
                return
            } catch {
                // Avahi chooses another name if another host has this one, but not if this host has it.
                guard error.code == .collision, advertisement.renamesOnConflict else {
                    return fail(id, error)
                }
                takenName = name
            }
        }
    }

    /// Announces the newest TXT record of a publication that has begun.
    private func announce(_ id: Int) {
        let pending = state.withLock { state -> (DaemonReader, TXTRecord)? in
            guard let operation = state.operations[id], let reader = operation.reader,
                let record = operation.advertisement?.record, record != operation.announced
            else { return nil }
            state.operations[id]?.announced = record
            return (reader, record)
        }
        guard let (reader, record) = pending else { return }
        let error = reader.update(record)
        if error != 0 { fail(id, DaemonNumber.error(error)) }
    }

    /// Stores the reader of a publication that began with `record`, after it was updated to the newest record; false if
    /// the operation has ended.
    private func adopt(
        _ reader: DaemonReader, of id: Int, publishing record: TXTRecord
    ) throws(ServiceDiscoveryError) -> Bool {
        var announced = record
        while true {
            let (isWanted, newer) = state.withLock { state -> (Bool, TXTRecord?) in
                guard let wanted = state.operations[id]?.advertisement?.record else { return (false, nil) }
                if wanted != announced { return (true, wanted) }
                state.operations[id]?.reader = reader
                state.operations[id]?.announced = announced
                return (true, nil)
            }
            guard isWanted, let newer else { return isWanted }
            let error = reader.update(newer)
            if error != 0 { throw DaemonNumber.error(error) }
            announced = newer
        }
    }

    /// Reports the replies of a query to all operations that share it, unless it has ended.
    func receive(_ replies: [DaemonReply], of subject: DaemonQuery.Subject, number: Int) {
        var failure: ServiceDiscoveryError?
        let sinks = state.withLock { state -> [any EventSink] in
            guard state.queries[subject]?.number == number else { return [] }
            var notified: [Int: any EventSink] = [:]
            for reply in replies {
                if case .failed(let error) = reply { failure = error }
                guard let event = state.queries[subject]?.records.receive(reply) else { continue }
                for id in state.queries[subject]?.operations ?? [] {
                    guard let sink = state.operations[id]?.sink else { continue }
                    sink.receive(event, of: id)
                    notified[id] = sink
                }
            }
            guard subject.key.type == .ptr else { return Array(notified.values) }
            state.waiting.merge(notified) { $1 }
            if state.gatheringTimer == nil {
                state.gatheringTimer = Self.loop.schedule(at: .now + Self.gatheringTime) { [weak self] in
                    self?.notifyWaiting()
                }
            }
            return []
        }
        for sink in sinks { sink.notify() }
        if let failure { fail(subject, number: number, failure.about(subject.key.name.description)) }
    }

    private func receive(_ replies: [DaemonReply], of id: Int, _ advertisement: ServiceAdvertisement) {
        for reply in replies {
            switch reply {
            case .registered(let name):
                let instance = try? ServiceInstance(
                    name: name, type: advertisement.type, domain: advertisement.domain ?? .local)
                guard let instance else { continue }
                report(.published(instance), to: id)
            case .failed(let error): fail(id, error.about(advertisement.name))
            case .added, .removed: break
            }
        }
    }

    private func notifyWaiting() {
        let sinks = state.withLock { state in
            defer { (state.waiting, state.gatheringTimer) = ([:], nil) }
            return Array(state.waiting.values)
        }
        for sink in sinks { sink.notify() }
    }

    private func fail(_ subject: DaemonQuery.Subject, number: Int, _ error: ServiceDiscoveryError) {
        // Removed before its operations are notified: one that begins meanwhile starts another query, instead of joining this
        // one, which reports nothing more.
        let query = state.withLock { state -> DaemonQuery? in
            guard state.queries[subject]?.number == number else { return nil }
            return state.queries.removeValue(forKey: subject)
        }
        guard let query else { return }
        query.reader?.end()
        for id in query.operations.sorted() { fail(id, error) }
    }

    private func fail(_ id: Int, _ error: ServiceDiscoveryError) {
        report(.failed(error), to: id)
        end(id)
    }

    private func report(_ event: DiscoveryEvent, to id: Int) {
        // The sink is retained until the lock is released: its deinitializer would need the same lock.
        let sink = state.withLock { state in
            let sink = state.operations[id]?.sink
            sink?.receive(event, of: id)
            return sink
        }
        sink?.notify()
    }
}

/// A query of the daemon, shared by all operations that need it.
struct DaemonQuery {
    /// The records and interface of the query.
    struct Subject: Hashable {
        let key: RecordKey
        let interface: UInt32
    }

    /// The operation that began the query. A reply may arrive late, when another query has the same subject.
    let number: Int
    var records: DaemonRecords
    /// Nil while the query is being begun.
    var reader: DaemonReader?
    /// The operations that share the query.
    var operations: Set<Int> = []
}

/// The records that one query has returned. Avahi reports each record once for IPv4 and once for IPv6, with the same
/// interface index: it is added with the first report and removed with the last.
struct DaemonRecords {
    private struct Entry: Hashable {
        let data: DNSRecordData
        let interface: UInt32
    }

    private let name: DNSName
    private var counts: [Entry: Int] = [:]
    private var order: [(entry: Entry, interfaceName: String?)] = []

    init(of name: DNSName) {
        self.name = name
    }

    /// The known records, in the order of their arrival.
    var known: [DiscoveryEvent] {
        order.map { .added(record($0.entry.data), interface: $0.entry.interface, named: $0.interfaceName) }
    }

    /// Processes a reply; returns an event, or nil if no record has changed.
    mutating func receive(_ reply: DaemonReply) -> DiscoveryEvent? {
        switch reply {
        case .added(let data, let interface, let name):
            let entry = Entry(data: data, interface: interface)
            counts[entry, default: 0] += 1
            guard counts[entry] == 1 else { return nil }
            order.append((entry, name))
            return .added(record(data), interface: interface, named: name)
        case .removed(let data, let interface):
            let entry = Entry(data: data, interface: interface)
            guard let count = counts[entry] else { return nil }
            counts[entry] = count == 1 ? nil : count - 1
            guard count == 1 else { return nil }
            order.removeAll { $0.entry == entry }
            return .removed(record(data), interface: interface)
        case .registered, .failed: return nil
        }
    }

    /// The time to live is zero because the daemon manages it and does not report it.
    private func record(_ data: DNSRecordData) -> DNSRecord {
        DNSRecord(name, timeToLive: 0, data)
    }
}
