/// Something that a test tells a scripted peer, or a scripted peer tells a test: go on now.
///
/// A script that waits for a signal makes a pause as long as the test needs, and no longer.
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

    /// Makes a signal that was not fired.
    public init() {}

    /// Lets one wait go on: one that is waiting, or else the next.
    public func fire() {
        count.withLock { $0 += 1 }
    }

    /// Waits until it is fired, without keeping one of Swift's threads busy.
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
        if fired == nil { throw PeerError(.timedOut, "the signal was not fired in \(seconds) s") }
    }
}
