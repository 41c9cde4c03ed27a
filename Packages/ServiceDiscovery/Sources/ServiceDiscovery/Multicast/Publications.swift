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

    /// The name that another host may claim as well; nil without unique records.
    var contestedName: DNSName? { unique.isEmpty ? nil : name }

    /// Whether questions are answered with these records.
    var isLive: Bool {
        switch phase {
        case .probing: false
        case .announcing(let count): count > 0
        case .settled: true
        }
    }

    /// Whether records proposed by another host win the tie-break against those of this publication (§8.2): they are
    /// compared one by one in order, and the list that ends first precedes.
    func losesTieBreak(against proposed: [DNSRecord]) -> Bool {
        let ours = Self.sorted(unique)
        let theirs = Self.sorted(proposed)
        for (one, other) in zip(ours, theirs) where one != other { return one.lexicographicallyPrecedes(other) }
        return ours.count < theirs.count
    }

    private static func sorted(_ records: [DNSRecord]) -> [[UInt8]] {
        records.map(\.tieBreaker).sorted { $0.lexicographicallyPrecedes($1) }
    }
}

/// The publications on one link, by number and, if they have unique records, by name, with the earliest time at which one has a step to perform.
struct Publications {
    private var byID: [Int: Publication] = [:]
    private var idsByName: [DNSName: Set<Int>] = [:]
    private var alarm = Alarm()

    var deadline: DiscoveryTime? { alarm.earliest }

    func isDue(_ now: DiscoveryTime) -> Bool { alarm.isDue(now) }

    /// The numbers of all publications, sorted.
    var ids: [Int] { byID.keys.sorted() }

    /// The numbers of the publications with this name and unique records: there are few, and the others have no conflicts.
    func ids(of name: DNSName) -> Set<Int> { idsByName[name] ?? [] }

    /// The publication with this number; nil to remove it.
    subscript(id: Int) -> Publication? {
        get { byID[id] }
        set {
            let (old, new) = (byID[id]?.contestedName, newValue?.contestedName)
            if let old, old != new {
                idsByName[old]?.remove(id)
                if idsByName[old]?.isEmpty == true { idsByName[old] = nil }
            }
            if let new, old != new { idsByName[new, default: []].insert(id) }
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
