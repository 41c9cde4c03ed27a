internal import DNSWire

/// The records with which this host answers on one link, and when each was last multicast.
struct OwnedRecords {
    /// A record, which several publications may share, such as a type's pointer.
    private struct Entry {
        var record: DNSRecord
        var owners: Set<Int>
        /// The position in the order of publication.
        let number: Int
        /// When it was last multicast (RFC 6762 §6).
        var multicast: DiscoveryTime?
    }

    /// The records of one name and type.
    private struct RecordSet {
        var count = 0
        /// When one of them was last multicast.
        var multicast: DiscoveryTime?
    }

    /// The largest set of one name and type that is sent as a whole, whichever of its records has changed or is asked for.
    static let maximumSet = 64

    private var entries: [DNSName: [DNSRecordData: Entry]] = [:]
    private var sets: [RecordKey: RecordSet] = [:]
    /// When the denial of each name was last multicast. NSEC records are created on demand and have no entry.
    private var denied: [DNSName: DiscoveryTime] = [:]
    private var claimed = 0

    /// The records of a name, in the order of their publication.
    func records(of name: DNSName) -> [DNSRecord] {
        (entries[name] ?? [:]).values.sorted { $0.number < $1.number }.map(\.record)
    }

    /// The own record with the name and data of `record`.
    func record(matching record: DNSRecord) -> DNSRecord? {
        entries[record.name]?[record.data]?.record
    }

    /// The part of a query that can have an effect: the questions for own names, and the known answers that are own
    /// records. It shares the names and data of the own records, so that it needs little memory.
    func part(of query: DNSMessage) -> DNSMessage {
        var part = DNSMessage(header: query.header)
        part.questions = query.distinctQuestions.compactMap { question in
            entries.index(forKey: question.name).map {
                DNSQuestion(entries[$0].key, question.type, recordClass: question.recordClass)
            }
        }
        part.answers = query.answers.compactMap { record(matching: $0)?.withTimeToLive($0.timeToLive) }
        return part
    }

    /// An NSEC record with the types that the name has, if the whole name belongs to this host.
    func denial(of name: DNSName) -> DNSRecord? {
        OwnedName(name, records(of: name)).denial
    }

    /// Whether the records of one name and type are sent as a whole. Of a larger set, each record is sent alone.
    func isWhole(_ key: RecordKey) -> Bool { sets[key].map { $0.count <= Self.maximumSet } ?? true }

    /// The records as they are sent, with the others of the same names and types: records with the cache-flush bit are all of their
    /// name and type (RFC 6762 §10.2), and other hosts drop those that are missing. Records of sets that are too large lose the bit.
    func completed(_ records: [DNSRecord]) -> [DNSRecord] {
        var names: [DNSName: OwnedName] = [:]
        return records.flatMap { record -> [DNSRecord] in
            guard record.isUnique, record.type != .nsec else { return [record] }
            guard isWhole(record.key) else { return [record.plain] }
            let name = names[record.name] ?? OwnedName(record.name, self.records(of: record.name))
            names[record.name] = name
            return [record] + (name.byType[record.type] ?? [])
        }.distinct
    }

    /// The records as goodbyes (§10.1). They have no cache-flush bit if others of their name and type remain.
    func goodbyes(_ records: [DNSRecord]) -> [DNSRecord] {
        records.map { (sets[$0.key] == nil ? $0 : $0.plain).withTimeToLive(0) }
    }

    /// Adds a record, or another publication that has it.
    mutating func claim(_ record: DNSRecord, for id: Int) {
        claimed += 1
        var entry = entries[record.name]?[record.data] ?? Entry(record: record, owners: [], number: claimed)
        if entry.owners.isEmpty { sets[record.key, default: RecordSet()].count += 1 }
        entry.owners.insert(id)
        entry.record = record
        entries[record.name, default: [:]][record.data] = entry
    }

    /// Releases a record of one publication; false if another one still has it.
    mutating func release(_ record: DNSRecord, of id: Int) -> Bool {
        guard var entry = entries[record.name]?[record.data] else { return true }
        entry.owners.remove(id)
        entries[record.name]?[record.data] = entry
        guard entry.owners.isEmpty else { return false }
        entries[record.name]?[record.data] = nil
        sets[record.key]?.count -= 1
        if sets[record.key]?.count == 0 { sets[record.key] = nil }
        if entries[record.name]?.isEmpty == true {
            entries[record.name] = nil
            denied[record.name] = nil
        }
        return true
    }

    /// When the record, one of the set with which it is sent, or the denial of its name, was last multicast.
    func lastMulticast(_ record: DNSRecord) -> DiscoveryTime? {
        if record.type == .nsec { return denied[record.name] }
        if record.isUnique, isWhole(record.key) { return sets[record.key]?.multicast }
        return entries[record.name]?[record.data]?.multicast
    }

    /// Whether the record was multicast within a quarter of its time to live (§5.4).
    func isRecent(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        lastMulticast(record).map { now - $0 < .milliseconds(Int64(record.timeToLive) * 250) } ?? false
    }

    /// Records a multicast, for the intervals of §6.
    mutating func noteMulticast(_ record: DNSRecord, now: DiscoveryTime) {
        if record.type != .nsec {
            entries[record.name]?[record.data]?.multicast = now
            sets[record.key]?.multicast = now
        } else if entries[record.name] != nil {
            denied[record.name] = now
        }
    }

    /// The records that the querier will need next (RFC 6763 §12).
    func additional(to answers: [DNSRecord]) -> [DNSRecord] {
        var extra: [DNSRecord] = []
        var hosts: [DNSName] = []
        func add(_ name: DNSName, _ types: [DNSRecordType]) {
            for record in records(of: name) where types.contains(record.type) {
                if case .srv(_, _, _, let target) = record.data { hosts.append(target) }
                extra.append(record)
            }
        }
        // Only as many as may fit into one packet.
        for record in answers where extra.count < PacketComposer.maximumRecords {
            switch record.data {
            case .ptr(let name): add(name, [.srv, .txt])
            case .srv(_, _, _, let target): hosts.append(target)
            // RFC 6762 §6.2: the addresses of the other family.
            case .a, .aaaa: hosts.append(record.name)
            default: break
            }
        }
        for host in Set(hosts).sorted(by: { $0.wireForm.lexicographicallyPrecedes($1.wireForm) }) {
            add(host, [.a, .aaaa])
            let types = Set(records(of: host).map(\.type))
            if !types.isEmpty, !types.isSuperset(of: [.a, .aaaa]) { extra += denial(of: host).map { [$0] } ?? [] }
        }
        let given = Set(answers.map(\.identity))
        return extra.distinct.filter { !given.contains($0.identity) }
    }
}

/// The own records of one name, looked up once for all questions of a packet.
struct OwnedName {
    let all: [DNSRecord]
    let byType: [DNSRecordType: [DNSRecord]]
    /// An NSEC record with the types that the name has (RFC 6762 §6.1); nil unless the whole name belongs to this host.
    let denial: DNSRecord?

    init(_ name: DNSName, _ records: [DNSRecord]) {
        all = records
        byType = Dictionary(grouping: records, by: \.type)
        if !records.isEmpty, records.allSatisfy(\.isUnique) {
            let types = byType.keys.sorted { $0.rawValue < $1.rawValue }
            let time = records.map(\.timeToLive).min() ?? MulticastRules.hostTimeToLive
            denial = .unique(name, time, .nsec(next: name, types: types))
        } else {
            denial = nil
        }
    }

    /// The records that answer a question of this type; the denial if there are none.
    func records(of type: DNSRecordType) -> [DNSRecord] {
        let records = type == .any ? all : byType[type] ?? []
        return records.isEmpty ? denial.map { [$0] } ?? [] : records
    }
}
