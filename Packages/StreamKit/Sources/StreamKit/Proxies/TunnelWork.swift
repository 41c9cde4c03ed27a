/// Work that a ``TunnelMachine`` needs before it can continue, such as the request for a ticket. It starts without
/// blocking, and no thread waits for it.
///
/// ```swift
/// return .work(TunnelWork { [tickets] done in
///     Task {
///         await tickets.store(requestTicket())
///         done()
///     }
/// })
/// ```
///
/// If the connection is closed meanwhile, the result is not used.
public final class TunnelWork: Sendable {
    private let start: @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    /// - Parameter start: Called once. It returns soon, and calls `done`, on any thread, when the work is complete.
    public init(_ start: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        self.start = start
    }

    /// Starts the work.
    public func begin(_ done: @escaping @Sendable () -> Void) {
        start(done)
    }
}

extension TunnelWork: Hashable {
    /// Whether both are the same object.
    public static func == (left: TunnelWork, right: TunnelWork) -> Bool { left === right }

    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
