internal import HostResolver

/// The records known on one link (RFC 6762 §5.2, §10). Bounded in all, for each sender, in time, and for what no question
/// asks for.
///
/// Theory of operation. Own records stand in it too, so that questions of this machine find services of this machine. A
/// flood can keep new records out for a while, but cannot make services vanish: when the cache is full, an answer to a
/// question displaces only records that no question asks for, and then those of senders that fill more than their share
/// (``EngineLimits/percentWhenFull``), the newest first. Many are displaced at a time, so that the search costs little for
/// each.
struct RecordCache {
    /// What came of a record.
    enum Insertion: Hashable {
        /// It is new; the others were given up for it.
        case added(displaced: [DNSRecord])
        case refreshed
        case refused
    }

    /// What is known of one key.
    private struct RecordSet {
        var entries: [DNSRecordData: CachedRecord] = [:]
        /// The number of entries that are not this machine's own.
        var foreign = 0
        /// When a query of another host was last counted (§10.5).
        var lastQuery: DiscoveryTime?

        /// Changes each entry in its place: a set may be large, and must not be copied for that.
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
    /// The keys that questions ask for.
    private var wanted: Set<RecordKey> = []
    private var inserted = 0
    private var alarm = Alarm(pause: MulticastRules.searchInterval)
    /// Foreign records, all and those that answer no question.
    private(set) var count = 0
    private var unaskedCount = 0
    private var bySender: [IPAddress: Int] = [:]
    /// When a search for records to displace may be made again after one that found none.
    private var nextSearch: DiscoveryTime?

    init(limits: EngineLimits) {
        self.limits = limits
    }

    var deadline: DiscoveryTime? { alarm.earliest }

    func records(_ key: RecordKey) -> [CachedRecord] {
        (sets[key]?.entries ?? [:]).values.sorted { $0.number < $1.number }
    }

    func isEmpty(_ key: RecordKey) -> Bool {
        sets[key] == nil
    }

    /// RFC 6762 §5.2: a unique answer that is known needs no asking until it is about to die.
    func hasUniqueAnswer(_ key: RecordKey) -> Bool {
        sets[key]?.entries.values.contains { $0.record.isUnique && ($0.isOwn || $0.refresh != nil) } ?? false
    }

    /// Takes a record in, or starts its life anew. It lives for ``EngineLimits/longestLife`` at most.
    mutating func insert(
        _ record: DNSRecord, from sender: IPAddress, now: DiscoveryTime, random: inout DelayRandom
    ) -> Insertion {
        let record = record.living(min(record.timeToLive, limits.longestLife))
        let key = record.key
        let isWanted = wanted.contains(key)
        var entry = CachedRecord(
            record: record, received: now, expires: now + .seconds(Int64(record.timeToLive)), sender: sender)
        entry.schedule(isWanted: isWanted, random: &random)
        if let old = sets[key]?.entries[record.data] {
            if old.isOwn { return .refreshed }
            (entry.sender, entry.number) = (old.sender, old.number)
            sets[key]?.entries[record.data] = entry
            alarm.note(entry.deadline)
            return .refreshed
        }
        guard let displaced = makeRoom(for: sender, isWanted: isWanted, now: now) else { return .refused }
        count += 1
        bySender[sender, default: 0] += 1
        if !isWanted { unaskedCount += 1 }
        inserted += 1
        entry.number = inserted
        sets[key, default: RecordSet()].foreign += 1
        sets[key]?.entries[record.data] = entry
        alarm.note(entry.deadline)
        return .added(displaced: displaced)
    }

    /// Finds room for one more record; what it displaces, or nil if there is no room.
    private mutating func makeRoom(for sender: IPAddress, isWanted: Bool, now: DiscoveryTime) -> [DNSRecord]? {
        func share(_ percent: Int) -> Int { max(1, limits.cachedRecords * percent / 100) }
        let filled = bySender[sender, default: 0]
        guard isWanted || unaskedCount < limits.unaskedRecords, filled < share(limits.percentOfOneSender) else {
            return nil
        }
        if count < limits.cachedRecords { return [] }
        guard isWanted, filled < share(limits.percentWhenFull), nextSearch.map({ $0 <= now }) ?? true else {
            return nil
        }
        let kept = share(limits.percentWhenFull)
        let displaced = displace(atMost: max(1, limits.cachedRecords / 16), keeping: kept)
        nextSearch = displaced.isEmpty ? now + MulticastRules.lastSecond : nil
        return displaced.isEmpty ? nil : displaced
    }

    /// Takes out records that no question asks for, then those beyond `kept` of one sender; the newest first.
    private mutating func displace(atMost limit: Int, keeping kept: Int) -> [DNSRecord] {
        var unneeded: [CachedRecord] = []
        var excess: [CachedRecord] = []
        for (key, set) in sets {
            for entry in set.entries.values {
                guard let sender = entry.sender else { continue }
                if !wanted.contains(key) {
                    unneeded.append(entry)
                } else if bySender[sender, default: 0] > kept {
                    excess.append(entry)
                }
            }
        }
        var displaced: [DNSRecord] = []
        for entry in unneeded.sorted(by: { $0.number > $1.number }).prefix(limit) {
            displaced += remove(entry.record.key, [entry.record.data]).map(\.record)
        }
        for entry in excess.sorted(by: { $0.number > $1.number }) where displaced.count < limit {
            guard let sender = entry.sender, bySender[sender, default: 0] > kept else { continue }
            displaced += remove(entry.record.key, [entry.record.data]).map(\.record)
        }
        return displaced
    }

    /// Puts in a record of this machine; true if nobody had told of it before.
    mutating func insertOwn(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        let known = remove(record.key, [record.data])
        inserted += 1
        var entry = CachedRecord(record: record, received: now, expires: now, sender: nil)
        entry.number = inserted
        sets[record.key, default: RecordSet()].entries[record.data] = entry
        return known.isEmpty
    }

    /// Takes out a record of this machine; true if it was there.
    mutating func removeOwn(_ record: DNSRecord) -> Bool {
        guard sets[record.key]?.entries[record.data]?.isOwn == true else { return false }
        return !remove(record.key, [record.data]).isEmpty
    }

    /// RFC 6762 §10.2: what else was known of the name and type, and was told more than a second ago, has a second left.
    mutating func flush(_ key: RecordKey, except data: Set<DNSRecordData>, now: DiscoveryTime) {
        end(key, at: now + MulticastRules.lastSecond) { entry in
            now - entry.received > MulticastRules.lastSecond && !data.contains(entry.record.data)
        }
    }

    /// RFC 6762 §10.1: a goodbye leaves a second, in which somebody else may say that the record stands. True if known.
    mutating func goodbye(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        end(record.key, record.data, at: now + MulticastRules.lastSecond)
    }

    /// RFC 6762 §10.4: gone at `moment` if nobody tells of it again; without data, all of the key. True if known, and not
    /// about to go anyway.
    mutating func doubt(_ key: RecordKey, _ data: DNSRecordData?, until moment: DiscoveryTime) -> Bool {
        if let data { return end(key, data, at: moment) }
        return end(key, at: moment) { _ in true }
    }

    /// Another host asked for `key`, and did not list everything as known (RFC 6762 §10.5). The records to be doubted.
    ///
    /// At most one query in a second counts, so that queries cost nothing more however fast they come.
    mutating func noteQuery(_ key: RecordKey, known: KnownAnswers, now: DiscoveryTime) -> [DNSRecord] {
        guard sets[key]?.lastQuery.map({ now - $0 >= MulticastRules.firstQueryInterval }) ?? true else { return [] }
        sets[key]?.lastQuery = now
        var doubtful: [DNSRecord] = []
        sets[key]?.changeEach { entry in
            if entry.isOwn || known.contains(entry.record) { return }
            let first = entry.firstUnanswered ?? now
            entry.firstUnanswered = first
            entry.unanswered += 1
            if entry.unanswered >= MulticastRules.unansweredLimit, now - first >= MulticastRules.doubtTime {
                (entry.unanswered, entry.firstUnanswered) = (0, nil)
                doubtful.append(entry.record)
            }
        }
        return doubtful
    }

    /// Questions ask for `key` from now on, or no longer do. Of what they no longer ask for, the newest goes that is beyond
    /// ``EngineLimits/unaskedRecords``.
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

    /// What is due: records whose time is over, taken out, and keys to be asked for again.
    mutating func advance(_ now: DiscoveryTime, random: inout DelayRandom) -> (gone: [DNSRecord], stale: [RecordKey]) {
        guard alarm.isDue(now) else { return ([], []) }
        var over: [(key: RecordKey, data: [DNSRecordData])] = []
        var stale: [RecordKey] = []
        alarm.reset(now)
        var index = sets.startIndex
        while index < sets.endIndex {
            let key = sets[index].key
            var ended: [DNSRecordData] = []
            var isStale = false
            sets.values[index].changeEach { entry in
                if entry.isOwn { return }
                if entry.expires <= now { return ended.append(entry.record.data) }
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

    /// What a question may list as known (RFC 6762 §7.1), the first known first: more than half of its life is left.
    func knownAnswers(_ key: RecordKey, now: DiscoveryTime) -> [DNSRecord] {
        var known: [DNSRecord] = []
        for entry in records(key) where known.count < limits.listedAnswers {
            if isListed(entry, now: now) { known.append(entry.record.plain.living(entry.remaining(now))) }
        }
        return known
    }

    /// True if a question lists this answer as known.
    func lists(_ key: RecordKey, _ data: DNSRecordData, now: DiscoveryTime) -> Bool {
        sets[key]?.entries[data].map { isListed($0, now: now) } ?? false
    }

    private func isListed(_ entry: CachedRecord, now: DiscoveryTime) -> Bool {
        entry.remaining(now) > entry.record.timeToLive / 2
    }

    /// Has one record end at `moment`; true if it would have lived longer.
    private mutating func end(_ key: RecordKey, _ data: DNSRecordData, at moment: DiscoveryTime) -> Bool {
        guard sets[key]?.entries[data]?.end(at: moment) == true else { return false }
        alarm.note(moment)
        return true
    }

    /// Has the records of `key` end at `moment` that fulfil `condition`; true if there is one that would have lived longer.
    @discardableResult
    private mutating func end(
        _ key: RecordKey, at moment: DiscoveryTime, where condition: (CachedRecord) -> Bool
    ) -> Bool {
        var isChanged = false
        sets[key]?.changeEach { if condition($0), $0.end(at: moment) { isChanged = true } }
        if isChanged { alarm.note(moment) }
        return isChanged
    }

    private mutating func remove(_ key: RecordKey, _ data: [DNSRecordData]) -> [CachedRecord] {
        let removed = data.compactMap { sets[key]?.entries.removeValue(forKey: $0) }
        for entry in removed {
            guard let sender = entry.sender else { continue }
            count -= 1
            sets[key]?.foreign -= 1
            let left = bySender[sender, default: 1] - 1
            bySender[sender] = left == 0 ? nil : left
            if !wanted.contains(key) { unaskedCount -= 1 }
        }
        if sets[key]?.entries.isEmpty == true { sets[key] = nil }
        return removed
    }
}
