/// The changes of a network, from ``NetworkMonitor/changes()``. Ends with its monitor or with the task.
public struct NetworkChanges: AsyncSequence, Sendable {
    /// What has changed.
    public typealias Element = NetworkChange
    /// It never fails.
    public typealias Failure = Never

    let listener: ChangeListener
    /// Kept alive as long as somebody listens.
    let monitor: NetworkMonitor

    /// Begins to listen; changes since ``NetworkMonitor/changes()`` are not lost.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: self)
    }

    /// Takes the changes one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let changes: NetworkChanges

        /// The next change; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkChange? {
            await changes.listener.next()
        }

        /// The next change; nil at the end.
        public mutating func next() async -> NetworkChange? {
            await changes.listener.next()
        }
    }
}
