internal import EventLoops

/// The long-lived connections of a server.
final class LongLivedLimit: Sendable {
    /// Counts as one of the connections as long as it exists.
    final class Permit: Sendable {
        private let limit: LongLivedLimit

        fileprivate init(_ limit: LongLivedLimit) { self.limit = limit }

        deinit { limit.count.withLock { $0 -= 1 } }
    }

    let maximum: Int
    private let count = Locked(0)

    init(_ maximum: Int) { self.maximum = maximum }

    /// The usual maximum of a server: all but a quarter, rounded up, of its connections, so that requests have room from 2 on.
    static func usual(of connections: Int) -> Int { max(1, connections - 1 - (connections - 1) / 4) }

    /// Permits one more connection; nil at the maximum.
    func permit() -> Permit? {
        let isPermitted = count.withLock { count in
            guard count < maximum else { return false }
            count += 1
            return true
        }
        return isPermitted ? Permit(self) : nil
    }
}
