internal import HostResolver

/// Answers (RFC 6762 §6, §7).
extension LinkMachine {
    /// The records of one name that is ours, looked up once for all questions of a packet.
    struct OwnedName {
        let all: [DNSRecord]
        let byType: [DNSRecordType: [DNSRecord]]
        /// An NSEC record with the types that the name has (§6.1); nil unless all of the name is ours.
        let denial: DNSRecord?

        init(_ name: DNSName, _ records: [DNSRecord]) {
            all = records
            byType = Dictionary(grouping: records, by: \.type)
            if !records.isEmpty, records.allSatisfy(\.isUnique) {
                let types = byType.keys.sorted { $0.rawValue < $1.rawValue }
                let time = records.map(\.timeToLive).min() ?? MulticastRules.hostTime
                denial = .unique(name, time, .nsec(next: name, types: types))
            } else {
                denial = nil
            }
        }

        /// The records that answer a question of this type; if the name has none, the one that says so.
        func records(of type: DNSRecordType) -> [DNSRecord] {
            let records = type == .any ? all : byType[type] ?? []
            return records.isEmpty ? denial.map { [$0] } ?? [] : records
        }
    }

    /// Answers a whole query, now or after the delays that the standard asks for.
    mutating func answer(
        _ query: DNSMessage, known: KnownAnswers, _ datagram: Datagram, isComplete: Bool, now: DiscoveryTime
    ) {
        let isLegacy = datagram.sourcePort != MulticastRules.port
        let isProbe = !query.authorities.isEmpty
        // A reply to one host goes only to where it can have come from; else it would be a weapon.
        let mayReply = link.contains(datagram.source)
        var byMulticast: [DNSRecord] = []
        var byUnicast: [DNSRecord] = []
        var isShared = false
        var names: [DNSName: OwnedName] = [:]
        for question in query.distinctQuestions {
            let name = names[question.name] ?? OwnedName(question.name, ownedRecords(question.name))
            names[question.name] = name
            let records = name.records(of: question.type)
            let wantsUnicast = isLegacy || question.wantsUnicast || !datagram.isMulticast
            for record in records {
                if known.suppresses(record) { continue }
                if !record.isUnique { isShared = true }
                if wantsUnicast, mayReply {
                    byUnicast.append(record)
                    // §5.4: what was not multicast for a quarter of its life is multicast as well.
                    if !isLegacy, datagram.isMulticast, !isRecent(record, now: now) { byMulticast.append(record) }
                } else if !isLegacy {
                    byMulticast.append(record)
                }
            }
        }
        if !byUnicast.isEmpty, replies.isSpent(now) {
            statistics.repliesRefused += 1
        } else if !byUnicast.isEmpty {
            let answers = Self.distinct(byUnicast)
            let extra = additional(to: answers)
            let packets =
                isLegacy
                ? [PacketComposer.legacyReply(to: query, answers: answers, additional: extra)].compactMap { $0 }
                : PacketComposer.responses(answers, additional: extra)
            reply(packets, to: datagram.source, port: datagram.sourcePort, now: now)
        }
        // §6: no delay where nobody else can answer, nor where a name is to be defended.
        let delay: Duration =
            isProbe || isComplete || !isShared ? .zero : random.milliseconds(MulticastRules.sharedDelay)
        let pause = isProbe ? MulticastRules.defenceInterval : MulticastRules.repeatInterval
        for record in Self.distinct(byMulticast) { schedule(record, at: now + delay, pause: pause) }
        if pendingAlarm.isDue(now) { sendPending(now) }
    }

    /// An NSEC record with the types that the name has, if all of the name is ours.
    private func denial(of name: DNSName) -> DNSRecord? {
        OwnedName(name, ownedRecords(name)).denial
    }

    private func ownedRecords(_ name: DNSName) -> [DNSRecord] {
        (owned[name] ?? [:]).values.sorted { $0.number < $1.number }.map(\.record)
    }

    private func isRecent(_ record: DNSRecord, now: DiscoveryTime) -> Bool {
        lastMulticast(record).map { now - $0 < .milliseconds(Int64(record.timeToLive) * 250) } ?? false
    }

    private func lastMulticast(_ record: DNSRecord) -> DiscoveryTime? {
        record.type == .nsec ? denied[record.name] : owned[record.name]?[record.data]?.multicast
    }

    /// Has a record multicast at `moment`, but not sooner than `pause` after the last time (§6).
    mutating func schedule(_ record: DNSRecord, at moment: DiscoveryTime, pause: Duration) {
        let due = max(moment, lastMulticast(record).map { $0 + pause } ?? moment)
        if let old = pending[record.identity] {
            pending[record.identity]?.due = min(old.due, due)
        } else {
            guard pending.count < limits.pendingAnswers else {
                statistics.repliesRefused += 1
                return
            }
            scheduled += 1
            pending[record.identity] = PendingAnswer(record: record, due: due, number: scheduled)
        }
        pendingAlarm.note(due)
    }

    /// Sends what is due in as few packets as hold it (§6.4).
    mutating func sendPending(_ now: DiscoveryTime) {
        var due = pending.values.filter { $0.due <= now }.sorted { $0.number < $1.number }.map(\.record)
        for record in due { pending[record.identity] = nil }
        // A denial may have waited while the records of its name changed.
        due.removeAll { $0.type == .nsec && $0.data != denial(of: $0.name)?.data }
        pendingAlarm.reset(now)
        for answer in pending.values { pendingAlarm.note(answer.due) }
        guard !due.isEmpty else { return }
        let extra = additional(to: due)
        for record in due + extra { noteMulticast(record, now: now) }
        multicast(PacketComposer.responses(due, additional: extra), now: now)
    }

    /// RFC 6763 §12: what the asker will ask for next.
    private func additional(to answers: [DNSRecord]) -> [DNSRecord] {
        var extra: [DNSRecord] = []
        var hosts: [DNSName] = []
        func take(_ name: DNSName, _ types: [DNSRecordType]) {
            for record in ownedRecords(name) where types.contains(record.type) {
                if case .srv(_, _, _, let target) = record.data { hosts.append(target) }
                extra.append(record)
            }
        }
        // Only what may fit into one packet.
        for record in answers where extra.count < PacketComposer.mostRecords {
            switch record.data {
            case .ptr(let name): take(name, [.srv, .txt])
            case .srv(_, _, _, let target): hosts.append(target)
            // RFC 6762 §19.
            case .a, .aaaa: hosts.append(record.name)
            default: break
            }
        }
        for host in Set(hosts).sorted(by: { $0.wireForm.lexicographicallyPrecedes($1.wireForm) }) {
            take(host, [.a, .aaaa])
            let types = Set(ownedRecords(host).map(\.type))
            if !types.isEmpty, !types.isSuperset(of: [.a, .aaaa]) { extra += denial(of: host).map { [$0] } ?? [] }
        }
        let given = Set(answers.map(\.identity))
        return Self.distinct(extra).filter { !given.contains($0.identity) }
    }

    static func distinct(_ records: [DNSRecord]) -> [DNSRecord] {
        var seen: Set<RecordIdentity> = []
        return records.filter { seen.insert($0.identity).inserted }
    }

    // MARK: Known answers in several packets (§7.2)

    mutating func hold(_ query: DNSMessage, _ datagram: Datagram, now: DiscoveryTime) {
        let due = now + random.milliseconds(MulticastRules.truncationDelay)
        if let place = held.firstIndex(where: { $0.source == datagram.source }) {
            // §7.2: each further packet that is not the last puts the answer off again; never for ever.
            held[place].questions += query.questions.prefix(
                max(0, limits.heldKnownAnswers - held[place].questions.count))
            addKnown(query.answers, place)
            return
        }
        guard held.count < limits.heldQueries else {
            statistics.repliesRefused += 1
            return
        }
        held.append(
            HeldQuery(source: datagram.source, questions: query.questions, known: [], datagram: datagram, due: due))
        addKnown(query.answers, held.count - 1)
        heldAlarm.note(due)
    }

    /// Adds known answers to the query they belong to; false if there is none.
    mutating func continueHeld(_ query: DNSMessage, _ datagram: Datagram) -> Bool {
        guard let place = held.firstIndex(where: { $0.source == datagram.source }) else { return false }
        addKnown(query.answers, place)
        return true
    }

    private mutating func addKnown(_ records: [DNSRecord], _ place: Int) {
        held[place].known += records.prefix(max(0, limits.heldKnownAnswers - held[place].known.count))
    }

    mutating func answerHeld(_ now: DiscoveryTime) {
        let due = held.filter { $0.due <= now }
        held.removeAll { $0.due <= now }
        heldAlarm.reset(now)
        for query in held { heldAlarm.note(query.due) }
        for query in due {
            let message = DNSMessage(header: DNSHeader(id: 0), questions: query.questions)
            answer(message, known: KnownAnswers(query.known), query.datagram, isComplete: true, now: now)
        }
    }
}
