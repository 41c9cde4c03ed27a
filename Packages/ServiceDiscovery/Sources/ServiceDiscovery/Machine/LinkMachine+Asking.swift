internal import HostResolver

/// Questions (RFC 6762 §5).
extension LinkMachine {
    /// Begins to ask; what is known already is in ``known(_:)``.
    mutating func begin(_ key: RecordKey, now: DiscoveryTime) {
        guard questions[key] == nil else { return }
        var question = LinkQuestion()
        // RFC 6762 §5.2: so that many hosts that start together do not ask together. What is asked meanwhile goes into the
        // same packet (§5.3), and is answered together.
        if firstRound.map({ $0 <= now }) ?? true {
            firstRound = now + random.milliseconds(MulticastRules.firstQueryDelay)
        }
        if let firstRound { question.restart(at: firstRound) }
        cache.setWanted(true, key, random: &random)
        if cache.hasUniqueAnswer(key) { question.next = nil }
        questions[key] = question
        questionAlarm.note(question.deadline)
    }

    mutating func end(_ key: RecordKey) {
        questions[key] = nil
        cache.setWanted(false, key, random: &random)
    }

    func known(_ key: RecordKey) -> [DNSRecord] {
        cache.records(key).map(\.record)
    }

    /// RFC 6762 §10.4: asks twice, and takes the record for gone if nobody answers. What no question asks for just goes, if
    /// nobody says meanwhile that it stands.
    mutating func doubt(_ key: RecordKey, _ data: DNSRecordData?, now: DiscoveryTime) {
        guard cache.doubt(key, data, until: now + MulticastRules.doubtTime) else { return }
        questions[key]?.doubt(now)
        questionAlarm.note(questions[key]?.deadline)
    }

    /// Asks out of turn, as soon as the interval between two queries allows, if the question is asked at all.
    mutating func expedite(_ key: RecordKey, now: DiscoveryTime) {
        questions[key]?.expedite(now)
        questionAlarm.note(questions[key]?.deadline)
    }

    /// Asks again soon for what is not known any more.
    mutating func resumeAsking(_ key: RecordKey, now: DiscoveryTime) {
        guard var question = questions[key], question.next == nil else { return }
        question.restart(at: now + random.milliseconds(MulticastRules.firstQueryDelay))
        questions[key] = question
        questionAlarm.note(question.deadline)
    }

    /// Sends the questions that are due, with what is known already.
    mutating func ask(_ now: DiscoveryTime) {
        questionAlarm.reset(now)
        var due: [RecordKey] = []
        for (key, question) in questions {
            if question.isDue(now) { due.append(key) } else { questionAlarm.note(question.deadline) }
        }
        // In an order that does not depend on chance.
        due.sort { $0.name.wireForm.lexicographicallyPrecedes($1.name.wireForm) }
        var asked: [DNSQuestion] = []
        // A record that is about to die is not listed: its owner would keep quiet.
        var known: [DNSRecord] = []
        for key in due {
            guard var question = questions[key] else { continue }
            let isFirst = question.sent == 0 && question.isScheduled(now)
            if cache.hasUniqueAnswer(key) { question.next = nil }
            if question.isDue(now) {
                // RFC 6762 §5.4: only at the beginning, and only if the answer reaches us.
                let unicast = isFirst && link.hearsUnicast ? DNSQuestion.unicastWanted : 0
                asked.append(DNSQuestion(key.name, key.type, recordClass: 1 | unicast))
                known += cache.knownAnswers(key, now: now)
                question.noteSent(now)
            }
            questions[key] = question
            questionAlarm.note(question.deadline)
        }
        guard !asked.isEmpty else { return }
        known.removeLast(known.count - listing.take(known.count, now: now))
        multicast(PacketComposer.queries(asked, known: known), now: now)
    }

    /// RFC 6762 §7.3: another host has just asked what we are about to ask. `known` is what it listed.
    mutating func noteForeignQuestion(_ foreign: DNSQuestion, known: KnownAnswers, now: DiscoveryTime) {
        guard !foreign.wantsUnicast else { return }
        let key = foreign.key
        if var question = questions[key], let next = question.next, next - now < .seconds(1),
            known.data(key).allSatisfy({ cache.lists(key, $0, now: now) })
        {
            question.noteScheduled(now)
            questions[key] = question
            questionAlarm.note(question.deadline)
        }
        for record in cache.noteQuery(key, known: known, now: now) { doubt(record.key, record.data, now: now) }
    }
}
