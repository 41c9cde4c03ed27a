/// A counting semaphore for tasks and threads. Waiters get their permits in the order of their calls.
///
/// ```swift
/// let downloads = AsyncSemaphore(4)          // at most four at once
/// try await downloads.wait(until: deadline)
/// defer { downloads.signal() }
/// ```
///
/// Invariant: the free permits and the held permits add up to the initial number, and a permit is free only if there are no
/// waiters. A permit granted to a waiter that has just given up passes to the next one.
public final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [OneShot<Void>] = []
    }

    private let state: Locked<State>

    /// Makes a semaphore with a number of permits.
    public init(_ permits: Int) {
        precondition(permits >= 0, "AsyncSemaphore: the number of permits must not be negative")
        state = Locked(State(free: permits))
    }

    /// Takes a permit if one is free. Return it with ``signal()``.
    ///
    /// - Returns: false if no permit is free.
    public func tryWait() -> Bool {
        state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
    }

    /// Takes a permit, suspending until one is free. Return it with ``signal()``.
    ///
    /// - Parameter deadline: when to give up; nil for no limit.
    /// - Throws: ``WaitError``; the caller then holds no permit.
    public nonisolated(nonsending) func wait(until deadline: Moment? = nil) async throws(WaitError) {
        guard let permit = enter() else { return }
        do throws(WaitError) {
            try await permit.value(until: deadline)
        } catch {
            withdraw(permit)
            throw error
        }
    }

    /// Takes a permit, blocking the calling thread until one is free. As ``wait(until:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func wait(until deadline: Moment? = nil) throws(WaitError) {
        guard let permit = enter() else { return }
        do throws(WaitError) {
            try permit.value(until: deadline)
        } catch {
            withdraw(permit)
            throw error
        }
    }

    /// Returns a permit. If there are waiters, it passes to the first one.
    public func signal() {
        let next = state.withLock { state -> OneShot<Void>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.provide(())
    }

    /// The number of waiting tasks and threads. For tests.
    var waiterCount: Int { state.withLock { $0.waiting.count } }

    /// Takes a free permit and returns nil; without a free permit, queues the caller and returns the permit to wait for.
    private func enter() -> OneShot<Void>? {
        state.withLock { state in
            if state.free > 0 {
                state.free -= 1
                return nil
            }
            let permit = OneShot<Void>()
            state.waiting.append(permit)
            return permit
        }
    }

    private func withdraw(_ permit: OneShot<Void>) {
        let wasWaiting = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === permit }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
        // The permit was granted just before: pass it on.
        if !wasWaiting { signal() }
    }
}
