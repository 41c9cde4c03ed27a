internal import DNSWire
internal import HostResolver

/// A question on one link. It is sent by a schedule with growing intervals, and out of turn to verify a record. Two
/// queries are always at least ``MulticastRules/firstQueryInterval`` apart (RFC 6762 §5.2), however many packets ask
/// for a verification.
struct LinkQuestion {
    /// When the schedule sends next; nil while a unique answer is known, which is refreshed before its end.
    var next: DiscoveryTime?
    /// The interval after that.
    private var interval = MulticastRules.firstQueryInterval
    /// When to send out of turn, and when to repeat that (§10.4).
    private var outOfTurn: DiscoveryTime?
    private var repetition: DiscoveryTime?
    private var lastSent: DiscoveryTime?
    /// The number of scheduled queries so far, by this host or by another one in its place.
    private(set) var sent = 0

    /// When the next query is due.
    var deadline: DiscoveryTime? {
        guard let earliest = [next, outOfTurn, repetition].compactMap({ $0 }).min() else { return nil }
        return lastSent.map { max(earliest, $0 + MulticastRules.firstQueryInterval) } ?? earliest
    }

    func isDue(_ now: DiscoveryTime) -> Bool {
        deadline.map { $0 <= now } ?? false
    }

    /// Whether the schedule is due as well.
    func isScheduled(_ now: DiscoveryTime) -> Bool {
        next.map { $0 <= now } ?? false
    }

    /// Sends as soon as the minimum interval allows.
    mutating func expedite(_ now: DiscoveryTime) {
        outOfTurn = outOfTurn.map { min($0, now) } ?? now
    }

    /// Sends as soon as the minimum interval allows, and once more a little later (§10.4).
    mutating func verify(_ now: DiscoveryTime) {
        expedite(now)
        repetition = repetition ?? now + MulticastRules.verificationInterval
    }

    /// Restarts the schedule at `time`.
    mutating func restart(at time: DiscoveryTime) {
        (next, interval) = (time, MulticastRules.firstQueryInterval)
    }

    /// Records that the question was sent.
    mutating func noteSent(_ now: DiscoveryTime) {
        if isScheduled(now) { noteScheduled(now) }
        if let outOfTurn, outOfTurn <= now { self.outOfTurn = nil }
        if let repetition, repetition <= now { self.repetition = nil }
        lastSent = now
    }

    /// Records that the scheduled query was sent, by this host or by another one (§7.3).
    mutating func noteScheduled(_ now: DiscoveryTime) {
        sent += 1
        next = now + interval
        interval = min(interval * 2, MulticastRules.maximumQueryInterval)
    }
}

/// The questions on one link, with the earliest time at which one is due.
struct LinkQuestions {
    private var questions: [RecordKey: LinkQuestion] = [:]
    private var alarm = Alarm(pause: MulticastRules.searchInterval)
    /// When the newest questions are sent, all together.
    private var firstRound: DiscoveryTime?

    var keys: Dictionary<RecordKey, LinkQuestion>.Keys { questions.keys }
    var deadline: DiscoveryTime? { alarm.earliest }

    func isDue(_ now: DiscoveryTime) -> Bool { alarm.isDue(now) }

    func contains(_ key: RecordKey) -> Bool { questions[key] != nil }

    /// The question for `key`; nil to remove it.
    subscript(key: RecordKey) -> LinkQuestion? {
        get { questions[key] }
        set {
            questions[key] = newValue
            alarm.note(newValue?.deadline)
        }
    }

    /// When a question that begins now is first sent.
    ///
    /// §5.2: the first queries of many hosts that start together are spread. All questions that begin meanwhile are sent in
    /// the same packet (§5.3) and answered together.
    mutating func firstQuery(_ now: DiscoveryTime, random: inout DelayRandom) -> DiscoveryTime {
        if let firstRound, firstRound > now { return firstRound }
        let time = now + random.milliseconds(MulticastRules.firstQueryDelay)
        firstRound = time
        return time
    }

    /// Changes the question for `key`, if there is one.
    mutating func update(_ key: RecordKey, _ change: (inout LinkQuestion) -> Void) {
        guard var question = questions[key] else { return }
        change(&question)
        self[key] = question
    }

    /// The keys of the due questions, in a deterministic order. The caller stores each question again.
    mutating func takeDue(_ now: DiscoveryTime) -> [RecordKey] {
        alarm.reset(now)
        var due: [RecordKey] = []
        for (key, question) in questions {
            if question.isDue(now) { due.append(key) } else { alarm.note(question.deadline) }
        }
        due.sort { $0.name.wireForm.lexicographicallyPrecedes($1.name.wireForm) }
        return due
    }
}
