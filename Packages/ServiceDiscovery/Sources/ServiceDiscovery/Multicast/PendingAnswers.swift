internal import DNSWire

/// Answers that wait for a random delay or for the minimum interval between multicasts (RFC 6762 §6, §6.4).
struct PendingAnswers {
    private struct Answer {
        let record: DNSRecord
        var due: DiscoveryTime
        /// The position in the order of scheduling.
        let number: Int
    }

    private let limit: Int
    private var answers: [RecordIdentity: Answer] = [:]
    private var scheduled = 0
    private var alarm = Alarm()

    /// - Parameter limit: the most answers that wait.
    init(limit: Int) {
        self.limit = limit
    }

    var deadline: DiscoveryTime? { alarm.earliest }

    func isDue(_ now: DiscoveryTime) -> Bool { alarm.isDue(now) }

    /// Schedules an answer at `due`, or earlier if it is scheduled already; false if there is no room.
    mutating func schedule(_ record: DNSRecord, at due: DiscoveryTime) -> Bool {
        if let old = answers[record.identity] {
            answers[record.identity]?.due = min(old.due, due)
        } else {
            guard answers.count < limit else { return false }
            scheduled += 1
            answers[record.identity] = Answer(record: record, due: due, number: scheduled)
        }
        alarm.note(due)
        return true
    }

    mutating func remove(_ record: DNSRecord) {
        answers[record.identity] = nil
    }

    /// Removes and returns the due answers, in the order of their scheduling.
    mutating func takeDue(_ now: DiscoveryTime) -> [DNSRecord] {
        let due = answers.values.filter { $0.due <= now }.sorted { $0.number < $1.number }.map(\.record)
        for record in due { answers[record.identity] = nil }
        alarm.reset(now)
        for answer in answers.values { alarm.note(answer.due) }
        return due
    }
}

/// Queries whose known answers continue in further packets (RFC 6762 §7.2).
struct HeldQueries {
    struct Query {
        var questions: [DNSQuestion] = []
        var known = KnownAnswers()
        /// The first packet.
        let datagram: Datagram
        let due: DiscoveryTime

        mutating func add(_ query: DNSMessage, limit: Int) {
            questions += query.questions.prefix(max(0, limit - questions.count))
            for record in query.answers where known.count < limit { known.insert(record) }
        }
    }

    private let limits: EngineLimits
    private var queries: [Query] = []
    private var alarm = Alarm()

    init(limits: EngineLimits) {
        self.limits = limits
    }

    var deadline: DiscoveryTime? { alarm.earliest }

    func isDue(_ now: DiscoveryTime) -> Bool { alarm.isDue(now) }

    /// Holds a query until `due`, or extends the one of the same sender; false if there is no room. Without questions, it
    /// only extends.
    ///
    /// An extended query is not postponed, so that it is answered in any case, however many packets follow.
    mutating func hold(_ query: DNSMessage, _ datagram: Datagram, until due: DiscoveryTime) -> Bool {
        if let index = queries.firstIndex(where: { $0.datagram.source == datagram.source }) {
            queries[index].add(query, limit: limits.heldKnownAnswers)
        } else if !query.questions.isEmpty {
            guard queries.count < limits.heldQueries else { return false }
            var new = Query(datagram: datagram, due: due)
            new.add(query, limit: limits.heldKnownAnswers)
            queries.append(new)
            alarm.note(due)
        }
        return true
    }

    /// Removes and returns the due queries.
    mutating func takeDue(_ now: DiscoveryTime) -> [Query] {
        let due = queries.filter { $0.due <= now }
        queries.removeAll { $0.due <= now }
        alarm.reset(now)
        for query in queries { alarm.note(query.due) }
        return due
    }
}
