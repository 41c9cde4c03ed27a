/// How a host can be reached, now and after each change, from ``NetworkMonitor/reachability(of:)``.
public struct ReachabilityChanges: AsyncSequence, Sendable {
    /// The flags that hold now.
    public typealias Element = ReachabilityFlags
    /// It never fails.
    public typealias Failure = Never

    let changes: NetworkChanges
    let addresses: [IPAddress]

    /// Begins with the flags that hold now.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: changes.makeAsyncIterator(), addresses: addresses)
    }

    /// Gives the flags whenever they are others than before.
    public struct Iterator: AsyncIteratorProtocol {
        var changes: NetworkChanges.Iterator
        let addresses: [IPAddress]
        var last: ReachabilityFlags?

        /// The next flags; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReachabilityFlags? {
            await next()
        }

        /// The next flags; nil at the end.
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
