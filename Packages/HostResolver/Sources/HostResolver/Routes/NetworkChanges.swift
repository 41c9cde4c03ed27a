/// The changes of this machine's network, from ``NetworkMonitor/changes()``.
///
/// The sequence ends when its monitor is closed or the task is cancelled.
public struct NetworkChanges: AsyncSequence, Sendable {
    /// The parts of the network that have changed.
    public typealias Element = NetworkChange
    /// The sequence never fails.
    public typealias Failure = Never

    let listener: ChangeListener
    /// The monitor, kept alive as long as the sequence.
    let monitor: NetworkMonitor

    /// Creates an iterator. It returns the changes since ``NetworkMonitor/changes()`` was called.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: self)
    }

    /// An iterator over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        let changes: NetworkChanges

        /// Returns the next change; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkChange? {
            await changes.listener.next()
        }

        /// Returns the next change; nil at the end.
        public mutating func next() async -> NetworkChange? {
            await changes.listener.next()
        }
    }
}
