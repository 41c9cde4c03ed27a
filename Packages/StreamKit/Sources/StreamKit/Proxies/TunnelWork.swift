/// What a ``TunnelMachine`` must have done before it can go on, such as asking for a ticket: begun where it harms nobody,
/// and not waited for on a thread.
///
/// ```swift
/// return .work(TunnelWork { [answers] done in
///     Task {
///         await answers.put(askSomebody())
///         done()
///     }
/// })
/// ```
///
/// If the connection is closed meanwhile, nobody asks for what came of it.
public final class TunnelWork: Sendable {
    private let start: @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    /// - Parameter start: Called once. It returns soon, and has `done` called, on any thread, once the work is done.
    public init(_ start: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void) {
        self.start = start
    }

    /// Begins it.
    public func begin(_ done: @escaping @Sendable () -> Void) {
        start(done)
    }
}

extension TunnelWork: Hashable {
    /// Equal if they are the same work.
    public static func == (left: TunnelWork, right: TunnelWork) -> Bool { left === right }

    /// Hashes which work it is.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
