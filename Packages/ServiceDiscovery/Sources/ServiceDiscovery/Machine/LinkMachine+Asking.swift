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
        question.next = firstRound
        cache.setWanted(true, key, random: &random)
        if cache.hasUniqueAnswer(key) { question.next = nil }
        questions[key] = question
        questionAlarm.note(question.next)
    }

    mutating func end(_ key: RecordKey) {
        questions[key] = nil
        urgent.removeAll { $0 == key }
        cache.setWanted(false, key, random: &random)
    }

    func known(_ key: RecordKey) -> [DNSRecord] {
        cache.records(key).map(\.record)
    }

    /// RFC 6762 §10.4: asks twice, and takes the record for gone if nobody answers.
    mutating func doubt(_ key: RecordKey, _ data: DNSRecordData?, now: DiscoveryTime) {
        guard cache.doubt(key, data, until: now + MulticastRules.doubtTime) else { return }
        urgent.append(key)
        let again = now + MulticastRules.doubtInterval
        doubts.append((key, again))
        doubtAlarm.note(again)
    }

    mutating func advanceDoubts(_ now: DiscoveryTime) {
        doubtAlarm.reset()
        urgent += doubts.filter { $0.due <= now }.map(\.key)
        doubts.removeAll { $0.due <= now }
        for doubt in doubts { doubtAlarm.note(doubt.due) }
    }

    /// Asks again soon for what is not known any more.
    mutating func resumeAsking(_ key: RecordKey, now: DiscoveryTime) {
        guard var question = questions[key], question.next == nil else { return }
        question.interval = MulticastRules.firstQueryInterval
        question.next = now + random.milliseconds(MulticastRules.firstQueryDelay)
        questions[key] = question
        questionAlarm.note(question.next)
    }

    /// Sends the questions that are due, with what is known already.
    mutating func ask(_ now: DiscoveryTime) {
        var keys: [(key: RecordKey, wantsUnicast: Bool)] = []
        var seen: Set<RecordKey> = []
        for key in urgent where seen.insert(key).inserted { keys.append((key, false)) }
        urgent = []
        if questionAlarm.isDue(now) {
            questionAlarm.reset()
            var due: [RecordKey] = []
            for (key, question) in questions {
                if let next = question.next, next <= now { due.append(key) } else { questionAlarm.note(question.next) }
            }
            // In an order that does not depend on chance.
            due.sort { $0.name.wireForm.lexicographicallyPrecedes($1.name.wireForm) }
            for key in due {
                guard var question = questions[key] else { continue }
                if cache.hasUniqueAnswer(key) {
                    question.next = nil
                } else {
                    // RFC 6762 §5.4: only at the beginning, and only if the answer reaches us.
                    let wantsUnicast = question.sent == 0 && link.hearsUnicast
                    if seen.insert(key).inserted { keys.append((key, wantsUnicast)) }
                    question.noteSent(now)
                }
                questions[key] = question
                questionAlarm.note(question.next)
            }
        }
        guard !keys.isEmpty else { return }
        let questions = keys.map { key, wantsUnicast in
            DNSQuestion(key.name, key.type, recordClass: wantsUnicast ? 1 | DNSQuestion.unicastWanted : 1)
        }
        // A record that is about to die is not listed: its owner would keep quiet.
        let known = keys.flatMap { cache.knownAnswers($0.key, now: now) }
        multicast(PacketComposer.queries(questions, known: known), now: now)
    }

    /// RFC 6762 §7.3: somebody else has just asked what we are about to ask. `known` is what he listed of it.
    mutating func noteForeignQuestion(_ foreign: DNSQuestion, known: [DNSRecord], now: DiscoveryTime) {
        guard !foreign.wantsUnicast else { return }
        if var question = questions[foreign.key], let next = question.next, next - now < .seconds(1) {
            let ours = KnownAnswers(cache.knownAnswers(foreign.key, now: now))
            if known.allSatisfy({ $0.key != foreign.key || ours.contains($0) }) {
                question.noteSent(now)
                questions[foreign.key] = question
                questionAlarm.note(question.next)
            }
        }
        for record in cache.noteQuery(foreign.key, known: KnownAnswers(known), now: now) {
            doubt(record.key, record.data, now: now)
        }
    }
}
