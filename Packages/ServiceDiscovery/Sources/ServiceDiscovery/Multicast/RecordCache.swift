internal import DNSWire

/// The records known on one link (RFC 6762 §5.2, §10). Their number and memory are limited, in total and per sender; so
/// are their times to live, and the number of records that no question needs (``EngineLimits``).
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

    /// The most memory that one record may use, in bytes. Any record that fits in a packet uses less, unless it
    /// consists of many tiny strings.
    static let maximumRecordSize = 65_536

    /// The records of one key.
    private struct RecordSet {
        var entries: [DNSRecordData: CachedRecord] = [:]
        /// The number of records of other hosts.
        var foreign = 0
        /// Whether the records remain from a question that has ended.
        var isLeftOver = false
        /// When a query of another host was last counted (§10.5).
        var lastQuery: DiscoveryTime?

        /// Visits each entry in place: a set may be large, and a loop over its values would copy each of them.
        mutating func forEach(_ body: (inout CachedRecord) -> Void) {
            var index = entries.startIndex
            while index < entries.endIndex {
                body(&entries.values[index])
                entries.formIndex(after: &index)
            }
        }

        /// Returns the values other than nil that `value` returns for the entries, in the order of arrival.
        mutating func inOrder<Value>(_ value: (CachedRecord) -> Value?) -> [Value] {
            var values: [(number: Int, value: Value)] = []
            forEach { entry in if let value = value(entry) { values.append((entry.number, value)) } }
            values.sort { $0.number < $1.number }
            return values.map(\.value)
        }
    }

    private let limits: EngineLimits
    private var sets: [RecordKey: RecordSet] = [:]
    /// The keys for which there are questions.
    private var wanted: Set<RecordKey> = []
    private var inserted = 0
    private var alarm = Alarm(pause: MulticastRules.searchInterval)
    /// The number and memory of the records of other hosts (foreign records).
    private var usage = Usage()
    /// The number of foreign records for which there is no question.
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

    /// The records of `key`, the earliest known first.
    mutating func records(_ key: RecordKey) -> [DNSRecord] {
        sets[key]?.inOrder(\.record) ?? []
    }

    func isEmpty(_ key: RecordKey) -> Bool {
        sets[key] == nil
    }

    /// Whether a unique answer is known, so that no query is needed until it must be refreshed (RFC 6762 §5.2).
    func hasUniqueAnswer(_ key: RecordKey) -> Bool {
        sets[key]?.entries.values.contains { $0.record.isUnique && ($0.isOwn || $0.refresh != nil) } ?? false
    }

    /// Inserts or refreshes a record, and returns the records that it has displaced. Its time to live is limited by
    /// ``EngineLimits/maximumTimeToLive``.
    mutating func insert(
        _ record: DNSRecord, from sender: IPAddress, now: DiscoveryTime, random: inout DelayRandom
    ) -> (insertion: Insertion, displaced: [DNSRecord]) {
        let new = Usage(records: 1, bytes: record.memory)
        guard new.bytes <= Self.maximumRecordSize else { return (.refused, []) }
        let record = record.withTimeToLive(min(record.timeToLive, limits.maximumTimeToLive))
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

    /// Makes room for a new record. Returns whether there is room now, and the displaced records.
    private mutating func makeRoom(
        for new: Usage, from sender: IPAddress, isWanted: Bool, now: DiscoveryTime
    ) -> (hasRoom: Bool, displaced: [DNSRecord]) {
        func share(_ percent: Int) -> Usage {
            Usage(records: max(1, limits.cachedRecords * percent / 100), bytes: limits.cachedBytes * percent / 100)
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

    /// Removes records until the rest fits in `target`: first those for which there is no question, then those of
    /// senders that exceed the share `kept`; of each kind, the newest first.
    private mutating func displace(until target: Usage, keeping kept: Usage) -> [DNSRecord] {
        struct Candidate {
            let number: Int
            let sender: IPAddress
            let usage: Usage
        }
        let (wanted, bySender) = (wanted, bySender)
        var unneeded: [Candidate] = []
        var excess: [Candidate] = []
        forEachSet { key, set in
            let isWanted = wanted.contains(key)
            set.forEach { entry in
                guard let sender = entry.sender else { return }
                if isWanted, bySender[sender, default: Usage()].fits(in: kept) { return }
                let candidate = Candidate(
                    number: entry.number, sender: sender, usage: Usage(records: 1, bytes: entry.record.memory))
                if isWanted { excess.append(candidate) } else { unneeded.append(candidate) }
            }
        }
        var numbers: Set<Int> = []
        var usage = usage
        var left = bySender
        func take(_ candidate: Candidate) {
            numbers.insert(candidate.number)
            usage = usage - candidate.usage
            left[candidate.sender] = left[candidate.sender, default: candidate.usage] - candidate.usage
        }
        for candidate in unneeded.sorted(by: { $0.number > $1.number }) where !usage.fits(in: target) {
            take(candidate)
        }
        for candidate in excess.sorted(by: { $0.number > $1.number }) where !usage.fits(in: target) {
            if !left[candidate.sender, default: Usage()].fits(in: kept) { take(candidate) }
        }
        return remove(numbers)
    }

    /// Removes foreign records by their numbers, and returns them, the newest first.
    private mutating func remove(_ numbers: Set<Int>) -> [DNSRecord] {
        var removed: [(key: RecordKey, data: [DNSRecordData])] = []
        forEachSet { key, set in
            var data: [DNSRecordData] = []
            set.forEach { if !$0.isOwn, numbers.contains($0.number) { data.append($0.record.data) } }
            if !data.isEmpty { removed.append((key, data)) }
        }
        return removed.flatMap { remove($0.key, $0.data) }.sorted { $0.number > $1.number }.map(\.record)
    }

    /// Visits each set in place.
    private mutating func forEachSet(_ body: (RecordKey, inout RecordSet) -> Void) {
        var index = sets.startIndex
        while index < sets.endIndex {
            let key = sets[index].key
            body(key, &sets.values[index])
            sets.formIndex(after: &index)
        }
    }

    /// Inserts a record of this machine. Returns whether the record is new: not already known, for instance from
    /// another host.
    mutating func insertOwn(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        let known = remove(record.key, [record.data])
        inserted += 1
        var entry = CachedRecord(record: record, received: now, expires: now, sender: nil)
        entry.number = inserted
        sets[record.key, default: RecordSet()].entries[record.data] = entry
        return known.isEmpty
    }

    /// Removes a record of this machine. Returns whether it was present.
    mutating func removeOwn(_ record: DNSRecord) -> Bool {
        guard sets[record.key]?.entries[record.data]?.isOwn == true else { return false }
        return !remove(record.key, [record.data]).isEmpty
    }

    /// Processes the cache-flush bit (RFC 6762 §10.2): the other records of the name and type that were received more
    /// than a second ago expire in a second.
    mutating func flush(_ key: RecordKey, except data: Set<DNSRecordData>, now: DiscoveryTime) {
        end(key, at: now + MulticastRules.removalDelay) { entry in
            now - entry.received > MulticastRules.removalDelay && !data.contains(entry.record.data)
        }
    }

    /// Processes a goodbye (RFC 6762 §10.1): the record expires in a second, unless another packet refreshes it.
    /// Returns whether it was known and would have lived longer.
    mutating func goodbye(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        end(record.key, record.data, at: now + MulticastRules.removalDelay)
    }

    /// Starts a verification (RFC 6762 §10.4): the record expires at `time` unless it is refreshed. Without `data`,
    /// this applies to all records of the key. Returns whether one was known and would have lived longer.
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
        sets[key]?.forEach { entry in
            if entry.isOwn || known.contains(entry.record) { return }
            let first = entry.firstUnanswered ?? now
            entry.firstUnanswered = first
            entry.unanswered += 1
            if entry.unanswered >= MulticastRules.maximumUnanswered, now - first >= MulticastRules.verificationTime {
                (entry.unanswered, entry.firstUnanswered) = (0, nil)
                unconfirmed.append(entry.record)
            }
        }
        return unconfirmed
    }

    /// Sets whether there is a question for `key`. After the last question has ended, the next searches remove its newest
    /// records, as far as there are more than ``EngineLimits/unaskedRecords``.
    mutating func setWanted(_ isWanted: Bool, _ key: RecordKey, now: DiscoveryTime, random: inout DelayRandom) {
        guard wanted.contains(key) != isWanted else { return }
        if isWanted { wanted.insert(key) } else { wanted.remove(key) }
        guard let foreign = sets[key]?.foreign else { return }
        unaskedCount += isWanted ? -foreign : foreign
        sets[key]?.isLeftOver = !isWanted
        sets[key]?.forEach { entry in
            entry.schedule(isWanted: isWanted, random: &random)
            alarm.note(entry.deadline)
        }
        if unaskedCount > limits.unaskedRecords { alarm.note(now) }
    }

    /// Removes records that no question needs, as far as they exceed ``EngineLimits/unaskedRecords``: the newest of ended
    /// questions, then the newest of the others. At most ``MulticastRules/removalsPerSearch`` are removed at a time,
    /// because the end of one question can leave thousands.
    private mutating func removeUnasked(now: DiscoveryTime) {
        let excess = min(unaskedCount - limits.unaskedRecords, MulticastRules.removalsPerSearch)
        guard excess > 0 else { return }
        let wanted = wanted
        var leftOver: [Int] = []
        var others: [Int] = []
        forEachSet { key, set in
            if wanted.contains(key) { return }
            let isLeftOver = set.isLeftOver
            set.forEach { entry in
                if entry.isOwn { return }
                if isLeftOver { leftOver.append(entry.number) } else { others.append(entry.number) }
            }
        }
        let newest = (others.sorted() + leftOver.sorted()).suffix(excess)
        _ = remove(Set(newest))
        if unaskedCount > limits.unaskedRecords { alarm.note(now) }
    }

    /// Removes expired records, and returns them with the keys whose records need a refresh query. At most
    /// ``MulticastRules/removalsPerSearch`` are removed; the next searches remove the rest. Also removes records that
    /// no question needs, if there are too many.
    mutating func advance(_ now: DiscoveryTime, random: inout DelayRandom) -> (gone: [DNSRecord], stale: [RecordKey]) {
        guard alarm.isDue(now) else { return ([], []) }
        var over: [(key: RecordKey, data: [DNSRecordData])] = []
        var stale: [RecordKey] = []
        var removals = MulticastRules.removalsPerSearch
        var alarm = alarm
        alarm.reset(now)
        forEachSet { key, set in
            var ended: [DNSRecordData] = []
            var isStale = false
            set.forEach { entry in
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
        }
        self.alarm = alarm
        let gone = over.flatMap { key, data in remove(key, data).map(\.record) }
        removeUnasked(now: now)
        return (gone, stale)
    }

    /// The known answers that a query lists (RFC 6762 §7.1), the earliest known first: records with more than half of
    /// their time to live left.
    mutating func knownAnswers(_ key: RecordKey, now: DiscoveryTime) -> [DNSRecord] {
        let numbers = sets[key]?.inOrder { Self.isListed($0, now: now) ? $0.number : nil } ?? []
        guard let last = numbers.prefix(limits.listedAnswers).last else { return [] }
        let known = sets[key]?.inOrder { entry in
            entry.number <= last && Self.isListed(entry, now: now)
                ? entry.record.plain.withTimeToLive(entry.remaining(now)) : nil
        }
        return known ?? []
    }

    /// Whether a query lists this record as known.
    func lists(_ key: RecordKey, _ data: DNSRecordData, now: DiscoveryTime) -> Bool {
        sets[key]?.entries[data].map { Self.isListed($0, now: now) } ?? false
    }

    private static func isListed(_ entry: CachedRecord, now: DiscoveryTime) -> Bool {
        entry.remaining(now) > entry.record.timeToLive / 2
    }

    /// Lets one record expire at `time`. Returns whether it would have lived longer.
    private mutating func end(_ key: RecordKey, _ data: DNSRecordData, at time: DiscoveryTime) -> Bool {
        guard sets[key]?.entries[data]?.end(at: time) == true else { return false }
        alarm.note(time)
        return true
    }

    /// Lets the records of `key` that satisfy `condition` expire at `time`. Returns whether one would have lived
    /// longer.
    @discardableResult
    private mutating func end(
        _ key: RecordKey, at time: DiscoveryTime, where condition: (CachedRecord) -> Bool
    ) -> Bool {
        var isChanged = false
        sets[key]?.forEach { if $0.expires > time, condition($0), $0.end(at: time) { isChanged = true } }
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

/// A cached record, with its sender, its expiry, and the state of its refresh queries.
struct CachedRecord {
    var record: DNSRecord
    var received: DiscoveryTime
    var expires: DiscoveryTime
    /// The position in the order of arrival.
    var number = 0
    /// The number of refresh queries that were sent (``MulticastRules/refreshPercents``).
    var refreshes = 0
    /// The time of the next refresh query; nil if no question needs the record, or all were sent.
    var refresh: DiscoveryTime?
    /// The host that sent the record; nil for this machine's own records, which do not expire and do not count against
    /// limits.
    var sender: IPAddress?
    /// The number of queries of other hosts since the last answer (RFC 6762 §10.5), and the time of the first.
    var unanswered = 0
    var firstUnanswered: DiscoveryTime?

    var isOwn: Bool { sender == nil }

    /// The remaining time to live, in seconds.
    func remaining(_ now: DiscoveryTime) -> UInt32 {
        isOwn ? record.timeToLive : UInt32(clamping: now.duration(to: expires).components.seconds)
    }

    /// The time at which this record must be examined next; nil for this machine's own records.
    var deadline: DiscoveryTime? {
        isOwn ? nil : refresh.map { min($0, expires) } ?? expires
    }

    /// Lets the record expire at `time`. Returns whether it would have lived longer. Own records are not changed.
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
