internal import EventLoops

/// One operation of an ``AutomaticEngine``: passes on the events of the first engine that takes it.
///
/// Theory of operation. The engines are tried one after the other, each in an ``Attempt`` of its own, which is the sink that
/// the engine has. Only one attempt counts at a time, and a later one never gives way to an earlier one: an engine that
/// fails while its operation is still beginning starts the next attempt at once, perhaps on another thread, and the number
/// that the slow call returns then belongs to nothing and is ended. So is everything that begins after ``end()``. What an
/// attempt reports once it does not count is dropped.
final class EngineRelay: Sendable {
    typealias Start = @Sendable (any DiscoveryBackend, any DiscoverySink) throws(ServiceDiscoveryError) -> Int

    /// What one engine is asked to do.
    private final class Attempt: DiscoverySink {
        let number: Int
        private weak let relay: EngineRelay?

        init(_ number: Int, of relay: EngineRelay) {
            self.number = number
            self.relay = relay
        }

        func put(_ event: DiscoveryEvent, of operation: Int) {
            relay?.put(event, of: self)
        }

        func ring() {
            relay?.ring(self)
        }
    }

    private struct State {
        weak var sink: (any DiscoverySink)?
        /// Kept alive from being told something until it is rung: who goes with the engine's lock held would want it too.
        var told: (any DiscoverySink)?
        /// The engines not tried yet.
        var backends: ArraySlice<any DiscoveryBackend>
        /// The attempt that counts; kept alive here, as engines do not keep their sinks.
        var attempt: Attempt?
        var attempts = 0
        /// The operation of the attempt that counts, once its number is known and its record is the newest.
        var current: (backend: any DiscoveryBackend, operation: Int)?
        /// The TXT record of the last update; nil for the one that it was published with.
        var record: TXTRecord?
        /// The engine has begun: its failures are the operation's.
        var isSettled = false
        /// The attempt that counted has failed before that: another one is to be made.
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
        while let (attempt, backend) = nextAttempt() {
            let operation: Int
            do throws(ServiceDiscoveryError) {
                operation = try start(backend, attempt)
            } catch {
                if state.withLock({ $0.attempt !== attempt }) { return }
                if state.withLock({ $0.backends.isEmpty }) { throw error }
                continue
            }
            do throws(ServiceDiscoveryError) {
                if try !adopt(operation, of: backend, in: attempt) { backend.end(operation) }
            } catch {
                backend.end(operation)
                throw error
            }
            return
        }
    }

    private func nextAttempt() -> (Attempt, any DiscoveryBackend)? {
        state.withLock { state in
            guard !state.isOver, let backend = state.backends.popFirst() else { return nil }
            state.attempts += 1
            let attempt = Attempt(state.attempts, of: self)
            (state.attempt, state.current, state.isRefused) = (attempt, nil, false)
            return (attempt, backend)
        }
    }

    /// Takes the number of an operation that has begun, after handing over what was updated meanwhile; false if it does not
    /// count any more.
    private func adopt(
        _ operation: Int, of backend: any DiscoveryBackend, in attempt: Attempt
    ) throws(ServiceDiscoveryError) -> Bool {
        var given: TXTRecord?
        while true {
            let (counts, missing) = state.withLock { state -> (Bool, TXTRecord?) in
                guard !state.isOver, state.attempt === attempt else { return (false, nil) }
                if let record = state.record, record != given { return (true, record) }
                state.current = (backend, operation)
                return (true, nil)
            }
            guard counts, let missing else { return counts }
            try backend.update(operation, record: missing)
            given = missing
        }
    }

    /// Announces another TXT record: at once, or as soon as an engine has begun.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine refuses it; the old record stands.
    func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        let (current, old) = state.withLock { state in
            defer { state.record = record }
            return (state.current, state.record)
        }
        guard let (backend, operation) = current else { return }
        do throws(ServiceDiscoveryError) {
            try backend.update(operation, record: record)
        } catch {
            state.withLock { if $0.record == record { $0.record = old } }
            throw error
        }
    }

    func end() {
        let (current, attempt) = state.withLock { state in
            state.isOver = true
            return (state.current.take(), state.attempt.take())
        }
        if let (backend, operation) = current { backend.end(operation) }
        withExtendedLifetime(attempt) {}  // let go of after the lock
    }

    private func put(_ event: DiscoveryEvent, of attempt: Attempt) {
        let sink = state.withLock { state -> (any DiscoverySink)? in
            guard state.attempt === attempt, !state.isRefused else { return nil }
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

    private func ring(_ attempt: Attempt) {
        let (told, sink, isRefused) = state.withLock { state in
            guard state.attempt === attempt else {
                return (nil as (any DiscoverySink)?, nil as (any DiscoverySink)?, false)
            }
            defer { (state.told, state.isRefused) = (nil, false) }
            return (state.told, state.sink, state.isRefused)
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
        withExtendedLifetime(told) {}  // let go of after the lock
    }
}
