/// A lookup under way: the means to end it.
public struct LookupToken: Sendable {
    private let end: @Sendable () -> Bool

    /// Makes a token. `cancel` returns true if it ended the lookup, and must not wait.
    public init(cancel: @escaping @Sendable () -> Bool) {
        end = cancel
    }

    /// Ends the lookup, at once, whatever the system is doing.
    ///
    /// - Returns: true if that ended it: then no `finished` comes, and at most a batch being delivered at this
    ///   moment. False if it was over already: then `finished` has come or is just coming.
    @discardableResult
    public func cancel() -> Bool {
        end()
    }
}
