/// A signal from a test to a scripted peer, or in the other direction, to continue.
///
/// A script that waits for a signal pauses exactly as long as the test needs.
///
/// ```swift
/// let halfRead = Signal()
/// let server = try ScriptedServer { connection throws(PeerError) in
///     try connection.send("half")
///     try connection.wait(for: halfRead)
///     try connection.send("the rest")
/// }
/// // read "half" with the code under test, then:
/// halfRead.fire()
/// ```
public final class Signal: Sendable {
    private let count = Guarded(0)

    /// Creates a signal that is not fired.
    public init() {}

    /// Ends one wait: a current one, or else the next.
    public func fire() {
        count.withLock { $0 += 1 }
    }

    /// Waits until the signal is fired, without blocking a thread of Swift's pool.
    ///
    /// - Throws: ``PeerError/Code/timedOut`` after `seconds`.
    public func wait(seconds: Double = 60) async throws(PeerError) {
        try await onOwnThread { () throws(PeerError) in try self.block(seconds: seconds) }
    }

    func block(seconds: Double) throws(PeerError) {
        let fired: Void? = count.wait(seconds: seconds) { count in
            guard count > 0 else { return nil }
            count -= 1
            return ()
        }
        if fired == nil { throw PeerError(.timedOut, "the signal was not fired within \(seconds) s") }
    }
}
