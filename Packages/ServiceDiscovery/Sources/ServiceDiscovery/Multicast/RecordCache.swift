internal import HostResolver

/// The records known on one link (RFC 6762 §5.2, §10). Their number and memory are limited in total and per sender; they
/// are also limited in time, and for records that no question needs.
///
/// Theory of operation. The cache also holds this machine's own records, so that its questions find its services. A
/// flood can delay the caching of new records, but cannot displace known services. If the cache is full, an answer to a
/// question displaces only records that no question needs, and then those of senders that exceed their share
/// (``EngineLimits/percentWhenFull``), the newest first. Many records are displaced at a time, so that the search costs
/// little for each.
struct RecordCache {
    /// The result of an insertion.
    enum Insertion: Hashable {
        case added
        case refreshed
        case refused
    }

    /// A number of records, and the memory of their names and data.
    private struct Usage {
        var records = 0
        var bytes = 0

        func fits(in limit: Usage) -> Bool { records <= limit.records && bytes <= limit.bytes }

        static func + (one: Usage, other: Usage) -> Usage {
            Usage(records: one.records + other.records, bytes: one.bytes + other.bytes)
        }

        static func - (one: Usage, other: Usage) -> Usage {
            Usage(records: one.records - other.records, bytes: one.bytes - other.bytes)
        }
    }

    /// The most memory that one record may use, in bytes. A record of any size that a packet can hold uses less, unless
    /// it consists of many tiny strings.
    static let largestRecord = 65_536

    /// The records of one key.
    private struct RecordSet {
        var entries: [DNSRecordData: CachedRecord] = [:]
        /// The number of records of other hosts.
        var foreign = 0
        /// When a query of another host was last counted (§10.5).
        var lastQuery: DiscoveryTime?

        /// Changes each entry in place; a set may be large and must not be copied.
        mutating func changeEach(_ change: (inout CachedRecord) -> Void) {
            var index = entries.startIndex
            while index < entries.endIndex {
                change(&entries.values[index])
                entries.formIndex(after: &index)
            }
        }
    }

    private let limits: EngineLimits
    private var sets: [RecordKey: RecordSet] = [:]
    /// The keys for which there are questions.
    private var wanted: Set<RecordKey> = []
    private var inserted = 0
    private var alarm = Alarm(pause: MulticastRules.searchInterval)
    /// The foreign records, and the number of those for which there is no question.
    private var usage = Usage()
    private var unaskedCount = 0
    private var bySender: [IPAddress: Usage] = [:]
    /// When to search for displaceable records again, after a search that found none.
    private var nextSearch: DiscoveryTime?

    init(limits: EngineLimits) {
        self.limits = limits
    }

    var deadline: DiscoveryTime? { alarm.earliest }

    /// The number of foreign records.
    var count: Int { usage.records }

    func records(_ key: RecordKey) -> [CachedRecord] {
        (sets[key]?.entries ?? [:]).values.sorted { $0.number < $1.number }
    }

    func isEmpty(_ key: RecordKey) -> Bool {
        sets[key] == nil
    }

    /// Whether a unique answer is known, so that no query is needed until it must be refreshed (RFC 6762 §5.2).
    func hasUniqueAnswer(_ key: RecordKey) -> Bool {
        sets[key]?.entries.values.contains { $0.record.isUnique && ($0.isOwn || $0.refresh != nil) } ?? false
    }

    /// Inserts or refreshes a record, and returns the records that it has displaced. Its time to live is limited by
    /// ``EngineLimits/longestLife``.
    mutating func insert(
        _ record: DNSRecord, from sender: IPAddress, now: DiscoveryTime, random: inout DelayRandom
    ) -> (insertion: Insertion, displaced: [DNSRecord]) {
        let new = Usage(records: 1, bytes: record.memory)
        guard new.bytes <= Self.largestRecord else { return (.refused, []) }
        let record = record.withTimeToLive(min(record.timeToLive, limits.longestLife))
        let key = record.key
        let isWanted = wanted.contains(key)
        var entry = CachedRecord(
            record: record, received: now, expires: now + .seconds(Int64(record.timeToLive)), sender: sender)
        entry.schedule(isWanted: isWanted, random: &random)
        if let old = sets[key]?.entries[record.data] {
            if old.isOwn { return (.refreshed, []) }
            (entry.sender, entry.number) = (old.sender, old.number)
            sets[key]?.entries[record.data] = entry
            alarm.note(entry.deadline)
            return (.refreshed, [])
        }
        let (hasRoom, displaced) = makeRoom(for: new, from: sender, isWanted: isWanted, now: now)
        guard hasRoom else { return (.refused, displaced) }
        usage = usage + new
        bySender[sender] = bySender[sender, default: Usage()] + new
        if !isWanted { unaskedCount += 1 }
        inserted += 1
        entry.number = inserted
        sets[key, default: RecordSet()].foreign += 1
        sets[key]?.entries[record.data] = entry
        alarm.note(entry.deadline)
        return (.added, displaced)
    }

    /// Makes room for a new record; returns whether there is enough, and the displaced records.
    private mutating func makeRoom(
        for new: Usage, from sender: IPAddress, isWanted: Bool, now: DiscoveryTime
    ) -> (hasRoom: Bool, displaced: [DNSRecord]) {
        func share(_ percent: Int) -> Usage {
            Usage(
                records: max(1, limits.cachedRecords * percent / 100), bytes: limits.cachedBytes / 100 * percent)
        }
        let filled = bySender[sender, default: Usage()] + new
        guard isWanted || unaskedCount < limits.unaskedRecords, filled.fits(in: share(limits.percentOfOneSender)) else {
            return (false, [])
        }
        let all = Usage(records: limits.cachedRecords, bytes: limits.cachedBytes)
        if (usage + new).fits(in: all) { return (true, []) }
        let kept = share(limits.percentWhenFull)
        guard isWanted, filled.fits(in: kept), nextSearch.map({ $0 <= now }) ?? true else { return (false, []) }
        let room = Usage(records: max(1, all.records / 16), bytes: max(new.bytes, all.bytes / 16))
        let displaced = displace(until: all - room, keeping: kept)
        let hasRoom = (usage + new).fits(in: all)
        nextSearch = hasRoom ? nil : now + MulticastRules.removalDelay
        return (hasRoom, displaced)
    }

    /// Removes records for which there is no question, then those that exceed the share `kept` of one sender; the newest
    /// first. Ends when the rest fits in `target`.
    private mutating func displace(until target: Usage, keeping kept: Usage) -> [DNSRecord] {
        var unneeded: [CachedRecord] = []
        var excess: [CachedRecord] = []
        for (key, set) in sets {
            for entry in set.entries.values {
                guard let sender = entry.sender else { continue }
                if !wanted.contains(key) {
                    unneeded.append(entry)
                } else if !bySender[sender, default: Usage()].fits(in: kept) {
                    excess.append(entry)
                }
            }
        }
        var displaced: [DNSRecord] = []
        for entry in unneeded.sorted(by: { $0.number > $1.number }) where !usage.fits(in: target) {
            displaced += remove(entry.record.key, [entry.record.data]).map(\.record)
        }
        for entry in excess.sorted(by: { $0.number > $1.number }) where !usage.fits(in: target) {
            guard let sender = entry.sender, !bySender[sender, default: Usage()].fits(in: kept) else { continue }
            displaced += remove(entry.record.key, [entry.record.data]).map(\.record)
        }
        return displaced
    }

    /// Inserts a record of this machine; true if it was not known from another host.
    mutating func insertOwn(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        let known = remove(record.key, [record.data])
        inserted += 1
        var entry = CachedRecord(record: record, received: now, expires: now, sender: nil)
        entry.number = inserted
        sets[record.key, default: RecordSet()].entries[record.data] = entry
        return known.isEmpty
    }

    /// Removes a record of this machine; true if it was present.
    mutating func removeOwn(_ record: DNSRecord) -> Bool {
        guard sets[record.key]?.entries[record.data]?.isOwn == true else { return false }
        return !remove(record.key, [record.data]).isEmpty
    }

    /// RFC 6762 §10.2: other records of the name and type that were received more than a second ago expire in a second.
    mutating func flush(_ key: RecordKey, except data: Set<DNSRecordData>, now: DiscoveryTime) {
        end(key, at: now + MulticastRules.removalDelay) { entry in
            now - entry.received > MulticastRules.removalDelay && !data.contains(entry.record.data)
        }
    }

    /// RFC 6762 §10.1: the record expires in a second, unless another packet refreshes it. True if it was known.
    mutating func goodbye(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        end(record.key, record.data, at: now + MulticastRules.removalDelay)
    }

    /// RFC 6762 §10.4: the record expires at `time` unless it is refreshed; without data, all records of the key.
    /// True if one was known and would have lived longer.
    mutating func expire(_ key: RecordKey, _ data: DNSRecordData?, at time: DiscoveryTime) -> Bool {
        if let data { return end(key, data, at: time) }
        return end(key, at: time) { _ in true }
    }

    /// Counts a query of another host that does not list all records of `key` as known (RFC 6762 §10.5). Returns the
    /// records to verify.
    ///
    /// At most one query per second is counted, so that a flood of queries costs little.
    mutating func noteQuery(_ key: RecordKey, known: KnownAnswers, now: DiscoveryTime) -> [DNSRecord] {
        guard sets[key]?.lastQuery.map({ now - $0 >= MulticastRules.firstQueryInterval }) ?? true else { return [] }
        sets[key]?.lastQuery = now
        var unconfirmed: [DNSRecord] = []
        sets[key]?.changeEach { entry in
            if entry.isOwn || known.contains(entry.record) { return }
            let first = entry.firstUnanswered ?? now
            entry.firstUnanswered = first
            entry.unanswered += 1
            if entry.unanswered >= MulticastRules.unansweredLimit, now - first >= MulticastRules.verificationTime {
                (entry.unanswered, entry.firstUnanswered) = (0, nil)
                unconfirmed.append(entry.record)
            }
        }
        return unconfirmed
    }

    /// Records whether there is a question for `key`. If there is none any more, the newest records beyond
    /// ``EngineLimits/unaskedRecords`` are removed.
    mutating func setWanted(_ isWanted: Bool, _ key: RecordKey, random: inout DelayRandom) {
        guard wanted.contains(key) != isWanted else { return }
        if isWanted { wanted.insert(key) } else { wanted.remove(key) }
        guard let foreign = sets[key]?.foreign else { return }
        unaskedCount += isWanted ? -foreign : foreign
        sets[key]?.changeEach { entry in
            entry.schedule(isWanted: isWanted, random: &random)
            alarm.note(entry.deadline)
        }
        let excess = unaskedCount - limits.unaskedRecords
        guard !isWanted, excess > 0 else { return }
        _ = remove(key, records(key).filter { !$0.isOwn }.suffix(excess).map(\.record.data))
    }

    /// Removes expired records and returns them, with the keys to query again. At most
    /// ``MulticastRules/removalsPerSearch`` are removed; the rest is removed by the next searches.
    mutating func advance(_ now: DiscoveryTime, random: inout DelayRandom) -> (gone: [DNSRecord], stale: [RecordKey]) {
        guard alarm.isDue(now) else { return ([], []) }
        var over: [(key: RecordKey, data: [DNSRecordData])] = []
        var stale: [RecordKey] = []
        var removals = MulticastRules.removalsPerSearch
        alarm.reset(now)
        var index = sets.startIndex
        while index < sets.endIndex {
            let key = sets[index].key
            var ended: [DNSRecordData] = []
            var isStale = false
            sets.values[index].changeEach { entry in
                if entry.isOwn { return }
                if entry.expires <= now, removals > 0 {
                    removals -= 1
                    return ended.append(entry.record.data)
                }
                if let refresh = entry.refresh, refresh <= now {
                    entry.refreshes += 1
                    entry.schedule(isWanted: true, random: &random)
                    isStale = true
                }
                alarm.note(entry.deadline)
            }
            if !ended.isEmpty { over.append((key, ended)) }
            if isStale { stale.append(key) }
            sets.formIndex(after: &index)
        }
        return (over.flatMap { key, data in remove(key, data).map(\.record) }, stale)
    }

    /// The known answers that a query lists (RFC 6762 §7.1), the earliest known first: records with more than half of
    /// their time to live left.
    func knownAnswers(_ key: RecordKey, now: DiscoveryTime) -> [DNSRecord] {
        var known: [DNSRecord] = []
        for entry in records(key) where known.count < limits.listedAnswers {
            if isListed(entry, now: now) { known.append(entry.record.plain.withTimeToLive(entry.remaining(now))) }
        }
        return known
    }

    /// Whether a query lists this record as known.
    func lists(_ key: RecordKey, _ data: DNSRecordData, now: DiscoveryTime) -> Bool {
        sets[key]?.entries[data].map { isListed($0, now: now) } ?? false
    }

    private func isListed(_ entry: CachedRecord, now: DiscoveryTime) -> Bool {
        entry.remaining(now) > entry.record.timeToLive / 2
    }

    /// Ends one record at `time`; true if it would have lived longer.
    private mutating func end(_ key: RecordKey, _ data: DNSRecordData, at time: DiscoveryTime) -> Bool {
        guard sets[key]?.entries[data]?.end(at: time) == true else { return false }
        alarm.note(time)
        return true
    }

    /// Ends the records of `key` that satisfy `condition` at `time`; true if one of them would have lived longer.
    @discardableResult
    private mutating func end(
        _ key: RecordKey, at time: DiscoveryTime, where condition: (CachedRecord) -> Bool
    ) -> Bool {
        var isChanged = false
        sets[key]?.changeEach { if $0.expires > time, condition($0), $0.end(at: time) { isChanged = true } }
        if isChanged { alarm.note(time) }
        return isChanged
    }

    private mutating func remove(_ key: RecordKey, _ data: [DNSRecordData]) -> [CachedRecord] {
        let removed = data.compactMap { sets[key]?.entries.removeValue(forKey: $0) }
        for entry in removed {
            guard let sender = entry.sender else { continue }
            let freed = Usage(records: 1, bytes: entry.record.memory)
            usage = usage - freed
            sets[key]?.foreign -= 1
            let left = bySender[sender, default: freed] - freed
            bySender[sender] = left.records == 0 ? nil : left
            if !wanted.contains(key) { unaskedCount -= 1 }
        }
        if sets[key]?.entries.isEmpty == true { sets[key] = nil }
        return removed
    }
}

/// A cached record with its sender and its end.
struct CachedRecord {
    var record: DNSRecord
    var received: DiscoveryTime
    var expires: DiscoveryTime
    /// The position in the order of arrival.
    var number = 0
    /// The number of queries of ``MulticastRules/refreshPercents`` that were sent.
    var refreshes = 0
    /// When the next of these queries is due; nil if no question needs the record.
    var refresh: DiscoveryTime?
    /// The host that sent the record; nil for this machine's own records, which do not expire and do not count against
    /// limits.
    var sender: IPAddress?
    /// The queries of other hosts since the last answer (RFC 6762 §10.5).
    var unanswered = 0
    var firstUnanswered: DiscoveryTime?

    var isOwn: Bool { sender == nil }

    /// The remaining time to live, in seconds.
    func remaining(_ now: DiscoveryTime) -> UInt32 {
        isOwn ? record.timeToLive : UInt32(clamping: now.duration(to: expires).components.seconds)
    }

    /// When this record must be examined next.
    var deadline: DiscoveryTime? {
        isOwn ? nil : refresh.map { min($0, expires) } ?? expires
    }

    /// Ends the record at `time`; true if it would have lived longer. Own records are not changed.
    mutating func end(at time: DiscoveryTime) -> Bool {
        guard !isOwn, expires > time else { return false }
        (expires, refresh) = (time, nil)
        return true
    }

    /// Schedules the next refresh query, if a question needs the record.
    mutating func schedule(isWanted: Bool, random: inout DelayRandom) {
        guard isWanted, !isOwn, refreshes < MulticastRules.refreshPercents.count else {
            refresh = nil
            return
        }
        // In thousandths: the percentage plus 0 to 2 percent.
        let share = MulticastRules.refreshPercents[refreshes] * 10 + Int64.random(in: 0...20, using: &random)
        let milliseconds = Int64(record.timeToLive) * share
        refresh = received + .milliseconds(milliseconds)
    }
}
