internal import EventLoops

/// Delivers one answer at most once: the first of the answer and the cancellation wins.
final class SingleDelivery<Value: Sendable>: Sendable {
    private let handler: Locked<(@Sendable (Result<Value, ResolverError>) -> Void)?>

    init(_ handler: @escaping @Sendable (Result<Value, ResolverError>) -> Void) {
        self.handler = Locked(handler)
    }

    /// Delivers the answer, unless one was delivered or the delivery was closed.
    func deliver(_ result: Result<Value, ResolverError>) {
        handler.withLock { $0.take() }?(result)
    }

    /// Ends the delivery without an answer; true if no answer had been delivered.
    func close() -> Bool {
        handler.withLock { $0.take() } != nil
    }
}
