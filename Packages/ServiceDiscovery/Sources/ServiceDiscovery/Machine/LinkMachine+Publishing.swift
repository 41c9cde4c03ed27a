internal import HostResolver

/// Probing, announcing, goodbyes, conflicts (RFC 6762 §8, §9, §10.1).
extension LinkMachine {
    /// Publishes records, or others in the place of those with the same `id`.
    ///
    /// Records of the same name are announced without probing (§8.4); a new name is probed for. The same records again change
    /// nothing.
    mutating func publish(
        _ id: Int, name: DNSName, unique: [DNSRecord], shared: [DNSRecord], pause: Duration, now: DiscoveryTime
    ) {
        if let old = publications[id], old.name == name {
            if old.records.elementsEqual(unique + shared) { return }
            if old.isLive { return change(old, unique: unique, shared: shared, now: now) }
        }
        withdraw(id, now: now)
        var publication = Publication(
            id: id, name: name, unique: unique, shared: shared, phase: .probing(0),
            next: now + pause + random.milliseconds(0...250))
        if unique.isEmpty { publication.phase = .announcing(0) }
        publications[id] = publication
        byName[name, default: []].insert(id)
        publicationAlarm.note(publication.next)
    }

    /// Takes a publication back, with a goodbye if it was announced.
    mutating func withdraw(_ id: Int, now: DiscoveryTime) {
        guard let old = publications[id] else { return }
        forget(old)
        guard old.isLive else { return }
        sayGoodbye(releaseAll(old, old.records, now: now), now: now)
    }

    /// True if the publication has won `name` here.
    func hasPublished(_ id: Int, _ name: DNSName) -> Bool {
        publications[id].map { $0.isLive && $0.name == name } ?? false
    }

    private mutating func forget(_ publication: Publication) {
        publications[publication.id] = nil
        byName[publication.name]?.remove(publication.id)
        if byName[publication.name]?.isEmpty == true { byName[publication.name] = nil }
    }

    private mutating func change(_ old: Publication, unique: [DNSRecord], shared: [DNSRecord], now: DiscoveryTime) {
        var new = old
        (new.unique, new.shared) = (unique, shared)
        let gone = old.records.filter { record in !new.records.contains { $0.saysTheSame(as: record) } }
        // What is replaced by others of its name and type is flushed by their announcement (§8.4).
        let flushed = Set(new.records.filter(\.isUnique).map(\.key))
        let freed = releaseAll(old, gone, now: now)
        sayGoodbye(freed.filter { !flushed.contains($0.key) }, now: now)
        for record in new.records { claim(record, for: old.id, now: now) }
        new.phase = .announcing(1)
        publications[old.id] = new
        announce(old.id, now: now)
    }

    mutating func advancePublications(_ now: DiscoveryTime) {
        publicationAlarm.reset(now)
        var probes: [(question: DNSQuestion, records: [DNSRecord])] = []
        var due: [Int] = []
        for (id, publication) in publications {
            if let next = publication.next, next <= now {
                due.append(id)
            } else {
                publicationAlarm.note(publication.next)
            }
        }
        for id in due.sorted() {
            guard var publication = publications[id] else { continue }
            switch publication.phase {
            case .probing(let sent) where sent < MulticastRules.probeCount:
                // §8.1: asked for everything, with an answer to us alone if that reaches us.
                let unicast = link.hearsUnicast ? DNSQuestion.unicastWanted : 0
                let question = DNSQuestion(publication.name, .any, recordClass: 1 | unicast)
                probes.append((question, publication.unique))
                publication.phase = .probing(sent + 1)
                publication.next = now + MulticastRules.probeInterval
                publications[id] = publication
            case .probing:
                publication.phase = .announcing(0)
                publications[id] = publication
                for record in publication.records { claim(record, for: id, now: now) }
                announce(id, now: now)
                events.append(.established(id))
            case .announcing(0):
                for record in publication.records { claim(record, for: id, now: now) }
                announce(id, now: now)
                events.append(.established(id))
            case .announcing:
                announce(id, now: now)
            case .settled:
                publications[id]?.next = nil
            }
            publicationAlarm.note(publications[id]?.next)
        }
        if !probes.isEmpty { multicast(PacketComposer.probes(probes), now: now) }
    }

    /// One more announcement (§8.3).
    private mutating func announce(_ id: Int, now: DiscoveryTime) {
        guard var publication = publications[id] else { return }
        var sent = 1
        if case .announcing(let before) = publication.phase { sent = before + 1 }
        let isLast = sent >= MulticastRules.announcementCount
        publication.phase = isLast ? .settled : .announcing(sent)
        publication.next = isLast ? nil : now + .seconds(1 << (sent - 1))
        publications[id] = publication
        publicationAlarm.note(publication.next)
        for record in publication.records { noteMulticast(record, now: now) }
        multicast(PacketComposer.responses(publication.records), now: now)
    }

    /// §10.1: the same records with no time left.
    private mutating func sayGoodbye(_ records: [DNSRecord], now: DiscoveryTime) {
        multicast(PacketComposer.responses(records.map { $0.living(0) }), now: now)
    }

    /// Answers questions with the record from now on.
    private mutating func claim(_ record: DNSRecord, for id: Int, now: DiscoveryTime) {
        claimed += 1
        var entry =
            owned[record.name]?[record.data] ?? OwnedRecord(record: record, owners: [], number: claimed)
        entry.owners.insert(id)
        entry.record = record
        owned[record.name, default: [:]][record.data] = entry
        if cache.insertOwn(record, now: now), questions[record.key] != nil { events.append(.added(record)) }
    }

    /// Lets go of records for a publication; those that no other one has.
    private mutating func releaseAll(_ publication: Publication, _ records: [DNSRecord], now: DiscoveryTime)
        -> [DNSRecord]
    {
        var freed: [DNSRecord] = []
        for record in records where !release(record, of: publication.id, now: now) { freed.append(record) }
        return freed
    }

    /// Lets go of the record for one publication; true if another one still has it.
    private mutating func release(_ record: DNSRecord, of id: Int, now: DiscoveryTime) -> Bool {
        guard var entry = owned[record.name]?[record.data] else { return false }
        entry.owners.remove(id)
        owned[record.name]?[record.data] = entry
        guard entry.owners.isEmpty else { return true }
        owned[record.name]?[record.data] = nil
        if owned[record.name]?.isEmpty == true {
            owned[record.name] = nil
            denied[record.name] = nil
        }
        pending[record.identity] = nil
        if cache.removeOwn(record) { lost(record, now: now) }
        return false
    }

    /// §8.1, §9: what a response says about names that are ours, or that we are after.
    mutating func checkForConflict(_ record: DNSRecord, now: DiscoveryTime) {
        for id in (byName[record.name] ?? []).sorted() {
            guard var publication = publications[id], record.timeToLive > 0, record.type != .nsec,
                !publication.unique.contains(where: { $0.data == record.data })
            else { continue }
            if case .probing = publication.phase {
                // Any record of that name that is not one of ours means that the name is taken.
                forget(publication)
                events.append(.conflict(id))
            } else if publication.unique.contains(where: { $0.type == record.type }) {
                // §9: probe again; whoever defends the name keeps it.
                for record in publication.records { _ = release(record, of: id, now: now) }
                publication.phase = .probing(0)
                publication.next = now + random.milliseconds(0...250)
                publications[id] = publication
                publicationAlarm.note(publication.next)
            }
        }
    }

    /// §8.2: two hosts are after the same name at once; the one whose records are later in order gets it.
    mutating func breakTies(_ probe: DNSMessage, now: DiscoveryTime) {
        let authorities = Dictionary(grouping: probe.authorities.filter(\.isInternet), by: \.name)
        let asked = Set(probe.questions.map(\.name))
        for id in authorities.keys.flatMap({ byName[$0] ?? [] }).sorted() {
            guard var publication = publications[id], case .probing = publication.phase else { continue }
            guard let theirs = authorities[publication.name], asked.contains(publication.name) else { continue }
            let ours = Self.sorted(publication.unique)
            guard Self.precedes(ours, Self.sorted(theirs)) else { continue }
            publication.phase = .probing(0)
            publication.next = now + MulticastRules.deference
            publications[id] = publication
            publicationAlarm.note(publication.next)
        }
    }

    private static func sorted(_ records: [DNSRecord]) -> [[UInt8]] {
        records.map(\.tieBreaker).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Record by record; who runs out of records first loses.
    private static func precedes(_ ours: [[UInt8]], _ theirs: [[UInt8]]) -> Bool {
        for (one, other) in zip(ours, theirs) where one != other { return one.lexicographicallyPrecedes(other) }
        return ours.count < theirs.count
    }

    /// Notes that a record is multicast now, for the intervals of §6.
    mutating func noteMulticast(_ record: DNSRecord, now: DiscoveryTime) {
        if record.type != .nsec {
            owned[record.name]?[record.data]?.multicast = now
        } else if owned[record.name] != nil {
            denied[record.name] = now
        }
    }
}
