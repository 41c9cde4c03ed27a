public import EventLoops

/// One search under way, and what it has found until somebody takes it: with `await`, blocking, or by polling.
///
/// ```swift
/// let search = try ServiceBrowser(type).start()
/// while let change = try search.next(until: .now + .seconds(2)) { print(change) }     // on a thread of your own
/// search.stop()
/// ```
///
/// One reader at a time; a second gets ``ServiceDiscoveryError/Code-swift.struct/busy``. Letting the feed go ends the
/// search. Members may be called from any thread.
public final class DiscoveryFeed<Element: Sendable>: Sendable {
    private let source: any DiscoveryFeedSource<Element>
    private let point: WaitPoint

    init(_ source: any DiscoveryFeedSource<Element>) {
        self.source = source
        point = source.point
    }

    deinit { source.stop() }

    /// The next element; suspends until there is one. Nil once the feed was stopped; a cancelled task throws
    /// ``ServiceDiscoveryError/Code-swift.struct/cancelled`` and loses nothing.
    ///
    /// - Parameter deadline: when to give up; nil for never.
    /// - Throws: ``ServiceDiscoveryError``; ``ServiceDiscoveryError/Code-swift.struct/timedOut`` at the deadline, after
    ///   which the search still runs.
    public nonisolated(nonsending) func next(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ServiceDiscoveryError) -> Element? {
        try enter()
        defer { point.leave(.reader) }
        while true {
            switch try source.take() {
            case .element(let element): return element
            case .over: return nil
            case .nothing: break
            }
            try check(await point.readerWait(for: .readable, until: deadline.map(Moment.init)))
        }
    }

    /// The next element; blocks the calling thread until there is one. As `next(until:)`.
    @available(*, noasync, message: "blocks the thread; use await")
    public func next(until deadline: ContinuousClock.Instant? = nil) throws(ServiceDiscoveryError) -> Element? {
        try enter()
        defer { point.leave(.reader) }
        while true {
            switch try source.take() {
            case .element(let element): return element
            case .over: return nil
            case .nothing: break
            }
            try check(point.block(.reader, for: .readable, until: deadline.map(Moment.init)))
        }
    }

    /// An element that is there already; nil if there is none. Never waits.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the search has failed.
    public func tryNext() throws(ServiceDiscoveryError) -> Element? {
        try source.take().element
    }

    /// Has `handler` called on a queue, loop or run loop whenever there is something to take with ``tryNext()``. Keep the
    /// signal: cancelling it ends the calls.
    public func onNews(
        on target: any DeliveryTarget, _ handler: @escaping @Sendable () -> Void
    ) -> any DeliverySignal {
        let signal = target.makeSignal(handler)
        source.deliver(to: signal)
        return signal
    }

    /// Ends the search. What was found already can still be taken; then come nils. Idempotent.
    public func stop() {
        source.stop()
    }

    private func enter() throws(ServiceDiscoveryError) {
        // The point itself is never closed: the source says when it is over.
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
