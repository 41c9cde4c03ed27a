internal import EventLoops

/// Hands one answer over at most once, whoever comes first: the answer or the cancellation.
final class SingleDelivery<Value: Sendable>: Sendable {
    private let handler: Locked<(@Sendable (Result<Value, ResolverError>) -> Void)?>

    init(_ handler: @escaping @Sendable (Result<Value, ResolverError>) -> Void) {
        self.handler = Locked(handler)
    }

    /// Hands the answer over, if nothing ended it before.
    func deliver(_ result: Result<Value, ResolverError>) {
        handler.withLock { $0.take() }?(result)
    }

    /// Ends it without an answer; true if it was not over.
    func close() -> Bool {
        handler.withLock { $0.take() } != nil
    }
}
