internal import EventLoops
internal import HostResolver

/// Runs a ``FeedMachine`` on an engine: begins and ends the operations that it wants, and hands it their events.
final class FeedRunner<Machine: FeedMachine>: DiscoveryFeedSource, DiscoverySink {
    private struct State {
        var machine: Machine
        var operations: [RecordKey: Int] = [:]
        /// Asked for, and no number yet: the engine reports what it knows before it gives the number.
        var beginning: RecordKey?
        var keys: [Int: RecordKey] = [:]
        /// Events of an operation whose number is not known yet.
        var early: [(Int, DiscoveryEvent)] = []
        var error: ServiceDiscoveryError?
        var isOver = false
        var isAdapting = false
        var bell: (any DeliverySignal)?

        /// Takes an event of the operation that asks `key`.
        mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
            guard case .failed(let failure) = event else { return machine.receive(event, of: key) }
            if !machine.passesOver(failure, of: key) { (error, isOver) = (failure, true) }
        }
    }

    let point: WaitPoint
    private let backend: any DiscoveryBackend
    private let interface: String?
    private let state: Locked<State>

    init(
        _ machine: Machine, backend: any DiscoveryBackend, interface: String?
    ) throws(ServiceDiscoveryError) {
        point = WaitPoint()
        self.backend = backend
        self.interface = interface
        state = Locked(State(machine: machine))
        try adapt()
    }

    deinit { stop() }

    func take() throws(ServiceDiscoveryError) -> DiscoveryStep<Machine.Element> {
        try state.withLock { state -> Result<DiscoveryStep<Machine.Element>, ServiceDiscoveryError> in
            if let element = state.machine.take() { return .success(.element(element)) }
            if let error = state.error.take() { return .failure(error) }
            return .success(state.isOver ? .over : .nothing)
        }.get()
    }

    func deliver(to signal: any DeliverySignal) {
        state.withLock { $0.bell = signal }
        signal.signal()
    }

    func stop() {
        let operations = state.withLock { state -> [Int] in
            state.isOver = true
            defer { (state.operations, state.keys) = ([:], [:]) }
            return Array(state.operations.values)
        }
        for operation in operations { backend.end(operation) }
        wake()
    }

    func put(_ event: DiscoveryEvent, of operation: Int) {
        state.withLock { state in
            if let key = state.keys[operation] {
                state.receive(event, of: key)
            } else if state.beginning != nil {
                state.early.append((operation, event))
            }
        }
    }

    func ring() {
        do throws(ServiceDiscoveryError) {
            try adapt()
        } catch {
            state.withLock { state in (state.error, state.isOver) = (error, true) }
        }
        wake()
    }

    private func wake() {
        point.signal(.readable)
        state.withLock { $0.bell }?.signal()
    }

    /// Begins and ends operations until they are those that the machine wants. One thread at a time.
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
            case .end(let operation): backend.end(operation)
            case .begin(let key):
                do throws(ServiceDiscoveryError) {
                    let operation = try backend.ask(key, interface: interface, sink: self)
                    if !began(key, operation) { backend.end(operation) }
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
                state.keys[operation] = nil
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

    /// The operation has its number; false if it is not wanted any more.
    private func began(_ key: RecordKey, _ operation: Int) -> Bool {
        state.withLock { state in
            state.beginning = nil
            defer { state.early = [] }
            if state.isOver { return false }
            state.operations[key] = operation
            state.keys[operation] = key
            for (early, event) in state.early where early == operation { state.receive(event, of: key) }
            return true
        }
    }
}
