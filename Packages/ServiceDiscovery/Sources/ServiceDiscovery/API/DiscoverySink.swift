/// Who takes the events of one operation of an engine.
protocol DiscoverySink: AnyObject, Sendable {
    /// Takes one event. Called with the engine's lock held: keeps it and returns.
    func put(_ event: DiscoveryEvent, of operation: Int)

    /// Called after some events, with no lock held.
    func ring()
}
