internal import EventLoops

/// The addresses of a host as they arrive, from ``Resolver/addressBatches(of:until:)``.
///
/// The sequence ends after the last batch, and throws ``ResolverError`` if no address was found. Batches are buffered
/// until they are read; there are at most two. Cancelling the task makes the iteration throw
/// ``ResolverError/Code-swift.struct/cancelled``.
public struct AddressBatches: AsyncSequence, Sendable {
    /// Some addresses, and the families that they complete.
    public typealias Element = AddressBatch
    /// The error that iterating throws.
    public typealias Failure = ResolverError

    let resolver: any Resolver
    let request: AddressRequest

    /// Starts the lookup.
    public func makeAsyncIterator() -> Iterator {
        Iterator(queue: AddressBatchQueue(resolver: resolver, request: request))
    }

    /// An iterator over the batches of one lookup. Releasing it cancels the lookup.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let queue: AddressBatchQueue

        /// Returns the next batch; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ResolverError) -> AddressBatch? {
            try await queue.next()
        }

        /// Returns the next batch; nil at the end.
        public mutating func next() async throws(ResolverError) -> AddressBatch? {
            try await queue.next()
        }
    }
}

/// A queue of the events of one lookup, from which one task reads. Releasing the queue cancels the lookup.
private final class AddressBatchQueue: Sendable {
    private struct State {
        var events: [AddressEvent] = []
        var waiting: (@Sendable (Result<AddressBatch?, ResolverError>) -> Void)?

        /// Whether the lookup has ended. Its final event stays in the queue, so that reading past the end returns it
        /// again.
        var isOver: Bool {
            if case .finished = events.last { true } else { false }
        }
    }

    private let state: SharedState
    private let token: LookupToken
    private let name: String

    /// The state, separate from the queue so that the resolver's handler does not keep the queue alive.
    private final class SharedState: Sendable {
        let locked = Locked(State())
    }

    init(resolver: any Resolver, request: AddressRequest) {
        let state = SharedState()
        self.state = state
        name = request.name.description
        token = resolver.start(request) { event in
            Self.update(state) { if !$0.isOver { $0.events.append(event) } }
        }
    }

    deinit { token.cancel() }

    nonisolated(nonsending) func next() async throws(ResolverError) -> AddressBatch? {
        try await waitForLookup(name: name) { finish in
            Self.update(state) { $0.waiting = finish }
            return LookupToken { [state, token, name] in
                state.locked.withLock { state in
                    state.waiting = nil
                    state.events = [.finished(ResolverError(.cancelled, name: name))]
                }
                return token.cancel()
            }
        }
    }

    private static func update(_ shared: SharedState, _ change: (inout State) -> Void) {
        let ready = shared.locked.withLock { state -> (() -> Void)? in
            change(&state)
            guard let event = state.events.first, let finish = state.waiting else { return nil }
            state.waiting = nil
            switch event {
            case .batch(let batch):
                state.events.removeFirst()
                return { finish(.success(batch)) }
            case .finished(let error):
                return { finish(error.map(Result.failure) ?? .success(nil)) }
            }
        }
        ready?()
    }
}
