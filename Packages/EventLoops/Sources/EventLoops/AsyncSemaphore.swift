/// A counting semaphore for tasks and threads. Waiters get their permits in the order of their calls.
///
/// ```swift
/// let downloads = AsyncSemaphore(4)          // at most four at once
/// try await downloads.wait(until: deadline)
/// defer { downloads.signal() }
/// ```
public final class AsyncSemaphore: Sendable {
    private let permits: Locked<PermitQueue<OneShot<Result<Void, WaitError>>>>

    /// Makes a semaphore with a number of permits.
    public init(_ permits: Int) {
        precondition(permits >= 0, "AsyncSemaphore: the number of permits must not be negative")
        self.permits = Locked(PermitQueue(permits))
    }

    /// The number of free permits.
    public var available: Int { permits.withLock { $0.free } }

    /// Takes a permit if one is free. Return it with ``signal()``.
    ///
    /// - Returns: false if no permit is free, or after ``close()``.
    public func tryWait() -> Bool {
        permits.withLock { $0.take() }
    }

    /// Takes a permit, suspending until one is free. Return it with ``signal()``.
    ///
    /// - Parameter deadline: when to give up; nil for no limit.
    /// - Throws: ``WaitError``, which is ``WaitError/closed`` after ``close()``; the caller then holds no permit.
    public nonisolated(nonsending) func wait(until deadline: Moment? = nil) async throws(WaitError) {
        guard let (waiter, ticket) = try enter() else { return }
        do throws(WaitError) {
            try await waiter.value(until: deadline).get()
        } catch {
            withdraw(ticket)
            throw error
        }
    }

    /// Takes a permit, blocking the calling thread until one is free. As ``wait(until:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func wait(until deadline: Moment? = nil) throws(WaitError) {
        guard let (waiter, ticket) = try enter() else { return }
        do throws(WaitError) {
            try waiter.value(until: deadline).get()
        } catch {
            withdraw(ticket)
            throw error
        }
    }

    /// Returns a permit. If there are waiters, it passes to the first one.
    public func signal() {
        let next = permits.withLock { $0.give() }
        next?.provide(.success(()))
    }

    /// Ends all waits with ``WaitError/closed``, and lets no later one begin. Permits can still be returned.
    public func close() {
        for waiter in permits.withLock({ $0.close() }) { waiter.provide(.failure(.closed)) }
    }

    /// The number of waiting tasks and threads. For tests.
    var waiterCount: Int { permits.withLock { $0.waiterCount } }

    /// Takes a free permit and returns nil; without a free permit, queues the caller.
    private func enter() throws(WaitError) -> (waiter: OneShot<Result<Void, WaitError>>, ticket: PermitTicket)? {
        if tryWait() { return nil }
        let waiter = OneShot<Result<Void, WaitError>>()
        return switch permits.withLock({ $0.enter(waiter) }) {
        case .granted: nil
        case .queued(let ticket): (waiter, ticket)
        case .closed: throw .closed
        }
    }

    private func withdraw(_ ticket: PermitTicket) {
        let next = permits.withLock { $0.withdraw(ticket) }
        next?.provide(.success(()))
    }
}

/// A position in a ``PermitQueue``.
struct PermitTicket: Hashable {
    fileprivate let number: UInt64
}

/// The free permits of a semaphore, and the waiters for one.
///
/// Invariant: the free permits and the held permits add up to the initial number, and a permit is free only if there are
/// no waiters. Each method decides and changes the state in one step, so that a permit never belongs to a waiter that has
/// given up.
struct PermitQueue<Waiter> {
    /// The result of ``enter(_:)``.
    enum Entry: Hashable {
        case granted
        case queued(PermitTicket)
        case closed
    }

    private(set) var free: Int
    private var isClosed = false
    private var waiting: [(ticket: PermitTicket, waiter: Waiter)] = []
    private var last: UInt64 = 0

    init(_ permits: Int) {
        free = permits
    }

    var waiterCount: Int { waiting.count }

    /// Takes a free permit; false if there is none.
    mutating func take() -> Bool {
        guard free > 0, !isClosed else { return false }
        free -= 1
        return true
    }

    /// Takes a free permit; without one, queues the waiter.
    mutating func enter(_ waiter: Waiter) -> Entry {
        if isClosed { return .closed }
        if take() { return .granted }
        last += 1
        let ticket = PermitTicket(number: last)
        waiting.append((ticket, waiter))
        return .queued(ticket)
    }

    /// Returns a permit. Grants it to the first waiter, which is returned to be woken, if there is one.
    mutating func give() -> Waiter? {
        if isClosed || waiting.isEmpty {
            free += 1
            return nil
        }
        return waiting.removeFirst().waiter
    }

    /// Stops waiting. A permit that was granted just before goes to the next waiter, which is returned to be woken.
    mutating func withdraw(_ ticket: PermitTicket) -> Waiter? {
        guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return give() }
        waiting.remove(at: index)
        return nil
    }

    /// Grants no more permits. Returns the waiters, which must withdraw.
    mutating func close() -> [Waiter] {
        isClosed = true
        return waiting.map(\.waiter)
    }
}
