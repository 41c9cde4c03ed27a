internal import DNSWire
internal import HostResolver

/// Repeats queries of the DNS: when to look up which records, and which have changed (RFC 6763 §4, by unicast).
///
/// A machine: inputs are answers and time, the output is one action at a time.
struct WideAreaMachine: Sendable {
    /// The next action for the driver.
    enum Action: Sendable {
        /// Look up records, and pass the answer in with this number.
        case lookUp(Int, RecordKey)
        /// Cancel the lookup with this number; its answer is no longer needed.
        case cancel(Int)
        /// Report an event to an operation.
        case report(Int, DiscoveryEvent)
        /// Wait until that time, or for the next input if nil.
        case wait(DiscoveryTime?)
    }

    private struct Question {
        var operations: Set<Int> = []
        var records: [DNSRecord] = []
        var isAnswered = false
        /// The failures in a row, and the time of the last one.
        var failures = 0
        var failed: DiscoveryTime?
        /// Whether the network has changed since the running lookup began: its failure means little.
        var isOutdated = false
        /// The running lookup.
        var lookup: Int?
        /// When to look up next.
        var due: DiscoveryTime
    }

    private let limit: Int
    private var questions: [RecordKey: Question] = [:]
    private var operations: [Int: RecordKey] = [:]
    private var lookups: [Int: RecordKey] = [:]
    /// Questions that are due, in order; some may have ended.
    private var ready: [RecordKey] = []
    private var lastLookup = 0
    private var actions: [Action] = []
    private var taken = 0

    /// - Parameter limit: the most questions at the same time.
    init(limit: Int = EngineLimits().questions) {
        self.limit = limit
    }

    /// Begins a query. Known records are reported first.
    mutating func query(_ key: RecordKey, as operation: Int, now: DiscoveryTime) throws(ServiceDiscoveryError) {
        guard questions[key] != nil || questions.count < limit else {
            throw ServiceDiscoveryError(.limitReached, detail: "\(limit) questions")
        }
        operations[operation] = key
        var question = questions[key] ?? Question(due: now)
        if question.isAnswered {
            let isAbsent = question.records.isEmpty
            report(isAbsent ? [Self.absence(of: key)] : question.records.map(Self.added), to: [operation])
        } else if question.operations.isEmpty || question.lookup == nil && question.due > now {
            // After a failure, the others wait for the next attempt, and this operation does not.
            question.due = now
            ready.append(key)
        }
        question.operations.insert(operation)
        questions[key] = question
    }

    /// Ends an operation. Unknown numbers are ignored.
    mutating func end(_ operation: Int) {
        guard let key = operations.removeValue(forKey: operation) else { return }
        questions[key]?.operations.remove(operation)
        guard questions[key]?.operations.isEmpty == true, let old = questions.removeValue(forKey: key) else { return }
        if let lookup = old.lookup {
            lookups[lookup] = nil
            actions.append(.cancel(lookup))
        }
    }

    /// Looks up a key again at once, if there is a question for it.
    mutating func reconfirm(_ key: RecordKey, now: DiscoveryTime) {
        guard questions[key] != nil else { return }
        questions[key]?.due = now
        ready.append(key)
    }

    /// Whether lookups fail, so that a change of the network is of interest.
    var isFailing: Bool { questions.values.contains { $0.failures > 0 } }

    /// Processes a change of the network: what has failed is looked up again.
    mutating func networkChanged(now: DiscoveryTime) {
        for (key, question) in questions {
            if question.lookup != nil { questions[key]?.isOutdated = true }
            guard let failed = question.failed else { continue }
            questions[key]?.due = min(question.due, max(now, failed + WideAreaRules.retryPause))
            ready.append(key)
        }
    }

    /// Whether the answer to a lookup is still needed.
    func awaits(_ lookup: Int) -> Bool {
        lookups[lookup] != nil
    }

    /// Processes the answer to a lookup, unless it is no longer needed.
    mutating func receive(_ result: Result<DNSAnswer, ResolverError>, of lookup: Int, now: DiscoveryTime) {
        guard let key = lookups.removeValue(forKey: lookup), var question = questions[key] else { return }
        question.lookup = nil
        var events: [DiscoveryEvent] = []
        switch result {
        case .success(let answer):
            (question.isAnswered, question.failures, question.failed) = (true, 0, nil)
            question.due = now + Self.clamped(.seconds(answer.timeToLive), to: WideAreaRules.repeatInterval)
            var records = answer.records
            // A truncated answer does not show that a record is gone.
            if answer.isTruncated {
                let known = Set(records.map(\.identity))
                let kept = question.records.lazy.filter { !known.contains($0.identity) }
                records += kept.prefix(max(0, WideAreaRules.maximumRecordsKept - records.count))
            }
            events = Self.changes(from: question.records, to: records)
            question.records = records
        case .failure(let error) where error.code == .hostNotFound || error.code == .noData:
            if question.records.isEmpty, !question.isAnswered || key.type == .srv {
                events = [Self.absence(of: key)]
            } else if !question.records.isEmpty {
                events = [.absent(interface: 0)]
            }
            events += Self.changes(from: question.records, to: [])
            (question.isAnswered, question.failures, question.failed, question.records) = (true, 0, nil, [])
            question.due = now + WideAreaRules.absenceInterval
        case .failure(let error):
            if !question.isAnswered { events = [.unanswered(Self.failure(error))] }
            let pause = WideAreaRules.failureInterval.lowerBound * (1 << min(question.failures, 10))
            question.due =
                now
                + (question.isOutdated
                    ? WideAreaRules.retryPause : Self.clamped(pause, to: WideAreaRules.failureInterval))
            question.failures += 1
            question.failed = now
        }
        questions[key] = question
        report(events, to: question.operations)
    }

    /// The next action. Call until it is a wait.
    mutating func next(now: DiscoveryTime) -> Action {
        if taken < actions.count {
            defer { taken += 1 }
            return actions[taken]
        }
        actions.removeAll(keepingCapacity: true)
        taken = 0
        // At the limit, the answer to a running lookup calls this again.
        guard lookups.count < WideAreaRules.maximumLookups else { return .wait(nil) }
        while true {
            while !ready.isEmpty {
                let key = ready.removeFirst()
                guard let question = questions[key], question.lookup == nil, question.due <= now else { continue }
                lastLookup += 1
                lookups[lastLookup] = key
                questions[key]?.lookup = lastLookup
                questions[key]?.isOutdated = false
                return .lookUp(lastLookup, key)
            }
            let idle = questions.filter { $0.value.lookup == nil }
            ready = idle.filter { $0.value.due <= now }.map(\.key)
            if ready.isEmpty { return .wait(idle.values.map(\.due).min()) }
        }
    }
}

// MARK: - Answers

extension WideAreaMachine {
    private mutating func report(_ events: [DiscoveryEvent], to operations: Set<Int>) {
        for event in events {
            for operation in operations.sorted() { actions.append(.report(operation, event)) }
        }
    }

    /// The event of a name without records of the type. A name server that is responsible for a service knows its location.
    private static func absence(of key: RecordKey) -> DiscoveryEvent {
        if key.type != .srv { return .absent(interface: 0) }
        return .unanswered(ServiceDiscoveryError(.notFound, name: key.name.description))
    }

    /// The error of a lookup that failed.
    private static func failure(_ error: ResolverError) -> ServiceDiscoveryError {
        let sentence = error.description
        let rest = error.detail.flatMap { sentence.contains($0) ? nil : " (\($0))" } ?? ""
        return ServiceDiscoveryError(.lookupFailed, detail: sentence + rest)
    }

    /// The events of a change: added records before removed ones.
    private static func changes(from old: [DNSRecord], to new: [DNSRecord]) -> [DiscoveryEvent] {
        let (before, after) = (Set(old.map(\.identity)), Set(new.map(\.identity)))
        return new.filter { !before.contains($0.identity) }.map(added)
            + old.filter { !after.contains($0.identity) }.map { .removed($0, interface: 0) }
    }

    private static func added(_ record: DNSRecord) -> DiscoveryEvent { .added(record, interface: 0, named: nil) }

    private static func clamped(_ time: Duration, to range: ClosedRange<Duration>) -> Duration {
        min(max(time, range.lowerBound), range.upperBound)
    }
}

/// The intervals of queries to name servers. RFC 6763 specifies none. A name server does not report changes, so it is
/// queried repeatedly.
enum WideAreaRules {
    /// The most lookups at the same time; further ones wait.
    static let maximumLookups = 32
    /// Records that a truncated answer lacks are kept as long as there are no more than these in all.
    static let maximumRecordsKept = 1024
    /// An answer is looked up again when its time to live ends, within these bounds.
    static let repeatInterval: ClosedRange<Duration> = .seconds(10) ... .seconds(3600)
    /// How long the absence of records is cached.
    static let absenceInterval: Duration = .seconds(60)
    /// The pauses after failures: the lower bound, then twice the last one up to the upper bound. Known records are
    /// kept.
    static let failureInterval: ClosedRange<Duration> = .seconds(10) ... .seconds(300)
    /// The shortest pause between a failure and the next lookup, after a change of the network.
    static let retryPause: Duration = .seconds(1)
    /// The most domains besides `local` that are browsed because a name server lists them.
    static let maximumListedDomains = 16
}
