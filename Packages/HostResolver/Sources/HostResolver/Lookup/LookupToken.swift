/// A handle of a running lookup, to cancel it.
public struct LookupToken: Sendable {
    private let end: @Sendable () -> Bool

    /// Creates a token. `cancel` must return true if it ended the lookup, and must not block.
    public init(cancel: @escaping @Sendable () -> Bool) {
        end = cancel
    }

    /// Cancels the lookup at once, even if a system call is blocked.
    ///
    /// - Returns: True if the call ended the lookup: no `finished` follows, and at most one batch, if its delivery is
    ///   in progress. False if the lookup had already ended: `finished` was delivered, or its delivery is in progress.
    @discardableResult
    public func cancel() -> Bool {
        end()
    }
}
