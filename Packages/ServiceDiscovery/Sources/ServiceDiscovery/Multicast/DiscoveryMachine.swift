internal import DNSWire

/// Multicast DNS and DNS-SD of one host on all its links: publications, queries and names.
///
/// Theory of operation. Each link has a ``LinkMachine`` with its own cache. This machine passes publications and
/// queries to the links, and turns their events into events of the callers' operations. A service has one name: if the
/// name is lost on one link, it is changed on all. Inputs are packets, time and changes of links; ``next(now:)``
/// returns the next action.
struct DiscoveryMachine {
    /// The next action for the driver.
    enum Action {
        case send(Transmission)
        case report(Int, DiscoveryEvent)
        /// Wait until that time, or for the next input if nil.
        case wait(DiscoveryTime?)
    }

    /// The publication of the host itself; the numbers of operations are positive.
    private static let hostID = 0

    let limits: EngineLimits
    private var random: DelayRandom
    /// Whether unicast packets reach this process: not all do if another socket uses the port (RFC 6762 §15.1).
    var receivesUnicast = true {
        didSet { for index in links.keys { links[index]?.receivesUnicast = receivesUnicast } }
    }
    private var links: [UInt32: LinkMachine] = [:]
    private var hostLabel: String
    private var hostConflicts = RecentConflicts()
    private var registrations: [Int: Registration] = [:]
    private var records: [Int: RecordRegistration] = [:]
    private var queries: [Int: (key: RecordKey, interface: String?)] = [:]
    private var queriesByKey: [RecordKey: Set<Int>] = [:]
    private var transmissions: [Transmission] = []
    private var sendingFrom = 0
    private var reports: [(Int, DiscoveryEvent)] = []
    private var reportingFrom = 0
    private var closed = EngineStatistics()

    /// Creates a machine without links; `hostLabel` is the first label of the requested host name.
    init(hostLabel: String, limits: EngineLimits = EngineLimits(), seed: UInt64) {
        self.hostLabel = hostLabel
        self.limits = limits
        random = DelayRandom(seed: seed)
    }

    /// The current name of this host; a conflict changes it.
    var hostName: DNSName {
        DNSName(labels: [Array(hostLabel.utf8)] + ServiceRecords.local) ?? .root
    }

    /// The counts so far, of all links.
    var statistics: EngineStatistics {
        var sum = closed
        for link in links.values {
            sum += link.counts
            sum.cachedRecords += link.cachedRecords
        }
        return sum
    }

    /// Whether no operation is running.
    var isIdle: Bool { registrations.isEmpty && records.isEmpty && queries.isEmpty }

    /// Whether questions are due. They request a unicast response if ``receivesUnicast`` is true.
    func hasQuestionsDue(_ now: DiscoveryTime) -> Bool { links.values.contains { $0.hasQuestionsDue(now) } }

    // MARK: Inputs

    /// Processes a change of interfaces or of their addresses.
    mutating func setLinks(_ new: [MulticastLink], now: DiscoveryTime) {
        let new = Dictionary(new.prefix(limits.interfaces).map { ($0.index, $0) }) { first, _ in first }
        for index in links.keys.sorted() where new[index] == nil { closeLink(index, now: now) }
        let addresses = HostAddresses(new.values)
        for index in links.keys { links[index]?.hostAddresses = addresses }
        for (index, link) in new.sorted(by: { $0.key < $1.key }) {
            if links[index]?.link == link { continue }
            if links[index] == nil {
                links[index] = LinkMachine(link, limits: limits, seed: random.next())
                links[index]?.hostAddresses = addresses
                links[index]?.receivesUnicast = receivesUnicast
                for (key, ids) in queriesByKey where ids.contains(where: { includes(queries[$0]?.interface, index) }) {
                    links[index]?.begin(key, now: now)
                }
                for id in registrations.keys.sorted() { publish(id, on: index, pause: .zero, now: now) }
                for id in records.keys.sorted() { publishRecord(id, on: index, now: now) }
            }
            links[index]?.link = link
            if !registrations.isEmpty { publishHost(on: index, pause: .zero, now: now) }
        }
        collect(now: now)
        for id in registrations.keys.sorted() + records.keys.sorted() { reportVisibility(id) }
    }

    /// Processes a received packet.
    mutating func receive(_ datagram: Datagram, now: DiscoveryTime) {
        links[datagram.interface]?.receive(datagram, now: now)
        collect(datagram.interface, now: now)
    }

    /// Begins to query records, until ``end(_:now:)``. Known records are reported first.
    mutating func query(
        _ key: RecordKey, interface: String?, as id: Int, now: DiscoveryTime
    ) throws(ServiceDiscoveryError) {
        guard queries.count < limits.questions else {
            throw ServiceDiscoveryError(.limitReached, detail: "\(limits.questions) questions")
        }
        queries[id] = (key, interface)
        queriesByKey[key, default: []].insert(id)
        for index in links.keys.sorted() where includes(interface, index) {
            let name = links[index]?.link.name
            for record in links[index]?.known(key) ?? [] {
                reports.append((id, .added(record, interface: index, named: name)))
            }
            links[index]?.begin(key, now: now)
        }
    }

    /// Begins to publish a service, until ``end(_:now:)``.
    mutating func publish(
        _ advertisement: ServiceAdvertisement, as id: Int, now: DiscoveryTime
    ) throws(ServiceDiscoveryError) {
        try checkRegistrations()
        guard advertisement.domain?.isLocal ?? true else {
            throw ServiceDiscoveryError(
                .unsupported, name: advertisement.domain?.description, detail: "publishing outside local.")
        }
        var instance = try ServiceInstance(name: advertisement.name, type: advertisement.type)
        if isTaken(instance, by: nil) {
            guard advertisement.renamesOnConflict else {
                throw ServiceDiscoveryError(.collision, name: instance.description)
            }
            instance = successor(of: instance, for: nil)
        }
        registrations[id] = Registration(advertisement: advertisement, instance: instance)
        for index in links.keys.sorted() {
            if registrations.count == 1 { publishHost(on: index, pause: .zero, now: now) }
            publish(id, on: index, pause: .zero, now: now)
        }
    }

    /// Begins to publish a record, until ``end(_:now:)``.
    mutating func publish(
        _ record: RecordAdvertisement, as id: Int, now: DiscoveryTime
    ) throws(ServiceDiscoveryError) {
        try checkRegistrations()
        records[id] = RecordRegistration(advertisement: record)
        for index in links.keys.sorted() { publishRecord(id, on: index, now: now) }
    }

    /// Announces a new TXT record of a published service.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidated`` if the operation has ended.
    mutating func update(_ id: Int, record: TXTRecord, now: DiscoveryTime) throws(ServiceDiscoveryError) {
        guard registrations[id] != nil else { throw ServiceDiscoveryError(.invalidated) }
        registrations[id]?.advertisement.record = record
        for index in links.keys.sorted() { publish(id, on: index, pause: .zero, now: now) }
        collect(now: now)
    }

    /// Announces new further records of a published service, or a new record in place of a published one.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidated`` if the operation has ended.
    mutating func update(_ id: Int, records new: [OwnRecord], now: DiscoveryTime) throws(ServiceDiscoveryError) {
        if registrations[id] != nil {
            registrations[id]?.advertisement.furtherRecords = new
            for index in links.keys.sorted() { publish(id, on: index, pause: .zero, now: now) }
        } else if records[id] != nil, let record = new.first {
            records[id]?.advertisement.record = record
            for index in links.keys.sorted() { publishRecord(id, on: index, now: now) }
        } else {
            throw ServiceDiscoveryError(.invalidated)
        }
        collect(now: now)
    }

    /// Ends an operation; for a published service, a goodbye is queued. No further events are reported.
    mutating func end(_ id: Int, now: DiscoveryTime) {
        if let (key, _) = queries.removeValue(forKey: id) {
            queriesByKey[key]?.remove(id)
            if queriesByKey[key]?.isEmpty == true { queriesByKey[key] = nil }
            for index in links.keys.sorted() {
                let isQueried = queriesByKey[key]?.contains { includes(queries[$0]?.interface, index) } ?? false
                if !isQueried { links[index]?.end(key, now: now) }
            }
        }
        if registrations.removeValue(forKey: id) != nil {
            for index in links.keys.sorted() {
                links[index]?.withdraw(id, now: now)
                if registrations.isEmpty { links[index]?.withdraw(Self.hostID, now: now) }
            }
            collect(now: now)
        }
        if records.removeValue(forKey: id) != nil {
            for index in links.keys.sorted() { links[index]?.withdraw(id, now: now) }
            collect(now: now)
        }
        reports.removeAll { $0.0 == id }
        reportingFrom = 0
    }

    /// Ends all operations; the goodbyes of published services are queued.
    mutating func close(now: DiscoveryTime) {
        for id in registrations.keys.sorted() + records.keys.sorted() + queries.keys.sorted() { end(id, now: now) }
    }

    /// Verifies a record (RFC 6762 §10.4): it is removed unless an answer confirms it soon.
    mutating func reconfirm(_ key: RecordKey, _ data: DNSRecordData?, interface: String? = nil, now: DiscoveryTime) {
        for index in links.keys.sorted() where includes(interface, index) {
            links[index]?.verify(key, data, now: now)
        }
    }

    // MARK: Actions

    /// The next action. Call until it is a wait.
    mutating func next(now: DiscoveryTime) -> Action {
        while true {
            if sendingFrom < transmissions.count {
                defer { sendingFrom += 1 }
                return .send(transmissions[sendingFrom])
            }
            transmissions.removeAll(keepingCapacity: true)
            sendingFrom = 0
            if reportingFrom < reports.count {
                defer { reportingFrom += 1 }
                return .report(reports[reportingFrom].0, reports[reportingFrom].1)
            }
            reports.removeAll(keepingCapacity: true)
            reportingFrom = 0
            var isDue = false
            for index in links.keys.sorted() where links[index]?.isDue(now) == true {
                links[index]?.advance(now)
                collect(index, now: now)
                isDue = true
            }
            if !isDue { return .wait(links.values.compactMap(\.deadline).min()) }
        }
    }
}

// MARK: - Links and names

extension DiscoveryMachine {
    private func includes(_ interface: String?, _ index: UInt32) -> Bool {
        interface == nil || links[index]?.link.name == interface
    }

    private func checkRegistrations() throws(ServiceDiscoveryError) {
        guard registrations.count + records.count >= limits.registrations else { return }
        throw ServiceDiscoveryError(.limitReached, detail: "\(limits.registrations) published services")
    }

    private mutating func closeLink(_ index: UInt32, now: DiscoveryTime) {
        links[index]?.close(now: now)
        collect(index, now: now)
        if let link = links.removeValue(forKey: index) { closed += link.counts }
    }

    private mutating func publishHost(on index: UInt32, pause: Duration, now: DiscoveryTime) {
        guard let link = links[index]?.link else { return }
        let name = hostName
        links[index]?.publish(
            Self.hostID, name: name, unique: ServiceRecords.host(name, on: link), shared: [], pause: pause, now: now)
    }

    private mutating func publish(_ id: Int, on index: UInt32, pause: Duration, now: DiscoveryTime) {
        guard let registration = registrations[id] else { return }
        guard includes(registration.advertisement.interface, index) else { return }
        let (advertisement, instance) = (registration.advertisement, registration.instance)
        let unique = ServiceRecords.unique(advertisement, instance, host: hostName)
        links[index]?.publish(
            id, name: instance.fullName, unique: unique,
            shared: ServiceRecords.shared(advertisement, instance), pause: pause, now: now)
    }

    private mutating func publishRecord(_ id: Int, on index: UInt32, now: DiscoveryTime) {
        guard let advertisement = records[id]?.advertisement, includes(advertisement.interface, index) else { return }
        let (name, own) = (advertisement.name, advertisement.record)
        links[index]?.publish(
            id, name: name, unique: advertisement.isUnique ? [.unique(name, own.timeToLive, own.data)] : [],
            shared: advertisement.isUnique ? [] : [DNSRecord(name, timeToLive: own.timeToLive, own.data)],
            pause: .zero, now: now)
    }

    private mutating func collect(now: DiscoveryTime) {
        for index in links.keys.sorted() { collect(index, now: now) }
    }

    /// Takes the packets and events of a link.
    private mutating func collect(_ index: UInt32, now: DiscoveryTime) {
        guard let taken = links[index]?.take(), let name = links[index]?.link.name else { return }
        transmissions += taken.transmissions
        for event in taken.events {
            switch event {
            case .added(let record): report(.added(record, interface: index, named: name), record.key, index)
            case .removed(let record): report(.removed(record, interface: index), record.key, index)
            case .absent(let key): report(.absent(interface: index), key, index)
            case .established(Self.hostID):
                // Services whose announcement waited for the host's name are published now; others are announced
                // already and do not change.
                for id in registrations.keys.sorted() { publish(id, on: index, pause: .zero, now: now) }
                collect(index, now: now)
            case .established(let id): reportVisibility(id)
            case .conflict(Self.hostID): renameHost(now: now)
            case .conflict(let id): conflict(id, now: now)
            }
        }
    }

    private mutating func report(_ event: DiscoveryEvent, _ key: RecordKey, _ index: UInt32) {
        for id in (queriesByKey[key] ?? []).sorted() where includes(queries[id]?.interface, index) {
            reports.append((id, event))
        }
    }

    /// Reports that a service has become visible, or is not visible any more. It is visible when its name is
    /// established on all links that it uses, of which there must be at least one.
    private mutating func reportVisibility(_ id: Int) {
        guard let registration = registrations[id] else { return reportRecord(id) }
        let (instance, name) = (registration.instance, registration.instance.fullName)
        let included = links.filter { includes(registration.advertisement.interface, $0.key) }
        if included.isEmpty {
            if registration.reported != nil { reports.append((id, .hidden)) }
            registrations[id]?.reported = nil
        } else if registration.reported != instance, included.values.allSatisfy({ $0.hasPublished(id, name) }) {
            registrations[id]?.reported = instance
            reports.append((id, .published(instance)))
        }
    }

    /// Reports, once, that a record is established on all links that it uses.
    private mutating func reportRecord(_ id: Int) {
        guard let record = records[id], !record.isReported else { return }
        let included = links.filter { includes(record.advertisement.interface, $0.key) }
        let name = record.advertisement.name
        guard !included.isEmpty, included.values.allSatisfy({ $0.hasPublished(id, name) }) else { return }
        records[id]?.isReported = true
        reports.append((id, .announced))
    }

    private mutating func conflict(_ id: Int, now: DiscoveryTime) {
        if let record = records[id] {
            end(id, now: now)
            let name = record.advertisement.name.description
            return reports.append((id, .failed(ServiceDiscoveryError(.collision, name: name))))
        }
        guard let registration = registrations[id] else { return }
        let instance = registration.instance
        guard registration.advertisement.renamesOnConflict else {
            for index in links.keys.sorted() { links[index]?.withdraw(id, now: now) }
            registrations[id] = nil
            reports.append((id, .failed(ServiceDiscoveryError(.collision, name: instance.description))))
            return collect(now: now)
        }
        let pause = registrations[id]?.noteConflict(now) ?? .zero
        let next = successor(of: instance, for: id)
        registrations[id]?.instance = next
        for index in links.keys.sorted() { publish(id, on: index, pause: pause, now: now) }
        collect(now: now)
    }

    /// Changes the host's name, and the location of its services.
    ///
    /// If conflicts are frequent, the services are changed only when the new name is established. Otherwise forged
    /// conflicts, one in each packet, would cause an announcement of all services per packet.
    private mutating func renameHost(now: DiscoveryTime) {
        let isFrequent = hostConflicts.note(now)
        hostLabel = NameSuccession.afterHost(hostLabel)
        for index in links.keys.sorted() {
            publishHost(on: index, pause: isFrequent ? MulticastRules.conflictPause : .zero, now: now)
            guard !isFrequent else { continue }
            for id in registrations.keys.sorted() { publish(id, on: index, pause: .zero, now: now) }
        }
        collect(now: now)
    }

    private func isTaken(_ instance: ServiceInstance, by id: Int?) -> Bool {
        registrations.contains { $0.key != id && $0.value.instance == instance }
    }

    private func successor(of instance: ServiceInstance, for id: Int?) -> ServiceInstance {
        var instance = instance
        repeat {
            let name = NameSuccession.afterService(instance.name)
            // A successor has a valid length and no new characters, so this cannot fail.
            guard let next = try? ServiceInstance(name: name, type: instance.type, domain: instance.domain) else {
                break
            }
            instance = next
        } while isTaken(instance, by: id)
        return instance
    }
}

/// A record that this machine publishes, on all its links.
private struct RecordRegistration {
    var advertisement: RecordAdvertisement
    var isReported = false
}

/// A service that this machine publishes, on all its links.
struct Registration {
    var advertisement: ServiceAdvertisement
    var instance: ServiceInstance
    /// The name reported last; nil while the service is not visible.
    var reported: ServiceInstance?
    var conflicts = RecentConflicts()

    /// Adds a conflict; returns the delay before the next probe (RFC 6762 §8.1).
    mutating func noteConflict(_ now: DiscoveryTime) -> Duration {
        conflicts.note(now) ? MulticastRules.conflictPause : .zero
    }
}

/// An event of one link.
enum LinkEvent: Hashable {
    /// A record was added that answers a question.
    case added(DNSRecord)
    /// A record was removed that answered a question.
    case removed(DNSRecord)
    /// The owner of a name states that it has no records of a queried type (RFC 6762 §6.1).
    case absent(RecordKey)
    /// The names of a publication are established: they belong to this host.
    case established(Int)
    /// Another host has the name of a publication.
    case conflict(Int)
}
