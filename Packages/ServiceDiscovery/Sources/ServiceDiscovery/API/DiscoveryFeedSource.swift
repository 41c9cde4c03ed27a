internal import EventLoops

/// What stands behind a ``DiscoveryFeed``: operations of an engine, and what has come of them.
protocol DiscoveryFeedSource<Element>: AnyObject, Sendable {
    associatedtype Element: Sendable

    /// Signalled when there is something to take, or when it is over.
    var point: WaitPoint { get }
    /// True if nothing more will come; what has come may still be taken.
    var isOver: Bool { get }

    /// The next element, if there is one.
    func take() throws(ServiceDiscoveryError) -> Element?
    /// Rings `signal` from now on when there is something to take.
    func deliver(to signal: any DeliverySignal)
    /// Ends the operations.
    func stop()
}
