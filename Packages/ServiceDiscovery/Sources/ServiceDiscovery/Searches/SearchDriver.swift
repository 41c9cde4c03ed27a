internal import DNSWire
internal import EventLoops
internal import HostResolver

/// Drives a ``SearchMachine``: begins and ends the queries that it wants, and passes their events to it.
final class SearchDriver<Machine: SearchMachine>: FeedDriver {
    private struct State {
        var machine: Machine
        /// The queries that run or are being begun, by the number of their operation.
        var running: [Int: SearchQuestion] = [:]
        /// The queries that the engine has refused to begin. The search continues without them.
        var refused: Set<SearchQuestion> = []
        var error: ServiceDiscoveryError?
        var isOver = false
        var isAdapting = false
    }

    let condition = Condition()
    private let engine: any RecordEngine
    private let interface: String?
    private let isPatient: Bool
    private let state: Locked<State>

    /// - Parameter isPatient: whether the search goes on while name servers do not answer. What they do not have is then absent.
    init(
        _ machine: Machine, engine: any RecordEngine, interface: String?, isPatient: Bool = false
    ) throws(ServiceDiscoveryError) {
        self.engine = engine
        self.interface = interface
        self.isPatient = isPatient
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

    var skipped: [DNSName] { state.withLock { $0.machine.skipped } }

    func stop() {
        state.withLock { $0.isOver = true }
        endQueries()
        condition.notify()
    }

    /// Ends the queries of a search that is over.
    private func endQueries() {
        let operations = state.withLock { state in
            defer { state.running = [:] }
            return Array(state.running.keys)
        }
        for operation in operations { engine.end(operation) }
    }

    func receive(_ event: DiscoveryEvent, of operation: Int) {
        state.withLock { state in
            guard let key = state.running[operation]?.key else { return }
            switch event {
            case .unanswered(let failure) where isPatient:
                if failure.code == .notFound { state.machine.receive(.absent(interface: 0), of: key) }
            case .unanswered(let failure), .failed(let failure):
                if !state.machine.ignores(failure, of: key) { (state.error, state.isOver) = (failure, true) }
            default: state.machine.receive(event, of: key)
            }
        }
    }

    func notify() {
        do throws(ServiceDiscoveryError) {
            try adapt()
        } catch {
            state.withLock { state in (state.error, state.isOver) = (error, true) }
        }
        if state.withLock({ $0.isOver }) { endQueries() }
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
            case .begin(let operation, let question):
                do throws(ServiceDiscoveryError) {
                    try begin(operation, question)
                } catch {
                    if refused(operation, question, error) { continue }
                    throw error
                }
                // The search may have ended meanwhile, before the engine knew the operation.
                if state.withLock({ $0.running[operation] == nil }) { engine.end(operation) }
            }
        }
    }

    private func begin(_ operation: Int, _ question: SearchQuestion) throws(ServiceDiscoveryError) {
        if question.isOnLink {
            try engine.queryLink(question.key, interface: interface, as: operation, sink: self)
        } else {
            try engine.query(question.key, interface: interface, as: operation, sink: self)
        }
    }

    /// Whether the search continues although the engine has refused a query.
    private func refused(_ operation: Int, _ question: SearchQuestion, _ error: ServiceDiscoveryError) -> Bool {
        state.withLock { state in
            state.running[operation] = nil
            state.refused.insert(question)
            if state.machine.ignores(error, of: question.key) { return true }
            state.isAdapting = false
            return false
        }
    }

    private enum Step {
        case begin(Int, SearchQuestion)
        case end(Int)
    }

    private func nextStep() -> Step? {
        state.withLock { state in
            let wanted = state.isOver ? [] : SearchQuestion.all(of: state.machine)
            if let operation = state.running.first(where: { !wanted.contains($0.value) })?.key {
                state.running[operation] = nil
                return .end(operation)
            }
            state.refused.formIntersection(wanted)
            if let question = wanted.subtracting(state.running.values).subtracting(state.refused).first {
                let operation = OperationNumber.next()
                state.running[operation] = question
                return .begin(operation, question)
            }
            state.isAdapting = false
            return nil
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
