internal import HostResolver

/// Multicast DNS and DNS-SD on all links of one host: what is published and asked, under which names.
///
/// Theory of operation. Each link has a ``LinkMachine`` with a cache of its own; this machine gives each of them the
/// publications and questions, and turns their events into events of the operations that callers began. A name lost on
/// one link is lost on all: a service has one name. Packets, time and links come in; ``next(now:)`` says what to do.
struct DiscoveryMachine {
    /// What to do now.
    enum Action {
        case send(Transmission)
        case report(Int, DiscoveryEvent)
        /// Nothing until then, or until something comes in.
        case wait(DiscoveryTime?)
    }

    /// The publication of the host itself; operations are numbered from 1.
    private static let hostID = 0

    let limits: EngineLimits
    private var random: DelayRandom
    private var links: [UInt32: LinkMachine] = [:]
    private var hostLabel: String
    private var hostConflicts = RecentConflicts()
    private var registrations: [Int: Registration] = [:]
    private var asked: [Int: (key: RecordKey, interface: String?)] = [:]
    private var byKey: [RecordKey: Set<Int>] = [:]
    private var lastID = 0
    private var transmissions: [Transmission] = []
    private var sendingFrom = 0
    private var reports: [(Int, DiscoveryEvent)] = []
    private var reportingFrom = 0
    private var closed = EngineStatistics()

    /// A machine without links; `hostLabel` is the first label of the name wanted for this host.
    init(hostLabel: String, limits: EngineLimits = EngineLimits(), seed: UInt64) {
        self.hostLabel = hostLabel
        self.limits = limits
        random = DelayRandom(seed: seed)
    }

    /// This host's name, for now: a conflict may bring another.
    var hostName: DNSName {
        DNSName(labels: [Array(hostLabel.utf8)] + ServiceRecords.local) ?? .root
    }

    /// What has been done so far.
    var statistics: EngineStatistics {
        var sum = closed
        for link in links.values {
            sum += link.statistics
            sum.cachedRecords += link.cache.count
        }
        return sum
    }

    /// True if no operation is under way.
    var isIdle: Bool { registrations.isEmpty && asked.isEmpty }

    // MARK: What comes in

    /// Interfaces or their addresses have changed.
    mutating func setLinks(_ new: [MulticastLink], now: DiscoveryTime) {
        let new = Dictionary(new.prefix(limits.interfaces).map { ($0.index, $0) }) { first, _ in first }
        for index in links.keys.sorted() where new[index] == nil { closeLink(index, now: now) }
        for (index, link) in new.sorted(by: { $0.key < $1.key }) {
            if links[index]?.link == link { continue }
            if links[index] == nil {
                links[index] = LinkMachine(link, limits: limits, seed: random.next())
                for (key, ids) in byKey where ids.contains(where: { isMeant(asked[$0]?.interface, index) }) {
                    links[index]?.begin(key, now: now)
                }
                for id in registrations.keys.sorted() { publish(id, on: index, pause: .zero, now: now) }
            }
            links[index]?.link = link
            if !registrations.isEmpty { publishHost(on: index, pause: .zero, now: now) }
        }
        collect(now: now)
        for id in registrations.keys.sorted() { tellVisibility(id) }
    }

    /// A packet came in.
    mutating func receive(_ datagram: Datagram, now: DiscoveryTime) {
        links[datagram.interface]?.receive(datagram, now: now)
        collect(datagram.interface, now: now)
    }

    /// Begins to ask for records, until ``end(_:now:)``. What is known already is reported first.
    mutating func ask(_ key: RecordKey, interface: String?, now: DiscoveryTime) throws(ServiceDiscoveryError) -> Int {
        guard asked.count < limits.questions else {
            throw ServiceDiscoveryError(.tooMuch, detail: "\(limits.questions) questions")
        }
        lastID += 1
        asked[lastID] = (key, interface)
        byKey[key, default: []].insert(lastID)
        for index in links.keys.sorted() where isMeant(interface, index) {
            for record in links[index]?.known(key) ?? [] { reports.append((lastID, .added(record, interface: index))) }
            links[index]?.begin(key, now: now)
        }
        return lastID
    }

    /// Begins to publish, until ``end(_:now:)``.
    mutating func publish(_ advertisement: ServiceAdvertisement, now: DiscoveryTime) throws(ServiceDiscoveryError)
        -> Int
    {
        guard registrations.count < limits.registrations else {
            throw ServiceDiscoveryError(.tooMuch, detail: "\(limits.registrations) published services")
        }
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
        lastID += 1
        registrations[lastID] = Registration(advertisement: advertisement, instance: instance)
        for index in links.keys.sorted() {
            if registrations.count == 1 { publishHost(on: index, pause: .zero, now: now) }
            publish(lastID, on: index, pause: .zero, now: now)
        }
        return lastID
    }

    /// Announces another TXT record for a service that is published.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidated`` if the operation is over.
    mutating func update(_ id: Int, record: TXTRecord, now: DiscoveryTime) throws(ServiceDiscoveryError) {
        guard registrations[id] != nil else { throw ServiceDiscoveryError(.invalidated) }
        registrations[id]?.advertisement.record = record
        for index in links.keys.sorted() { publish(id, on: index, pause: .zero, now: now) }
        collect(now: now)
    }

    /// Ends an operation; a published service says goodbye. Nothing more is reported of it.
    mutating func end(_ id: Int, now: DiscoveryTime) {
        if let (key, _) = asked.removeValue(forKey: id) {
            byKey[key]?.remove(id)
            if byKey[key]?.isEmpty == true { byKey[key] = nil }
            for index in links.keys.sorted() {
                let isAsked = byKey[key]?.contains { isMeant(asked[$0]?.interface, index) } ?? false
                if !isAsked { links[index]?.end(key) }
            }
        }
        if registrations.removeValue(forKey: id) != nil {
            for index in links.keys.sorted() {
                links[index]?.withdraw(id, now: now)
                if registrations.isEmpty { links[index]?.withdraw(Self.hostID, now: now) }
            }
            collect(now: now)
        }
        reports.removeAll { $0.0 == id }
        reportingFrom = 0
    }

    /// Ends everything, with goodbyes; they are still to be sent.
    mutating func close(now: DiscoveryTime) {
        for id in registrations.keys.sorted() + asked.keys.sorted() { end(id, now: now) }
    }

    /// Doubts a record (RFC 6762 §10.4): it goes unless somebody says again, soon, that it stands.
    mutating func reconfirm(_ key: RecordKey, _ data: DNSRecordData?, now: DiscoveryTime) {
        for index in links.keys.sorted() { links[index]?.doubt(key, data, now: now) }
    }

    // MARK: What comes out

    /// The next thing to do. Call until it says to wait.
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

// MARK: - Inside

extension DiscoveryMachine {
    private func isMeant(_ interface: String?, _ index: UInt32) -> Bool {
        interface == nil || links[index]?.link.name == interface
    }

    private mutating func closeLink(_ index: UInt32, now: DiscoveryTime) {
        links[index]?.close(now: now)
        collect(index, now: now)
        if let link = links.removeValue(forKey: index) { closed += link.statistics }
    }

    private mutating func publishHost(on index: UInt32, pause: Duration, now: DiscoveryTime) {
        guard let link = links[index]?.link else { return }
        let name = hostName
        links[index]?.publish(
            Self.hostID, name: name, unique: ServiceRecords.host(name, on: link), shared: [], pause: pause, now: now)
    }

    private mutating func publish(_ id: Int, on index: UInt32, pause: Duration, now: DiscoveryTime) {
        guard let registration = registrations[id] else { return }
        guard isMeant(registration.advertisement.interface, index) else { return }
        let (advertisement, instance) = (registration.advertisement, registration.instance)
        let unique = ServiceRecords.unique(advertisement, instance, host: hostName)
        links[index]?.publish(
            id, name: instance.fullName, unique: unique,
            shared: ServiceRecords.shared(advertisement, instance), pause: pause, now: now)
    }

    private mutating func collect(now: DiscoveryTime) {
        for index in links.keys.sorted() { collect(index, now: now) }
    }

    /// Takes what a link has to send and to tell.
    private mutating func collect(_ index: UInt32, now: DiscoveryTime) {
        guard let taken = links[index]?.take() else { return }
        transmissions += taken.transmissions
        for event in taken.events {
            switch event {
            case .added(let record): report(.added(record, interface: index), record.key, index)
            case .removed(let record): report(.removed(record, interface: index), record.key, index)
            case .absent(let key): report(.absent(interface: index), key, index)
            case .established(Self.hostID):
                // Services whose announcement waited for the host's name; the others are announced already, and stay as they are.
                for id in registrations.keys.sorted() { publish(id, on: index, pause: .zero, now: now) }
                collect(index, now: now)
            case .established(let id): tellVisibility(id)
            case .conflict(Self.hostID): renameHost(now: now)
            case .conflict(let id): conflict(id, now: now)
            }
        }
    }

    private mutating func report(_ event: DiscoveryEvent, _ key: RecordKey, _ index: UInt32) {
        for id in (byKey[key] ?? []).sorted() where isMeant(asked[id]?.interface, index) { reports.append((id, event)) }
    }

    /// Reports that a service has become visible, or is no longer. It is visible when its name is won on all links that it is
    /// meant for, of which there must be one.
    private mutating func tellVisibility(_ id: Int) {
        guard let registration = registrations[id] else { return }
        let (instance, name) = (registration.instance, registration.instance.fullName)
        let meant = links.filter { isMeant(registration.advertisement.interface, $0.key) }
        if meant.isEmpty {
            if registration.told != nil { reports.append((id, .hidden)) }
            registrations[id]?.told = nil
        } else if registration.told != instance, meant.values.allSatisfy({ $0.hasPublished(id, name) }) {
            registrations[id]?.told = instance
            reports.append((id, .published(instance)))
        }
    }

    private mutating func conflict(_ id: Int, now: DiscoveryTime) {
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

    /// Gives the host another name, and its services the location under that name.
    ///
    /// While conflicts are frequent, the services follow when the name is won: forged conflicts, one in each packet, would
    /// otherwise have all of them announced once per packet.
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
            // A successor is as long as a name may be and has no other characters.
            guard let next = try? ServiceInstance(name: name, type: instance.type, domain: instance.domain) else {
                break
            }
            instance = next
        } while isTaken(instance, by: id)
        return instance
    }
}
