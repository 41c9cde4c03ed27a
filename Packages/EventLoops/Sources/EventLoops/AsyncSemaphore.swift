/// Lets a number of tasks through at a time; the others wait for their turn, in order.
///
/// ```swift
/// let turns = AsyncSemaphore(4)
/// try await turns.wait(until: deadline)
/// defer { turns.signal() }
/// ```
///
/// Invariant: the turns that are free and those that are held add up to the initial value, and one is free only if nothing
/// waits. A turn that reaches a waiter that has just given up goes to the next.
public final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [OneShot<Void>] = []
    }

    private let state: Locked<State>

    /// Makes a semaphore with so many turns.
    public init(_ turns: Int) {
        precondition(turns >= 0, "AsyncSemaphore: the number of turns is not negative")
        state = Locked(State(free: turns))
    }

    /// Takes a turn if one is free; it is given back with ``signal()``.
    public func tryWait() -> Bool {
        state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
    }

    /// Takes a turn; suspends until there is one. It is given back with ``signal()``.
    ///
    /// - Parameter deadline: when to give up; nil for never.
    /// - Throws: ``WaitError``; no turn is held then.
    public nonisolated(nonsending) func wait(until deadline: Moment? = nil) async throws(WaitError) {
        guard let turn = enter() else { return }
        do throws(WaitError) {
            try await turn.value(until: deadline)
        } catch {
            withdraw(turn)
            throw error
        }
    }

    /// Takes a turn; blocks the calling thread until there is one. As ``wait(until:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func wait(until deadline: Moment? = nil) throws(WaitError) {
        guard let turn = enter() else { return }
        do throws(WaitError) {
            try turn.value(until: deadline)
        } catch {
            withdraw(turn)
            throw error
        }
    }

    /// Gives a turn back: to the first that waits, if any.
    public func signal() {
        let next = state.withLock { state -> OneShot<Void>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.provide(())
    }

    /// How many tasks and threads wait, for tests.
    var waiterCount: Int { state.withLock { $0.waiting.count } }

    /// Takes a free turn, and returns nil; otherwise queues.
    private func enter() -> OneShot<Void>? {
        state.withLock { state in
            if state.free > 0 {
                state.free -= 1
                return nil
            }
            let turn = OneShot<Void>()
            state.waiting.append(turn)
            return turn
        }
    }

    private func withdraw(_ turn: OneShot<Void>) {
        let wasWaiting = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === turn }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
        // It had its turn, after all.
        if !wasWaiting { signal() }
    }
}
