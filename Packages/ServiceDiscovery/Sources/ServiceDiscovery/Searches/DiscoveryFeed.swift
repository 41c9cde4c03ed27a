public import EventLoops

/// A running search with the elements it has found, read with `await`, by a blocking call, or by polling.
///
/// ```swift
/// let search = try ServiceBrowser(type).start()
/// while let change = try search.next(until: .now + .seconds(2)) { print(change) }     // on a thread of your own
/// search.stop()
/// ```
///
/// One reader at a time; a second one gets ``ServiceDiscoveryError/Code-swift.struct/busy``. Releasing the feed ends
/// the search. Members may be called from any thread.
public final class DiscoveryFeed<Element: Sendable>: Sendable {
    private let driver: any FeedDriver<Element>
    private let point: WaitPoint

    init(_ driver: any FeedDriver<Element>) {
        self.driver = driver
        point = driver.point
    }

    deinit { driver.stop() }

    /// The next element; suspends until there is one. Nil after the feed was stopped. A cancelled task gets
    /// ``ServiceDiscoveryError/Code-swift.struct/cancelled``, and no element is lost.
    ///
    /// - Parameter deadline: when to stop waiting; nil to wait without limit.
    /// - Throws: ``ServiceDiscoveryError``; ``ServiceDiscoveryError/Code-swift.struct/timedOut`` at the deadline, after
    ///   which the search continues.
    public nonisolated(nonsending) func next(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ServiceDiscoveryError) -> Element? {
        try enter()
        defer { point.leave(.reader) }
        while true {
            switch try driver.take() {
            case .element(let element): return element
            case .over: return nil
            case .nothing: break
            }
            try check(await point.readerWait(for: .readable, until: deadline.map(Moment.init)))
        }
    }

    /// The next element; blocks the calling thread until there is one. Otherwise like the `async` method.
    @available(*, noasync, message: "blocks the thread; use await")
    public func next(until deadline: ContinuousClock.Instant? = nil) throws(ServiceDiscoveryError) -> Element? {
        try enter()
        defer { point.leave(.reader) }
        while true {
            switch try driver.take() {
            case .element(let element): return element
            case .over: return nil
            case .nothing: break
            }
            try check(point.block(.reader, for: .readable, until: deadline.map(Moment.init)))
        }
    }

    /// An element that is already available, otherwise nil. Never waits.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the search has failed.
    public func tryNext() throws(ServiceDiscoveryError) -> Element? {
        try driver.take().element
    }

    /// Calls `handler` on a queue, loop or run loop whenever ``tryNext()`` has something to return. Keep the returned
    /// signal; cancelling it ends the calls.
    public func onNews(
        on target: any DeliveryTarget, _ handler: @escaping @Sendable () -> Void
    ) -> any DeliverySignal {
        let signal = target.makeSignal(handler)
        driver.deliver(to: signal)
        return signal
    }

    /// Ends the search. Elements found before can still be read; then follows nil. Idempotent.
    public func stop() {
        driver.stop()
    }

    private func enter() throws(ServiceDiscoveryError) {
        // The wait point is never closed: the driver reports the end.
        guard point.enter(.reader) == .entered else { throw ServiceDiscoveryError(.busy) }
    }

    private func check(_ wake: Wake) throws(ServiceDiscoveryError) {
        switch wake {
        case .ready, .closed: return
        case .cancelled: throw ServiceDiscoveryError(.cancelled)
        case .timedOut: throw ServiceDiscoveryError(.timedOut)
        case .busy: throw ServiceDiscoveryError(.busy)
        case .failed(let number): throw MulticastSocket.failure(number)
        }
    }
}

/// Iterates over a search, which begins with the first call of `next()` and ends with the iterator.
///
/// In a cancelled task, iteration ends with nil, as with other sequences.
public struct DiscoveryIterator<Element: Sendable>: AsyncIteratorProtocol {
    /// The error that iterating throws.
    public typealias Failure = ServiceDiscoveryError

    private let start: () throws(ServiceDiscoveryError) -> DiscoveryFeed<Element>
    private var feed: DiscoveryFeed<Element>?

    init(_ start: @escaping () throws(ServiceDiscoveryError) -> DiscoveryFeed<Element>) {
        self.start = start
    }

    /// The next element; nil at the end.
    public mutating func next(
        isolation actor: isolated (any Actor)?
    ) async throws(ServiceDiscoveryError) -> Element? {
        try await advance()
    }

    /// The next element; nil at the end.
    public mutating func next() async throws(ServiceDiscoveryError) -> Element? {
        try await advance()
    }

    private nonisolated(nonsending) mutating func advance() async throws(ServiceDiscoveryError) -> Element? {
        if self.feed == nil { self.feed = try start() }
        guard let feed = self.feed else { return nil }
        do throws(ServiceDiscoveryError) {
            return try await feed.next()
        } catch {
            if error.code == .cancelled && Task.isCancelled { return nil }
            throw error
        }
    }
}

/// Drives the operations behind a ``DiscoveryFeed``: receives an engine's events and returns the feed's elements.
protocol FeedDriver<Element>: EventSink {
    associatedtype Element: Sendable

    /// Signalled when an element is available, and at the end.
    var point: WaitPoint { get }

    /// The next element, or the reason why there is none, determined in one step. Two calls would miss an element or a
    /// failure that arrives between them, and report the end instead.
    ///
    /// - Throws: the failure that ended the operations, after the last element.
    func take() throws(ServiceDiscoveryError) -> FeedStep<Element>
    /// Signals `signal` from now on when an element is available, and once immediately.
    func deliver(to signal: any DeliverySignal)
    /// Ends the operations.
    func stop()
}

/// The result of ``FeedDriver/take()``.
enum FeedStep<Element: Sendable>: Sendable {
    case element(Element)
    /// No element yet.
    case nothing
    /// The end: no more elements follow.
    case over

    /// The element, if there is one.
    var element: Element? { if case .element(let element) = self { element } else { nil } }
}

extension FeedStep: Equatable where Element: Equatable {}
