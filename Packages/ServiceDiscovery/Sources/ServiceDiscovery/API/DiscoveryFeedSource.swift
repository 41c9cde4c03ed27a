internal import EventLoops

/// What stands behind a ``DiscoveryFeed``: operations of an engine, and what has come of them.
protocol DiscoveryFeedSource<Element>: AnyObject, Sendable {
    associatedtype Element: Sendable

    /// Signalled when there is something to take, or when it is over.
    var point: WaitPoint { get }

    /// The next element, or why there is none, decided in one step: asked one after the other, the last element or a failure
    /// that came in between would be taken for the end.
    ///
    /// - Throws: what ended the operations, after the last element.
    func take() throws(ServiceDiscoveryError) -> DiscoveryStep<Element>
    /// Rings `signal` from now on when there is something to take.
    func deliver(to signal: any DeliverySignal)
    /// Ends the operations.
    func stop()
}

/// What a ``DiscoveryFeedSource`` has at one moment.
enum DiscoveryStep<Element: Sendable>: Sendable {
    case element(Element)
    /// Nothing yet.
    case nothing
    /// Nothing any more.
    case over

    /// The element, if there is one.
    var element: Element? { if case .element(let element) = self { element } else { nil } }
}

extension DiscoveryStep: Equatable where Element: Equatable {}
