internal import HostResolver

/// One lookup of a ``ScriptedResolver``, which delivers events until its end.
final class ScriptedLookup: Sendable {
    typealias Handler = @Sendable (AddressEvent) -> Void

    /// Nil after the end, so that remaining appointments do not keep alive the objects that the handler holds.
    private let handler: Locked<Handler?>

    init(_ handler: @escaping Handler) {
        self.handler = Locked(handler)
    }

    func deliver(_ event: AddressEvent) {
        let handler = handler.withLock { handler in
            if case .finished = event { handler.take() } else { handler }
        }
        handler?(event)
    }

    /// Ends the lookup; true if it had not ended yet.
    func end() -> Bool {
        handler.withLock { $0.take() } != nil
    }
}
