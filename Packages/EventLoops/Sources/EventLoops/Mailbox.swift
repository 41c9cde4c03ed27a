/// A queue of elements from any thread to one reader: a task, a blocked thread, a callback, or a reader that polls.
///
/// ```swift
/// let changes = Mailbox<Change>(limit: 64)                  // further elements are dropped while it is full
/// let latest = Mailbox<Change>(merging: { $0.formUnion($1) })  // holds one element; further ones are merged into it
///
/// changes.put(change)
/// changes.finish()
/// while let change = try await changes.next() { print(change) }   // nil at the end
/// ```
public final class Mailbox<Element: Sendable>: Sendable {
    /// How an element is added to those in the mailbox.
    private enum Policy: Sendable {
        case bounded(Int)
        case merging(@Sendable (inout Element, Element) -> Void)
    }

    private struct State {
        var elements: [Element] = []
        /// The number of elements that have been taken. They are removed together, so that taking is cheap.
        var taken = 0
        var isFinished = false

        mutating func take() -> Element? {
            guard taken < elements.count else { return nil }
            defer {
                taken += 1
                if taken == elements.count {
                    elements.removeAll(keepingCapacity: taken <= 64)
                    taken = 0
                } else if taken >= 64, taken * 2 >= elements.count {
                    elements.removeFirst(taken)
                    taken = 0
                }
            }
            return elements[taken]
        }
    }

    private let policy: Policy
    private let state = Locked(State())
    private let condition: Condition

    /// Makes a mailbox of at most `limit` elements. Elements that arrive while it is full are dropped.
    public init(limit: Int, loop: EventLoop = .shared) {
        precondition(limit > 0, "Mailbox: the limit must be positive")
        policy = .bounded(limit)
        condition = Condition(loop: loop)
    }

    /// Makes a mailbox of one element. Elements that arrive before it is taken are merged into it.
    public init(merging: @escaping @Sendable (inout Element, Element) -> Void, loop: EventLoop = .shared) {
        policy = .merging(merging)
        condition = Condition(loop: loop)
    }

    /// Signalled as readable when there may be an element or the end. Use it to wait at several points at once.
    public var point: WaitPoint { condition.point }

    /// The number of elements that can be taken.
    public var count: Int { state.withLock { $0.elements.count - $0.taken } }

    /// Whether ``finish()`` was called and all elements have been taken.
    public var isOver: Bool { state.withLock { $0.isFinished && $0.elements.isEmpty } }

    /// Adds an element. May be called from any thread.
    ///
    /// - Returns: false if it was dropped because the mailbox is full or finished.
    @discardableResult
    public func put(_ element: Element) -> Bool {
        let isTaken = state.withLock { state in
            if state.isFinished { return false }
            switch policy {
            case .bounded(let limit):
                guard state.elements.count - state.taken < limit else { return false }
                state.elements.append(element)
            case .merging(let merge):
                if state.elements.isEmpty { state.elements.append(element) } else { merge(&state.elements[0], element) }
            }
            return true
        }
        if isTaken { condition.notify() }
        return isTaken
    }

    /// Ends the sequence of elements. Those in the mailbox can still be taken. Idempotent.
    public func finish() {
        state.withLock { $0.isFinished = true }
        condition.notify()
    }

    /// Takes the next element; nil if there is none. Never waits.
    public func tryNext() -> Element? { state.withLock { $0.take() } }

    /// Takes all elements. Never waits.
    public func takeAll() -> [Element] {
        state.withLock { state in
            defer { (state.elements, state.taken) = ([], 0) }
            return state.taken == 0 ? state.elements : Array(state.elements[state.taken...])
        }
    }

    /// Takes the next element, suspending until there is one; nil at the end.
    ///
    /// - Parameter deadline: when to give up; nil for no limit.
    /// - Throws: ``WaitError``; no element is lost.
    public nonisolated(nonsending) func next(until deadline: Moment? = nil) async throws(WaitError) -> Element? {
        try await condition.wait(until: deadline, for: nextOrEnd)
    }

    /// Takes the next element, blocking the calling thread until there is one. As ``next(until:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func next(until deadline: Moment? = nil) throws(WaitError) -> Element? {
        try condition.wait(until: deadline, for: nextOrEnd)
    }

    /// Calls `handler` on `target` when there may be an element to take with ``tryNext()``. Cancelling or releasing the
    /// subscription ends the calls.
    public func observe(on target: any DeliveryTarget, _ handler: @escaping @Sendable () -> Void) -> Subscription {
        condition.observe(on: target, handler)
    }

    /// An element, or `.some(nil)` for the end; nil while the reader must wait.
    private func nextOrEnd() -> Element?? {
        state.withLock { state -> Element?? in
            if let element = state.take() { return .some(element) }
            return state.isFinished ? .some(nil) : nil
        }
    }
}

/// Sends each element to all subscribers, each of which has its own ``Mailbox``.
///
/// ```swift
/// let broadcast = Broadcast<Change> { Mailbox(merging: { $0.formUnion($1) }) }
/// let changes = broadcast.subscribe()                       // releasing the mailbox ends the subscription
/// broadcast.send(change)
/// ```
public final class Broadcast<Element: Sendable>: Sendable {
    private struct Subscriber {
        weak var mailbox: Mailbox<Element>?
    }

    private struct State {
        var subscribers: [Subscriber] = []
        var isFinished = false
    }

    private let state = Locked(State())
    private let makeMailbox: @Sendable () -> Mailbox<Element>

    /// Makes a broadcast.
    ///
    /// - Parameter makeMailbox: makes the mailbox of a subscriber.
    public init(_ makeMailbox: @escaping @Sendable () -> Mailbox<Element>) {
        self.makeMailbox = makeMailbox
    }

    /// Whether there are subscribers.
    var hasSubscribers: Bool {
        state.withLock { state in state.subscribers.contains { $0.mailbox != nil } }
    }

    /// Makes a mailbox that receives all elements sent from now on, for as long as the caller keeps it. It is finished at once if
    /// the broadcast is finished.
    public func subscribe() -> Mailbox<Element> {
        let mailbox = makeMailbox()
        let isFinished = state.withLock { state in
            state.subscribers.removeAll { $0.mailbox == nil }
            if !state.isFinished { state.subscribers.append(Subscriber(mailbox: mailbox)) }
            return state.isFinished
        }
        if isFinished { mailbox.finish() }
        return mailbox
    }

    /// Puts the element into each subscriber's mailbox.
    public func send(_ element: Element) {
        for mailbox in mailboxes() { mailbox.put(element) }
    }

    /// Finishes all mailboxes, including those of later subscribers. Idempotent.
    public func finish() {
        state.withLock { $0.isFinished = true }
        for mailbox in mailboxes() { mailbox.finish() }
    }

    private func mailboxes() -> [Mailbox<Element>] {
        state.withLock { state in state.subscribers.compactMap(\.mailbox) }
    }
}
