internal import DNSWire

/// The records of one service, or of this host, on one link, with the phase of their publication (RFC 6762 §8).
struct Publication {
    enum Phase: Hashable {
        /// This many probes were sent.
        case probing(Int)
        /// This many announcements were sent; from the first one on, questions are answered.
        case announcing(Int)
        case settled
    }

    /// The name that must belong to this host alone.
    var name: DNSName
    /// The records of that name, which are probed for.
    var unique: [DNSRecord]
    /// The other records: pointers, of which other hosts may have some as well.
    var shared: [DNSRecord]
    var phase: Phase
    /// When the next step is due.
    var next: DiscoveryTime?

    var records: [DNSRecord] { unique + shared }

    /// The name that is claimed for this host alone; nil if all records are shared.
    fileprivate var claimedName: DNSName? { unique.isEmpty ? nil : name }

    /// Whether questions are answered with these records.
    var isLive: Bool {
        switch phase {
        case .probing: false
        case .announcing(let count): count > 0
        case .settled: true
        }
    }

    /// Whether the records that another host proposes win the tie-break against those of this publication (§8.2): they are
    /// compared one by one in order, and the list that ends first precedes.
    func losesTieBreak(against proposed: ProposedRecords) -> Bool {
        let (ours, theirs) = (ProposedRecords(unique).sorted, proposed.sorted)
        for (one, other) in zip(ours, theirs) where one != other { return one.lexicographicallyPrecedes(other) }
        return ours.count < theirs.count
    }
}

/// The records of one name that a host proposes in a probe, in the form and order in which they are compared.
struct ProposedRecords {
    let sorted: [[UInt8]]

    init(_ records: [DNSRecord]) {
        sorted = records.map(\.tieBreaker).sorted { $0.lexicographicallyPrecedes($1) }
    }
}

/// The publications on one link, by number and by name, with the earliest time at which one has a step to perform.
struct Publications {
    private var byID: [Int: Publication] = [:]
    /// Those with records that are probed for. Others have no conflicts.
    private var idsByName: [DNSName: Set<Int>] = [:]
    private var alarm = Alarm()

    var deadline: DiscoveryTime? { alarm.earliest }

    func isDue(_ now: DiscoveryTime) -> Bool { alarm.isDue(now) }

    /// The numbers of all publications, sorted.
    var ids: [Int] { byID.keys.sorted() }

    /// The publication with this number; nil to remove it.
    subscript(id: Int) -> Publication? {
        get { byID[id] }
        set {
            if let name = byID[id]?.claimedName {
                idsByName[name]?.remove(id)
                if idsByName[name]?.isEmpty == true { idsByName[name] = nil }
            }
            if let name = newValue?.claimedName { idsByName[name, default: []].insert(id) }
            byID[id] = newValue
            alarm.note(newValue?.next)
        }
    }

    /// The numbers of the publications whose next step is due, sorted. The caller performs the step and stores the result.
    mutating func takeDue(_ now: DiscoveryTime) -> [Int] {
        alarm.reset(now)
        var due: [Int] = []
        for (id, publication) in byID {
            if let next = publication.next, next <= now { due.append(id) } else { alarm.note(publication.next) }
        }
        return due.sorted()
    }
}

// MARK: - Conflicts. Each name of a packet is looked up once: it may have many publications, and the packet many records.

extension Publications {
    /// The publications whose records conflict with those of a response (§8.1, §9), sorted.
    ///
    /// A record that any publication of the name has is none of another host's: on a second interface of this host, it comes back.
    /// While the name is probed for, any other record of it means that another host has the name.
    ///
    /// - Parameter compared: is increased by the number of records and publications that were compared.
    func conflicting(with records: [DNSRecord], compared: inout Int) -> [Int] {
        var conflicting: [Int] = []
        for (name, records) in Dictionary(grouping: records, by: \.name) {
            guard let ids = idsByName[name] else { continue }
            compared += records.count + ids.count
            let own = ownData(ids)
            let types = Set(records.lazy.filter { !own.contains($0.data) }.map(\.type))
            if types.isEmpty { continue }
            conflicting += ids.filter { id in
                guard let publication = byID[id] else { return false }
                if case .probing = publication.phase { return true }
                return publication.unique.contains { types.contains($0.type) }
            }
        }
        return conflicting.sorted()
    }

    /// The publications that lose the tie-break against the records that another host proposes for their names (§8.2), sorted. Own
    /// records, which come back on a second interface of this host, are no proposal.
    ///
    /// - Parameter compared: is increased by the number of records and publications that were compared.
    func losingTies(against records: [DNSRecord], compared: inout Int) -> [Int] {
        var losing: [Int] = []
        for (name, records) in Dictionary(grouping: records, by: \.name) {
            guard let ids = idsByName[name] else { continue }
            compared += records.count + ids.count
            let own = ownData(ids)
            if records.allSatisfy({ own.contains($0.data) }) { continue }
            let proposed = ProposedRecords(records)
            losing += ids.filter { id in
                guard let publication = byID[id], case .probing = publication.phase else { return false }
                return publication.losesTieBreak(against: proposed)
            }
        }
        return losing.sorted()
    }

    private func ownData(_ ids: Set<Int>) -> Set<DNSRecordData> {
        ids.reduce(into: []) { data, id in data.formUnion((byID[id]?.unique ?? []).map(\.data)) }
    }
}
