internal import EventLoops
internal import HostResolver

/// Drives a ``SearchMachine``: begins and ends the queries that it wants, and passes their events to it.
final class SearchDriver<Machine: SearchMachine>: FeedDriver {
    private struct State {
        var machine: Machine
        var operations: [RecordKey: Int] = [:]
        /// The query that is being begun. Its number is unknown while the engine already reports known records.
        var beginning: RecordKey?
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
            defer { (state.operations, state.keysByOperation) = ([:], [:]) }
            return Array(state.operations.values)
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
            case .begin(let key):
                do throws(ServiceDiscoveryError) {
                    let operation = try engine.query(key, interface: interface, sink: self)
                    if !began(key, operation) { engine.end(operation) }
                } catch {
                    state.withLock { state in (state.beginning, state.isAdapting) = (nil, false) }
                    throw error
                }
            }
        }
    }

    private enum Step {
        case begin(RecordKey)
        case end(Int)
    }

    private func nextStep() -> Step? {
        state.withLock { state in
            let wanted = state.isOver ? [] : state.machine.questions
            if let (key, operation) = state.operations.first(where: { !wanted.contains($0.key) }) {
                state.operations[key] = nil
                state.keysByOperation[operation] = nil
                return .end(operation)
            }
            if let key = wanted.first(where: { state.operations[$0] == nil }) {
                state.beginning = key
                return .begin(key)
            }
            state.isAdapting = false
            return nil
        }
    }

    /// Stores the number of a new query; false if it is no longer wanted.
    private func began(_ key: RecordKey, _ operation: Int) -> Bool {
        state.withLock { state in
            state.beginning = nil
            defer { state.early = [] }
            if state.isOver { return false }
            state.operations[key] = operation
            state.keysByOperation[operation] = key
            for (early, event) in state.early where early == operation { state.receive(event, of: key) }
            return true
        }
    }
}

/// Turns the events of queries into the elements of a feed. A machine: no I/O, no clock.
protocol SearchMachine: Sendable {
    associatedtype Element: Sendable

    /// The queries that should run now; all others are ended.
    var questions: Set<RecordKey> { get }
    /// Processes an event of the query for `key`.
    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey)
    /// Whether the search continues without the query for `key`, which has failed.
    mutating func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool
    /// The next element, if there is one.
    mutating func take() -> Element?
}

extension SearchMachine {
    mutating func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool { false }
}
