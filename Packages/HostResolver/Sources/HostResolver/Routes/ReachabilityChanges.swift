/// The reachability of a host, now and after each change, from ``NetworkMonitor/reachability(of:)``.
public struct ReachabilityChanges: AsyncSequence, Sendable {
    /// The current flags.
    public typealias Element = ReachabilityFlags
    /// The sequence never fails.
    public typealias Failure = Never

    let changes: NetworkChanges
    let addresses: [IPAddress]

    /// Creates an iterator, which begins with the current flags.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: changes.makeAsyncIterator(), addresses: addresses)
    }

    /// An iterator that returns the flags whenever they differ from the previous ones.
    public struct Iterator: AsyncIteratorProtocol {
        var changes: NetworkChanges.Iterator
        let addresses: [IPAddress]
        var last: ReachabilityFlags?

        /// Returns the next flags; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReachabilityFlags? {
            await next()
        }

        /// Returns the next flags; nil at the end.
        public mutating func next() async -> ReachabilityFlags? {
            while true {
                let flags = (try? ReachabilityFlags(of: addresses)) ?? []
                if flags != last {
                    last = flags
                    return flags
                }
                guard await changes.next() != nil else { return nil }
            }
        }
    }
}
