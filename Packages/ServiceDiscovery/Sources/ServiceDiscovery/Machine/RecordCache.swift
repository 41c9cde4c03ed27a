internal import HostResolver

/// The records known on one link (RFC 6762 §5.2, §10). Bounded in all, for each sender, and for what nobody asked for.
///
/// Theory of operation. Own records stand in it too, so that questions of this machine find services of this machine.
/// Nothing is ever displaced: what was there first stays until its time is over, so a flood can keep new records out for
/// a while, but cannot make services vanish.
struct RecordCache {
    /// What came of a record.
    enum Insertion: Hashable {
        case added
        case refreshed
        case refused
    }

    private let limits: EngineLimits
    private var sets: [RecordKey: [DNSRecordData: CachedRecord]] = [:]
    private var inserted = 0
    private var alarm = Alarm()
    /// Foreign records, all and those that answer no question.
    private(set) var count = 0
    private var unasked: [RecordKey: Int] = [:]
    private var unaskedCount = 0
    private var bySender: [IPAddress: Int] = [:]

    init(limits: EngineLimits) {
        self.limits = limits
    }

    var deadline: DiscoveryTime? { alarm.earliest }

    func records(_ key: RecordKey) -> [CachedRecord] {
        (sets[key] ?? [:]).values.sorted { $0.number < $1.number }
    }

    func isEmpty(_ key: RecordKey) -> Bool {
        sets[key] == nil
    }

    /// RFC 6762 §5.2: a unique answer that is known needs no asking until it is about to die.
    func hasUniqueAnswer(_ key: RecordKey) -> Bool {
        sets[key]?.values.contains { $0.record.isUnique && ($0.isOwn || $0.refresh != nil) } ?? false
    }

    /// Takes a record in, or starts its life anew.
    mutating func insert(
        _ record: DNSRecord, from sender: IPAddress, now: DiscoveryTime, isWanted: Bool, random: inout DelayRandom
    ) -> Insertion {
        let key = record.key
        var entry = CachedRecord(
            record: record, received: now, expires: now + .seconds(Int64(record.timeToLive)), sender: sender)
        entry.schedule(isWanted: isWanted, random: &random)
        if let old = sets[key]?[record.data] {
            if old.isOwn { return .refreshed }
            (entry.sender, entry.number) = (old.sender, old.number)
            sets[key]?[record.data] = entry
            alarm.note(entry.deadline)
            return .refreshed
        }
        guard count < limits.cachedRecords, isWanted || unaskedCount < limits.unaskedRecords,
            bySender[sender, default: 0] < max(1, limits.cachedRecords * limits.percentOfOneSender / 100)
        else { return .refused }
        count += 1
        bySender[sender, default: 0] += 1
        if !isWanted {
            unasked[key, default: 0] += 1
            unaskedCount += 1
        }
        inserted += 1
        entry.number = inserted
        sets[key, default: [:]][record.data] = entry
        alarm.note(entry.deadline)
        return .added
    }

    /// Puts in a record of this machine; true if nobody had told of it before.
    mutating func insertOwn(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        let known = remove(record.key, [record.data])
        inserted += 1
        var entry = CachedRecord(record: record, received: now, expires: now, sender: nil)
        entry.number = inserted
        sets[record.key, default: [:]][record.data] = entry
        return known.isEmpty
    }

    /// Takes out a record of this machine; true if it was there.
    mutating func removeOwn(_ record: DNSRecord) -> Bool {
        guard sets[record.key]?[record.data]?.isOwn == true else { return false }
        return !remove(record.key, [record.data]).isEmpty
    }

    /// RFC 6762 §10.2: what else was known of the name and type, and was told more than a second ago, has a second left.
    mutating func flush(_ key: RecordKey, except data: Set<DNSRecordData>, now: DiscoveryTime) {
        for (other, entry) in sets[key] ?? [:] where !data.contains(other) {
            if now - entry.received > MulticastRules.lastSecond { end(key, other, at: now + MulticastRules.lastSecond) }
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
        var isChanged = false
        for data in (sets[key] ?? [:]).keys where end(key, data, at: moment) { isChanged = true }
        return isChanged
    }

    /// Somebody else asked for `key`, and did not list everything as known (RFC 6762 §10.5). The records to be doubted.
    mutating func noteQuery(_ key: RecordKey, known: KnownAnswers, now: DiscoveryTime) -> [DNSRecord] {
        guard let set = sets[key] else { return [] }
        var doubtful: [DNSRecord] = []
        for (data, entry) in set where !entry.isOwn && !known.contains(entry.record) {
            var entry = entry
            let first = entry.firstUnanswered ?? now
            entry.firstUnanswered = first
            entry.unanswered += 1
            if entry.unanswered >= MulticastRules.unansweredLimit, now - first >= MulticastRules.doubtTime {
                (entry.unanswered, entry.firstUnanswered) = (0, nil)
                doubtful.append(entry.record)
            }
            sets[key]?[data] = entry
        }
        return doubtful
    }

    /// From now on somebody is interested in `key`, or nobody is any more.
    mutating func setWanted(_ isWanted: Bool, _ key: RecordKey, random: inout DelayRandom) {
        if isWanted, let number = unasked.removeValue(forKey: key) { unaskedCount -= number }
        for (data, entry) in sets[key] ?? [:] {
            var entry = entry
            entry.schedule(isWanted: isWanted, random: &random)
            alarm.note(entry.deadline)
            sets[key]?[data] = entry
        }
    }

    /// What is due: records whose time is over, taken out, and keys to be asked for again.
    mutating func advance(_ now: DiscoveryTime, random: inout DelayRandom) -> (gone: [DNSRecord], stale: [RecordKey]) {
        guard alarm.isDue(now) else { return ([], []) }
        var gone: [DNSRecord] = []
        var stale: [RecordKey] = []
        alarm.reset()
        for (key, set) in sets {
            var over: [DNSRecordData] = []
            for (data, entry) in set where !entry.isOwn {
                if entry.expires <= now {
                    over.append(data)
                } else if let refresh = entry.refresh, refresh <= now {
                    var entry = entry
                    entry.refreshes += 1
                    entry.schedule(isWanted: true, random: &random)
                    sets[key]?[data] = entry
                    if stale.last != key { stale.append(key) }
                    alarm.note(entry.deadline)
                } else {
                    alarm.note(entry.deadline)
                }
            }
            if !over.isEmpty { gone += remove(key, over).map(\.record) }
        }
        return (gone, stale)
    }

    /// What a question may list as known (RFC 6762 §7.1): more than half of its life is left.
    func knownAnswers(_ key: RecordKey, now: DiscoveryTime) -> [DNSRecord] {
        var known: [DNSRecord] = []
        for entry in records(key) where known.count < limits.listedAnswers {
            let left = entry.remaining(now)
            if left > entry.record.timeToLive / 2 { known.append(entry.record.plain.living(left)) }
        }
        return known
    }

    @discardableResult
    private mutating func end(_ key: RecordKey, _ data: DNSRecordData, at moment: DiscoveryTime) -> Bool {
        guard var entry = sets[key]?[data], !entry.isOwn, entry.expires > moment else { return false }
        entry.expires = moment
        entry.refresh = nil
        sets[key]?[data] = entry
        alarm.note(moment)
        return true
    }

    private mutating func remove(_ key: RecordKey, _ data: [DNSRecordData]) -> [CachedRecord] {
        let removed = data.compactMap { sets[key]?.removeValue(forKey: $0) }
        if sets[key]?.isEmpty == true { sets[key] = nil }
        for entry in removed {
            guard let sender = entry.sender else { continue }
            count -= 1
            let left = bySender[sender, default: 1] - 1
            bySender[sender] = left == 0 ? nil : left
            if let number = unasked[key] {
                unasked[key] = number == 1 ? nil : number - 1
                unaskedCount -= 1
            }
        }
        return removed
    }
}
