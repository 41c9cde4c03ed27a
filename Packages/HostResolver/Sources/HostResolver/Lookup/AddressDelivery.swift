internal import EventLoops

/// Combines the answers to one lookup into a sequence of events. The answers for the two address families arrive on
/// several threads; the handler is called for one event at a time.
final class AddressDelivery: Sendable {
    typealias Handler = @Sendable (AddressEvent) -> Void

    private struct State {
        /// Nil after the end. It is released then, because it may retain the token, which retains this object.
        var handler: Handler?
        var missing: AddressFamilies
        var hasAddresses = false
        var failure: ResolverError?
        var events: [AddressEvent] = []
        var isDelivering = false
    }

    private let state: Locked<State>
    private let name: String

    init(request: AddressRequest, handler: @escaping Handler) {
        state = Locked(State(handler: handler, missing: request.families))
        name = request.name.description
    }

    /// Accepts the answer for some families. The answer for the last missing family ends the sequence.
    func receive(_ result: Result<[IPAddress], ResolverError>, for families: AddressFamilies) {
        state.withLock { state in
            guard state.handler != nil, families.isEmpty || !state.missing.isDisjoint(with: families) else { return }
            state.missing.subtract(families)
            switch result {
            case .success(let addresses):
                state.hasAddresses = state.hasAddresses || !addresses.isEmpty
                state.events.append(.batch(AddressBatch(addresses, families: families)))
            case .failure(let error):
                state.failure = Self.moreInformative(state.failure, error)
                if !state.missing.isEmpty { state.events.append(.batch(AddressBatch([], families: families))) }
            }
            if state.missing.isEmpty {
                let failure =
                    state.hasAddresses ? nil : state.failure?.about(name) ?? ResolverError(.noData, name: name)
                state.events.append(.finished(failure))
            }
        }
        deliver()
    }

    /// Ends the sequence without a further event. Returns whether `finished` had not been delivered yet.
    func close() -> Bool {
        state.withLock { $0.handler.take() } != nil
    }

    private func deliver() {
        // The thread that begins to deliver also delivers events that other threads add meanwhile, so that events
        // neither overlap nor change their order.
        var isMine = false
        while true {
            let next = state.withLock { state -> (event: AddressEvent, handler: Handler)? in
                if state.isDelivering && !isMine { return nil }
                guard let handler = state.handler, !state.events.isEmpty else {
                    state.isDelivering = false
                    return nil
                }
                isMine = true
                state.isDelivering = true
                let event = state.events.removeFirst()
                if case .finished = event { state.handler = nil }
                return (event, handler)
            }
            guard let next else { return }
            next.handler(next.event)
        }
    }

    /// Returns the more informative of two failures. A failing server must not be hidden by a family without addresses.
    static func moreInformative(_ one: ResolverError?, _ other: ResolverError) -> ResolverError {
        guard let one else { return other }
        func rank(_ error: ResolverError) -> Int {
            switch error.code {
            case .hostNotFound: 0
            case .noData: 1
            default: 2
            }
        }
        return rank(one) >= rank(other) ? one : other
    }
}
