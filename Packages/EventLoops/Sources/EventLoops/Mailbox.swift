/// Elements on their way from any thread to one reader: a task, a blocked thread, a callback, or one that looks now and then.
///
/// ```swift
/// let changes = Mailbox<Change>(limit: 64)                  // more are dropped until some are taken
/// let latest = Mailbox<Change>(merging: { $0.formUnion($1) })  // holds one, into which the others are merged
///
/// changes.put(change)
/// changes.finish()
/// while let change = try await changes.next() { … }         // nil at the end
/// ```
public final class Mailbox<Element: Sendable>: Sendable {
    /// How an element is added to those that wait; false if it is dropped.
    private enum Policy: Sendable {
        case bounded(Int)
        case merging(@Sendable (inout Element, Element) -> Void)
    }

    private struct State {
        var elements: [Element] = []
        /// How many of the elements were taken already. They are removed together, so that taking is cheap.
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

    /// Makes a mailbox that holds at most `limit` elements. What comes when it is full is dropped.
    public init(limit: Int, loop: EventLoop = .shared) {
        precondition(limit > 0, "Mailbox: a limit is positive")
        policy = .bounded(limit)
        condition = Condition(loop: loop)
    }

    /// Makes a mailbox that holds one element: what comes before that is taken is merged into it.
    public init(merging: @escaping @Sendable (inout Element, Element) -> Void, loop: EventLoop = .shared) {
        policy = .merging(merging)
        condition = Condition(loop: loop)
    }

    /// Signalled as readable when there may be something to take: to wait at several points at once.
    public var point: WaitPoint { condition.point }

    /// How many elements can be taken.
    public var count: Int { state.withLock { $0.elements.count - $0.taken } }

    /// Whether ``finish()`` was called and everything has been taken.
    public var isOver: Bool { state.withLock { $0.isFinished && $0.elements.isEmpty } }

    /// Adds an element. From any thread.
    ///
    /// - Returns: false if it was dropped: the mailbox is full, or finished.
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

    /// Ends the elements. What was put before can still be taken. Idempotent.
    public func finish() {
        state.withLock { $0.isFinished = true }
        condition.notify()
    }

    /// Takes an element that is there; nil if there is none. Never waits.
    public func tryNext() -> Element? { state.withLock { $0.take() } }

    /// Takes all elements that are there.
    public func takeAll() -> [Element] {
        state.withLock { state in
            defer { (state.elements, state.taken) = ([], 0) }
            return state.taken == 0 ? state.elements : Array(state.elements[state.taken...])
        }
    }

    /// Takes the next element; suspends until there is one. Nil at the end.
    ///
    /// - Parameter deadline: when to give up; nil for never.
    /// - Throws: ``WaitError``. Nothing is lost.
    public nonisolated(nonsending) func next(until deadline: Moment? = nil) async throws(WaitError) -> Element? {
        try await condition.wait(until: deadline, for: look)
    }

    /// Takes the next element; blocks the calling thread until there is one. As ``next(until:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func next(until deadline: Moment? = nil) throws(WaitError) -> Element? {
        try condition.wait(until: deadline, for: look)
    }

    /// Calls `handler` on `target` when there may be something to take with ``tryNext()``. Cancel or release the subscription
    /// to end that.
    public func observe(on target: any DeliveryTarget, _ handler: @escaping @Sendable () -> Void) -> Subscription {
        condition.observe(on: target, handler)
    }

    /// An element, or nil for the end; nothing while the reader must wait.
    private func look() -> Element?? {
        state.withLock { state -> Element?? in
            if let element = state.take() { return .some(element) }
            return state.isFinished ? .some(nil) : nil
        }
    }
}

/// Sends each element to all who subscribe, each with a ``Mailbox`` of its own.
///
/// ```swift
/// let broadcast = Broadcast<Change> { Mailbox(merging: { $0.formUnion($1) }) }
/// let changes = broadcast.subscribe()                       // keep it: releasing the mailbox ends the subscription
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

    /// Makes a broadcast whose subscribers get mailboxes of this kind.
    public init(_ makeMailbox: @escaping @Sendable () -> Mailbox<Element>) {
        self.makeMailbox = makeMailbox
    }

    /// Whether somebody is subscribed.
    public var hasSubscribers: Bool {
        state.withLock { state in state.subscribers.contains { $0.mailbox != nil } }
    }

    /// Makes a mailbox that gets what is sent from now on, as long as it is kept. Finished already if the broadcast is.
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

    /// Finishes all mailboxes, now and to come. Idempotent.
    public func finish() {
        state.withLock { $0.isFinished = true }
        for mailbox in mailboxes() { mailbox.finish() }
    }

    private func mailboxes() -> [Mailbox<Element>] {
        state.withLock { state in state.subscribers.compactMap(\.mailbox) }
    }
}
