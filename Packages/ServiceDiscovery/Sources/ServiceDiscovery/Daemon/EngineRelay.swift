internal import EventLoops

/// One operation of an ``AutomaticEngine``: passes on the events of the first engine that takes it.
final class EngineRelay: DiscoverySink {
    typealias Start = @Sendable (any DiscoveryBackend, any DiscoverySink) throws(ServiceDiscoveryError) -> Int

    private struct State {
        weak var sink: (any DiscoverySink)?
        /// Kept alive from being told something until it is rung: who goes with the engine's lock held would want it too.
        var told: (any DiscoverySink)?
        /// The engines not tried yet.
        var backends: ArraySlice<any DiscoveryBackend>
        var current: (backend: any DiscoveryBackend, operation: Int)?
        /// The engine has begun: its failures are the operation's.
        var isSettled = false
        /// It has failed before that: another one is to be tried.
        var isRefused = false
        var isOver = false
    }

    private let id: Int
    private let start: Start
    private let state: Locked<State>

    init(
        _ id: Int, sink: any DiscoverySink, start: @escaping Start, backends: [any DiscoveryBackend]
    ) {
        self.id = id
        self.start = start
        state = Locked(State(sink: sink, backends: backends[...]))
    }

    /// Has the next engine begin, or the one after it.
    func begin() throws(ServiceDiscoveryError) {
        while let backend = state.withLock({ $0.isOver ? nil : $0.backends.popFirst() }) {
            do throws(ServiceDiscoveryError) {
                let operation = try start(backend, self)
                let isWanted = state.withLock { state in
                    if !state.isOver { state.current = (backend, operation) }
                    return !state.isOver
                }
                if !isWanted { backend.end(operation) }
                return
            } catch {
                if state.withLock({ $0.backends.isEmpty }) { throw error }
            }
        }
    }

    func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        guard let (backend, operation) = state.withLock({ $0.current }) else { return }
        try backend.update(operation, record: record)
    }

    func end() {
        let current = state.withLock { state in
            state.isOver = true
            return state.current.take()
        }
        if let (backend, operation) = current { backend.end(operation) }
    }

    func put(_ event: DiscoveryEvent, of operation: Int) {
        let sink = state.withLock { state -> (any DiscoverySink)? in
            if case .failed(let error) = event, !state.isSettled, !state.backends.isEmpty, error.code != .collision {
                state.isRefused = true
                return nil
            }
            state.isSettled = true
            state.told = state.sink
            return state.told
        }
        sink?.put(event, of: id)
    }

    func ring() {
        let (sink, isRefused) = state.withLock { state in
            defer { (state.told, state.isRefused) = (nil, false) }
            return (state.sink, state.isRefused)
        }
        if isRefused {
            do throws(ServiceDiscoveryError) {
                try begin()
                return
            } catch {
                sink?.put(.failed(error), of: id)
            }
        }
        sink?.ring()
    }
}
