internal import EventLoops
internal import Glibc
internal import HostResolver

/// The system's daemon, through the library of dns_sd.h: Avahi's, or mDNSResponder's.
///
/// Theory of operation. Every question is a `DNSServiceQueryRecord`, which all libraries have, and which goes on; equal
/// questions of this process are one, as each takes a connection to the daemon. The daemon is asked to begin on a thread
/// of the engine's own: it may hang, and callers never wait for it. What goes wrong is therefore told by an event.
/// What Avahi's library lacks is refused here, as the library would also print lines on standard error.
final class DaemonEngine: DiscoveryBackend, Sendable {
    /// The one engine for the system's library.
    static let shared = DaemonEngine(DaemonLibrary.installed)

    /// How long what it says of a browse is gathered before it is passed on: it never says whether more is coming.
    static let gatheringTime: Duration = .milliseconds(50)

    private struct Operation {
        weak var sink: (any DiscoverySink)?
        var subject: DaemonQuery.Subject?
        /// What is published, with the TXT record last given.
        var advertisement: ServiceAdvertisement?
        /// What publishes it; nil until the daemon has begun with the record last given.
        var watch: DaemonWatch?
    }

    private struct State {
        var lastID = 0
        var operations: [Int: Operation] = [:]
        var queries: [DaemonQuery.Subject: DaemonQuery] = [:]
        /// Who is to be rung once it is quiet.
        var waiting: [Int: any DiscoverySink] = [:]
        var bell: LoopTimer?
    }

    private let library: DaemonLibrary?
    // One thread for the process, made with the first operation.
    private static let loop = EventLoop(name: "netkit-dnssd")
    private let state = Locked(State())

    init(_ library: DaemonLibrary?) {
        self.library = library
    }

    func ask(_ key: RecordKey, interface: String?, sink: any DiscoverySink) throws(ServiceDiscoveryError) -> Int {
        let library = try usable()
        guard !library.isPartial || key.name.isLocal else {
            throw ServiceDiscoveryError(
                .unsupported, name: key.name.description, detail: "Avahi's library browses only in local.")
        }
        let subject = DaemonQuery.Subject(key: key, interface: try Self.index(of: interface))
        let (id, known, isNew) = state.withLock { state -> (Int, [DiscoveryEvent], Bool) in
            state.lastID += 1
            let id = state.lastID
            state.operations[id] = Operation(sink: sink, subject: subject)
            let isNew = state.queries[subject] == nil
            state.queries[subject, default: DaemonQuery(records: DaemonRecords(of: key.name))].operations.insert(id)
            let known = state.queries[subject]?.records.known ?? []
            for event in known { sink.put(event, of: id) }
            return (id, known, isNew)
        }
        if isNew {
            Self.loop.execute { self.begin(subject, library) }
        } else if !known.isEmpty {
            Self.loop.execute { sink.ring() }
        }
        return id
    }

    func publish(
        _ advertisement: ServiceAdvertisement, sink: any DiscoverySink
    ) throws(ServiceDiscoveryError) -> Int {
        let library = try usable()
        if library.isPartial, !advertisement.renamesOnConflict {
            throw ServiceDiscoveryError(
                .unsupported, name: advertisement.name, detail: "Avahi's library always renames after a conflict")
        }
        if library.isPartial, !(advertisement.domain?.isLocal ?? true) {
            throw ServiceDiscoveryError(
                .unsupported, name: advertisement.domain?.description,
                detail: "Avahi's library publishes only in local.")
        }
        _ = try ServiceInstance(
            name: advertisement.name, type: advertisement.type, domain: advertisement.domain ?? .local)
        let interface = try Self.index(of: advertisement.interface)
        let id = state.withLock { state in
            state.lastID += 1
            state.operations[state.lastID] = Operation(sink: sink, advertisement: advertisement)
            return state.lastID
        }
        Self.loop.execute { self.begin(id, interface, library) }
        return id
    }

    func update(_ operation: Int, record: TXTRecord) throws(ServiceDiscoveryError) {
        let (old, watch) = try state.withLock { state -> Result<(TXTRecord, DaemonWatch?), ServiceDiscoveryError> in
            guard let old = state.operations[operation]?.advertisement?.record else {
                return .failure(ServiceDiscoveryError(.invalidated))
            }
            // Where nothing publishes yet, what begins takes the newest record.
            state.operations[operation]?.advertisement?.record = record
            return .success((old, state.operations[operation]?.watch))
        }.get()
        let error = watch?.update(record) ?? 0
        guard error != 0 else { return }
        state.withLock { state in
            guard state.operations[operation]?.advertisement?.record == record else { return }
            state.operations[operation]?.advertisement?.record = old
        }
        throw DaemonNumber.error(error)
    }

    func reconfirm(_ key: RecordKey, _ data: DNSRecordData) throws(ServiceDiscoveryError) {
        let library = try usable()
        guard case .ptr(let target) = data else { return }
        let error = library.reconfirm(key, target.wireForm)
        if error == DaemonNumber.unsupported {
            throw ServiceDiscoveryError(
                .unsupported, name: key.name.description, detail: "Avahi's library cannot reconfirm a record")
        }
        if error != 0 { throw DaemonNumber.error(error) }
    }

    func end(_ operation: Int) {
        let watch = state.withLock { state -> DaemonWatch? in
            state.waiting[operation] = nil
            guard let old = state.operations.removeValue(forKey: operation) else { return nil }
            guard let subject = old.subject else { return old.watch }
            state.queries[subject]?.operations.remove(operation)
            guard state.queries[subject]?.operations.isEmpty == true else { return nil }
            return state.queries.removeValue(forKey: subject)?.watch
        }
        watch?.end()
    }

    private func usable() throws(ServiceDiscoveryError) -> DaemonLibrary {
        guard let library else {
            throw ServiceDiscoveryError(.daemonUnavailable, detail: "libdns_sd.so.1 is not installed")
        }
        return library
    }

    private static func index(of interface: String?) throws(ServiceDiscoveryError) -> UInt32 {
        guard let interface else { return 0 }
        let index = if_nametoindex(interface)
        if index == 0 {
            throw ServiceDiscoveryError(.badArgument, name: interface, detail: "no such interface")
        }
        return index
    }
}

// MARK: - On the loop

extension DaemonEngine {
    private func begin(_ subject: DaemonQuery.Subject, _ library: DaemonLibrary) {
        guard state.withLock({ $0.queries[subject] != nil }) else { return }
        do throws(ServiceDiscoveryError) {
            let reference = try DaemonReference(asking: subject.key, interface: subject.interface, library: library)
            let watch = DaemonWatch(reference, loop: Self.loop) { [weak self] in self?.take($0, of: subject) }
            let isWanted = state.withLock { state in
                guard state.queries[subject] != nil, state.queries[subject]?.watch == nil else { return false }
                state.queries[subject]?.watch = watch
                return true
            }
            if !isWanted { watch.end() }
        } catch {
            fail(subject, error)
        }
    }

    private func begin(_ id: Int, _ interface: UInt32, _ library: DaemonLibrary) {
        var takenName: String?
        while let advertisement = state.withLock({ $0.operations[id]?.advertisement }) {
            let name = takenName.map(NameSuccession.afterService) ?? advertisement.name
            do throws(ServiceDiscoveryError) {
                let reference = try DaemonReference(
                    publishing: advertisement, name: name, interface: interface, library: library)
                let watch = DaemonWatch(reference, loop: Self.loop) { [weak self] in
                    self?.take($0, of: id, advertisement)
                }
                do throws(ServiceDiscoveryError) {
                    if try !adopt(watch, of: id, publishing: advertisement.record) { watch.end() }
                } catch {
                    watch.end()
                    fail(id, error)
                }
                return
            } catch {
                // Avahi takes another name if another host has this one, not if this host has.
                guard error.code == .collision, advertisement.renamesOnConflict else {
                    return fail(id, error)
                }
                takenName = name
            }
        }
    }

    /// Takes what publishes `record`, after handing it the record last given; false if the operation is over.
    private func adopt(
        _ watch: DaemonWatch, of id: Int, publishing record: TXTRecord
    ) throws(ServiceDiscoveryError) -> Bool {
        var given = record
        while true {
            let (isWanted, missing) = state.withLock { state -> (Bool, TXTRecord?) in
                guard let wanted = state.operations[id]?.advertisement?.record else { return (false, nil) }
                if wanted != given { return (true, wanted) }
                state.operations[id]?.watch = watch
                return (true, nil)
            }
            guard isWanted, let missing else { return isWanted }
            let error = watch.update(missing)
            if error != 0 { throw DaemonNumber.error(error) }
            given = missing
        }
    }

    /// What was said of a question, for all who ask it.
    private func take(_ replies: [DaemonReply], of subject: DaemonQuery.Subject) {
        var failure: ServiceDiscoveryError?
        let sinks = state.withLock { state -> [any DiscoverySink] in
            var told: [Int: any DiscoverySink] = [:]
            for reply in replies {
                switch reply {
                case .record(let data, let interface, let isAdded):
                    let event = state.queries[subject]?.records.receive(data, interface: interface, isAdded: isAdded)
                    guard let event else { continue }
                    for id in state.queries[subject]?.operations ?? [] {
                        guard let sink = state.operations[id]?.sink else { continue }
                        sink.put(event, of: id)
                        told[id] = sink
                    }
                case .failed(let error): failure = error
                case .registered: break
                }
            }
            guard subject.key.type == .ptr else { return Array(told.values) }
            state.waiting.merge(told) { $1 }
            if state.bell == nil {
                state.bell = Self.loop.schedule(at: .now + Self.gatheringTime) { [weak self] in self?.ringWaiting() }
            }
            return []
        }
        for sink in sinks { sink.ring() }
        if let failure { fail(subject, failure.about(subject.key.name.description)) }
    }

    private func take(_ replies: [DaemonReply], of id: Int, _ advertisement: ServiceAdvertisement) {
        for reply in replies {
            switch reply {
            case .registered(let name):
                let instance = try? ServiceInstance(
                    name: name, type: advertisement.type, domain: advertisement.domain ?? .local)
                guard let instance else { continue }
                tell(.published(instance), to: id)
            case .failed(let error): fail(id, error.about(advertisement.name))
            case .record: break
            }
        }
    }

    private func ringWaiting() {
        let sinks = state.withLock { state in
            defer { (state.waiting, state.bell) = ([:], nil) }
            return Array(state.waiting.values)
        }
        for sink in sinks { sink.ring() }
    }

    private func fail(_ subject: DaemonQuery.Subject, _ error: ServiceDiscoveryError) {
        let ids = state.withLock { $0.queries[subject]?.operations ?? [] }
        for id in ids.sorted() { fail(id, error) }
    }

    private func fail(_ id: Int, _ error: ServiceDiscoveryError) {
        tell(.failed(error), to: id)
        end(id)
    }

    private func tell(_ event: DiscoveryEvent, to id: Int) {
        // Kept alive until the lock is left: who goes inside of it would want it too.
        let sink = state.withLock { state in
            let sink = state.operations[id]?.sink
            sink?.put(event, of: id)
            return sink
        }
        sink?.ring()
    }
}
