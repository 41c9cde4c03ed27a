internal import EventLoops
internal import HostResolver

/// Drives a ``SearchMachine``: begins and ends the queries that it wants, and passes their events to it.
final class SearchDriver<Machine: SearchMachine>: FeedDriver {
    private struct State {
        var machine: Machine
        var queries: [SearchQuestion: SearchQuery] = [:]
        /// The query that is being begun. Its number is unknown while the engine already reports known records.
        var beginning: SearchQuestion?
        var keysByOperation: [Int: RecordKey] = [:]
        /// Events received before the number of their operation was known.
        var early: [(Int, DiscoveryEvent)] = []
        var error: ServiceDiscoveryError?
        var isOver = false
        var isAdapting = false

        /// Processes an event of the query for `key`.
        mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
            guard case .failed(let failure) = event else { return machine.receive(event, of: key) }
            if !machine.ignores(failure, of: key) { (error, isOver) = (failure, true) }
        }
    }

    let condition = Condition()
    private let engine: any RecordEngine
    private let interface: String?
    private let state: Locked<State>

    init(
        _ machine: Machine, engine: any RecordEngine, interface: String?
    ) throws(ServiceDiscoveryError) {
        self.engine = engine
        self.interface = interface
        state = Locked(State(machine: machine))
        try adapt()
    }

    deinit { stop() }

    func take() -> Result<Machine.Element?, ServiceDiscoveryError>? {
        state.withLock { state in
            if let element = state.machine.take() { return .success(element) }
            if let error = state.error.take() { return .failure(error) }
            return state.isOver ? .success(nil) : nil
        }
    }

    func stop() {
        let operations = state.withLock { state -> [Int] in
            state.isOver = true
            defer { (state.queries, state.keysByOperation) = ([:], [:]) }
            return state.queries.values.compactMap(\.operation)
        }
        for operation in operations { engine.end(operation) }
        condition.notify()
    }

    func receive(_ event: DiscoveryEvent, of operation: Int) {
        state.withLock { state in
            if let key = state.keysByOperation[operation] {
                state.receive(event, of: key)
            } else if state.beginning != nil {
                state.early.append((operation, event))
            }
        }
    }

    func notify() {
        do throws(ServiceDiscoveryError) {
            try adapt()
        } catch {
            state.withLock { state in (state.error, state.isOver) = (error, true) }
        }
        condition.notify()
    }

    /// Begins and ends queries until they are those that the machine wants. One thread at a time does this; another
    /// returns at once, because the first looks again.
    private func adapt() throws(ServiceDiscoveryError) {
        guard
            state.withLock({ state in
                if state.isAdapting || state.isOver { return false }
                state.isAdapting = true
                return true
            })
        else { return }
        while let step = nextStep() {
            switch step {
            case .end(let operation): engine.end(operation)
            case .begin(let question):
                do throws(ServiceDiscoveryError) {
                    let operation = try begin(question)
                    if !began(question, operation) { engine.end(operation) }
                } catch {
                    if refused(question, error) { continue }
                    throw error
                }
            }
        }
    }

    private func begin(_ question: SearchQuestion) throws(ServiceDiscoveryError) -> Int {
        question.isOnLink
            ? try engine.queryLink(question.key, interface: interface, sink: self)
            : try engine.query(question.key, interface: interface, sink: self)
    }

    /// Whether the search continues although the engine has refused a query.
    private func refused(_ question: SearchQuestion, _ error: ServiceDiscoveryError) -> Bool {
        state.withLock { state in
            (state.beginning, state.early) = (nil, [])
            state.queries[question] = .refused
            if state.machine.ignores(error, of: question.key) { return true }
            state.isAdapting = false
            return false
        }
    }

    private enum Step {
        case begin(SearchQuestion)
        case end(Int)
    }

    private func nextStep() -> Step? {
        state.withLock { state in
            let wanted = state.isOver ? [] : SearchQuestion.all(of: state.machine)
            while let (question, query) = state.queries.first(where: { !wanted.contains($0.key) }) {
                state.queries[question] = nil
                guard let operation = query.operation else { continue }
                state.keysByOperation[operation] = nil
                return .end(operation)
            }
            if let question = wanted.first(where: { state.queries[$0] == nil }) {
                state.beginning = question
                return .begin(question)
            }
            state.isAdapting = false
            return nil
        }
    }

    /// Stores the number of a new query; false if it is no longer wanted.
    private func began(_ question: SearchQuestion, _ operation: Int) -> Bool {
        state.withLock { state in
            state.beginning = nil
            defer { state.early = [] }
            if state.isOver { return false }
            state.queries[question] = .running(operation)
            state.keysByOperation[operation] = question.key
            for (early, event) in state.early where early == operation { state.receive(event, of: question.key) }
            return true
        }
    }
}

/// The records that a query of a search asks for, and where.
private struct SearchQuestion: Hashable {
    let key: RecordKey
    /// Whether the link is asked, by multicast, even if the name is not in `local`.
    let isOnLink: Bool

    static func all(of machine: some SearchMachine) -> Set<SearchQuestion> {
        var all = Set(machine.questions.map { SearchQuestion(key: $0, isOnLink: false) })
        for key in machine.linkQuestions { all.insert(SearchQuestion(key: key, isOnLink: true)) }
        return all
    }
}

/// The state of a query of a search.
private enum SearchQuery {
    case running(Int)
    /// The engine has refused to begin it, and the search continues without it.
    case refused

    var operation: Int? { if case .running(let operation) = self { operation } else { nil } }
}

/// Turns the events of queries into the elements of a feed. A machine: no I/O, no clock.
protocol SearchMachine: Sendable {
    associatedtype Element: Sendable

    /// The queries that should run now; all others are ended.
    var questions: Set<RecordKey> { get }
    /// The queries that should run on the link, by multicast, although their names are not in `local`. Default: none.
    var linkQuestions: Set<RecordKey> { get }
    /// Processes an event of a query for `key`.
    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey)
    /// Whether the search continues without a query for `key`, which has failed or was refused.
    mutating func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool
    /// The next element, if there is one.
    mutating func take() -> Element?
}

extension SearchMachine {
    var linkQuestions: Set<RecordKey> { [] }

    mutating func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool { false }
}
