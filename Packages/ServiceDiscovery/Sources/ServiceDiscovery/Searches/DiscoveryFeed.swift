public import DNSWire
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

    init(_ driver: any FeedDriver<Element>) {
        self.driver = driver
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
        let result: Result<Element?, ServiceDiscoveryError>
        do throws(WaitError) {
            result = try await driver.condition.wait(until: deadline.map(Moment.init), for: driver.take)
        } catch {
            throw ServiceDiscoveryError(wait: error)
        }
        return try result.get()
    }

    /// The next element; blocks the calling thread until there is one. Otherwise like the `async` method.
    @available(*, noasync, message: "blocks the thread; use await")
    public func next(until deadline: ContinuousClock.Instant? = nil) throws(ServiceDiscoveryError) -> Element? {
        let result: Result<Element?, ServiceDiscoveryError>
        do throws(WaitError) {
            result = try driver.condition.wait(until: deadline.map(Moment.init), for: driver.take)
        } catch {
            throw ServiceDiscoveryError(wait: error)
        }
        return try result.get()
    }

    /// An element that is already available, otherwise nil. Never waits.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the search has failed.
    public func tryNext() throws(ServiceDiscoveryError) -> Element? {
        try driver.take()?.get()
    }

    /// Calls `handler` on a queue, loop or run loop whenever ``tryNext()`` has something to return, and once at the
    /// beginning. A second observer replaces the first. Cancelling or releasing the subscription ends the calls.
    public func observe(on target: any DeliveryTarget, _ handler: @escaping @Sendable () -> Void) -> Subscription {
        driver.condition.observe(on: target, handler)
    }

    /// The names in received records that the search has skipped, because they are no names of a service or type: a label is not UTF-8, or
    /// has control characters (RFC 6763 §4.1.1). Each is listed once, in the order of arrival; at most 16.
    ///
    /// Such a record costs no other one. The host that sends it has a fault, and its service cannot be found.
    public var skipped: [DNSName] { driver.skipped }

    /// Ends the search. Elements found before can still be read; then follows nil. Idempotent.
    public func stop() {
        driver.stop()
    }
}

/// Iterates over a search, which begins with the first call of `next()` and ends with the iterator.
///
/// In a cancelled task, iteration ends with nil, as with other sequences.
public struct DiscoveryIterator<Element: Sendable>: AsyncIteratorProtocol {
    private let start: () throws(ServiceDiscoveryError) -> DiscoveryFeed<Element>
    private var feed: DiscoveryFeed<Element>?

    init(_ start: @escaping () throws(ServiceDiscoveryError) -> DiscoveryFeed<Element>) {
        self.start = start
    }

    /// As ``next(isolation:)``.
    public mutating func next() async throws(ServiceDiscoveryError) -> Element? { try await next(isolation: nil) }

    /// The next element; nil at the end.
    public mutating func next(
        isolation actor: isolated (any Actor)?
    ) async throws(ServiceDiscoveryError) -> Element? {
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

    /// Notified when an element is available, and at the end.
    var condition: Condition { get }

    /// The next element, the failure that ended the operations, or nil in the result for the end; nil if the reader must
    /// wait. Determined in one step: two calls would miss an element or a failure that arrives between them, and report
    /// the end instead. A failure follows the last element.
    func take() -> Result<Element?, ServiceDiscoveryError>?
    /// See ``DiscoveryFeed/skipped``. Default: none.
    var skipped: [DNSName] { get }
    /// Ends the operations.
    func stop()
}

extension FeedDriver {
    var skipped: [DNSName] { [] }
}
