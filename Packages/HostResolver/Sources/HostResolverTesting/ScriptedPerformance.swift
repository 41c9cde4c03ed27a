internal import HostResolver

/// One lookup of a ``ScriptedResolver``: hands events on until its end.
final class ScriptedPerformance: Sendable {
    typealias Handler = @Sendable (AddressEvent) -> Void

    /// Nil after the end: the appointments that are left must not keep alive what it holds.
    private let handler: Locked<Handler?>

    init(_ handler: @escaping Handler) {
        self.handler = Locked(handler)
    }

    func perform(_ event: AddressEvent) {
        let handler = handler.withLock { handler in
            if case .finished = event { handler.take() } else { handler }
        }
        handler?(event)
    }

    /// Ends it; true if it was still going on.
    func end() -> Bool {
        handler.withLock { $0.take() } != nil
    }
}
