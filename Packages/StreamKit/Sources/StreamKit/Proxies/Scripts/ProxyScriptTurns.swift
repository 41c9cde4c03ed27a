internal import EventLoops

/// Lets at most so many scripts run at once; the others wait for their turn, in order.
final class ProxyScriptTurns: Sendable {
    static let shared = ProxyScriptTurns(limit: ProxyScript.mostProcesses)

    private struct State {
        var free: Int
        var waiting: [(WaitPoint)] = []
    }

    private let state: Locked<State>

    init(limit: Int) {
        state = Locked(State(free: limit))
    }

    /// Waits for a turn, which is given back with ``leave()``.
    ///
    /// - Throws: ``StreamError/cancelled``.
    nonisolated(nonsending) func enter() async throws(StreamError) {
        let place = state.withLock { state -> WaitPoint? in
            if state.free > 0 {
                state.free -= 1
                return nil
            }
            let place = WaitPoint()
            state.waiting.append(place)
            return place
        }
        guard let place else { return }
        guard place.enter(.reader) == .entered else { throw .closed }
        defer { place.leave(.reader) }
        while true {
            let wake = await place.readerWait(for: .readable, until: nil)
            let hasTurn = state.withLock { state in !state.waiting.contains { $0 === place } }
            switch wake {
            case .ready where hasTurn: return
            case .ready: continue
            default:
                // Cancelled; a turn that came at the same moment goes to the next.
                state.withLock { state in state.waiting.removeAll { $0 === place } }
                if hasTurn { leave() }
                throw .cancelled
            }
        }
    }

    func leave() {
        let next = state.withLock { state -> WaitPoint? in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.signal(.readable)
    }
}
