internal import HostResolver

/// Keeps looking for records in the DNS: what to look up when, and what has changed since (RFC 6763 §4, by unicast).
///
/// A machine: answers and time go in, one action at a time comes out.
struct WideAreaMachine: Sendable {
    /// What the driver has to do.
    enum Action: Sendable {
        /// Ask the name servers, and say with this number what they answer.
        case lookUp(Int, RecordKey)
        /// The answer to this lookup is not wanted any more.
        case cancel(Int)
        /// Tell an operation.
        case report(Int, DiscoveryEvent)
        /// Nothing until then; nil for nothing until something else happens.
        case wait(DiscoveryTime?)
    }

    private struct Question {
        var operations: Set<Int> = []
        var records: [DNSRecord] = []
        var isAnswered = false
        var failures = 0
        /// The lookup under way.
        var lookup: Int?
        /// When to look up next.
        var due: DiscoveryTime
    }

    private let limit: Int
    private var questions: [RecordKey: Question] = [:]
    private var operations: [Int: RecordKey] = [:]
    private var lookups: [Int: RecordKey] = [:]
    /// Questions that are due now, in the order of coming; some may be over meanwhile.
    private var ready: [RecordKey] = []
    private var lastOperation = 0
    private var lastLookup = 0
    private var actions: [Action] = []
    private var taken = 0

    /// - Parameter limit: most questions at one time.
    init(limit: Int = EngineLimits().questions) {
        self.limit = limit
    }

    /// Begins to look for records. What is known already is reported first.
    ///
    /// - Returns: a negative number, which is none of an engine of `local`.
    mutating func ask(_ key: RecordKey, now: DiscoveryTime) throws(ServiceDiscoveryError) -> Int {
        guard questions[key] != nil || questions.count < limit else {
            throw ServiceDiscoveryError(.tooMuch, detail: "\(limit) questions")
        }
        lastOperation -= 1
        operations[lastOperation] = key
        if questions[key] == nil { ready.append(key) }
        questions[key, default: Question(due: now)].operations.insert(lastOperation)
        if let known = questions[key], known.isAnswered {
            report(known.records.isEmpty ? [.absent(interface: 0)] : known.records.map(Self.added), to: [lastOperation])
        }
        return lastOperation
    }

    /// Ends an operation. Unknown numbers are passed over.
    mutating func end(_ operation: Int) {
        guard let key = operations.removeValue(forKey: operation) else { return }
        questions[key]?.operations.remove(operation)
        guard questions[key]?.operations.isEmpty == true, let old = questions.removeValue(forKey: key) else { return }
        if let lookup = old.lookup {
            lookups[lookup] = nil
            actions.append(.cancel(lookup))
        }
    }

    /// Asks again at once, if anybody asks.
    mutating func reconfirm(_ key: RecordKey, now: DiscoveryTime) {
        guard questions[key] != nil else { return }
        questions[key]?.due = now
        ready.append(key)
    }

    /// True as long as the answer to a lookup is wanted.
    func awaits(_ lookup: Int) -> Bool {
        lookups[lookup] != nil
    }

    /// Takes the answer to a lookup; one that is not wanted any more is passed over.
    mutating func receive(_ result: Result<DNSAnswer, ResolverError>, of lookup: Int, now: DiscoveryTime) {
        guard let key = lookups.removeValue(forKey: lookup), var question = questions[key] else { return }
        question.lookup = nil
        var news: [DiscoveryEvent] = []
        switch result {
        case .success(let answer):
            (question.isAnswered, question.failures) = (true, 0)
            question.due = now + Self.held(.seconds(answer.timeToLive), to: WideAreaRules.repeatInterval)
            news = Self.changes(from: question.records, to: answer.records)
            question.records = answer.records
        case .failure(let error) where error.code == .hostNotFound || error.code == .noData:
            if key.type == .srv, question.records.isEmpty {
                // Who is to say where the service is knows of none.
                return fail(key, question, ServiceDiscoveryError(.notFound, name: key.name.description))
            }
            if !question.isAnswered || !question.records.isEmpty { news = [.absent(interface: 0)] }
            news += Self.changes(from: question.records, to: [])
            (question.isAnswered, question.failures, question.records) = (true, 0, [])
            question.due = now + WideAreaRules.absenceInterval
        case .failure(let error):
            if !question.isAnswered { return fail(key, question, Self.failure(error)) }
            let pause = WideAreaRules.failureInterval.lowerBound * (1 << min(question.failures, 10))
            question.failures += 1
            question.due = now + Self.held(pause, to: WideAreaRules.failureInterval)
        }
        questions[key] = question
        report(news, to: question.operations)
    }

    /// The next thing to do. Call until it says to wait.
    mutating func next(now: DiscoveryTime) -> Action {
        if taken < actions.count {
            defer { taken += 1 }
            return actions[taken]
        }
        actions.removeAll(keepingCapacity: true)
        taken = 0
        // The answer to one of those under way brings us here again.
        guard lookups.count < WideAreaRules.mostLookups else { return .wait(nil) }
        while true {
            while !ready.isEmpty {
                let key = ready.removeFirst()
                guard let question = questions[key], question.lookup == nil, question.due <= now else { continue }
                lastLookup += 1
                lookups[lastLookup] = key
                questions[key]?.lookup = lastLookup
                return .lookUp(lastLookup, key)
            }
            let idle = questions.filter { $0.value.lookup == nil }
            ready = idle.filter { $0.value.due <= now }.map(\.key)
            if ready.isEmpty { return .wait(idle.values.map(\.due).min()) }
        }
    }
}

// MARK: - Inside

extension WideAreaMachine {
    private mutating func report(_ events: [DiscoveryEvent], to operations: Set<Int>) {
        for event in events {
            for operation in operations.sorted(by: >) { actions.append(.report(operation, event)) }
        }
    }

    /// Nothing is known, now or from before, and nothing will be.
    private mutating func fail(_ key: RecordKey, _ question: Question, _ failure: ServiceDiscoveryError) {
        report([.failed(failure)], to: question.operations)
        for operation in question.operations { operations[operation] = nil }
        questions[key] = nil
    }

    /// The name servers could not be asked.
    private static func failure(_ error: ResolverError) -> ServiceDiscoveryError {
        let sentence = error.description
        let rest = error.detail.flatMap { sentence.contains($0) ? nil : " (\($0))" } ?? ""
        return ServiceDiscoveryError(.lookupFailed, detail: sentence + rest)
    }

    /// What is new comes before what has gone.
    private static func changes(from old: [DNSRecord], to new: [DNSRecord]) -> [DiscoveryEvent] {
        let (before, after) = (Set(old.map(\.identity)), Set(new.map(\.identity)))
        return new.filter { !before.contains($0.identity) }.map(added)
            + old.filter { !after.contains($0.identity) }.map { .removed($0, interface: 0) }
    }

    private static func added(_ record: DNSRecord) -> DiscoveryEvent { .added(record, interface: 0) }

    private static func held(_ time: Duration, to range: ClosedRange<Duration>) -> Duration {
        min(max(time, range.lowerBound), range.upperBound)
    }
}
