@_spi(Packages) import EventLoops
import Glibc

@testable import StreamKit

/// A source whose bytes stay in a simulated kernel until a read or peek moves them into a layer, as TLS does. It runs
/// test code in the middle of a call, to force an interleaving.
final class ScriptedSource: StreamTransport {
    /// A point within a call into the source.
    enum Site: CaseIterable {
        /// In a peek, before it looks.
        case look
        /// Asked for the wait point.
        case place
        /// Asked to wait, just before the watcher is parked.
        case parking
    }

    private struct State {
        var kernel = 0
        var layer = 0
        var readFailure: StreamError?
        var writeFailure: StreamError?
        var isEndless = false
        var holdsBytes = false
        var interruption: (site: Site, body: @Sendable () -> Void)?
    }

    /// Runs test code just before a watcher is parked.
    private final class Point: WaitPoint, @unchecked Sendable {
        // Unchecked only because the superclass is: written once, before use.
        nonisolated(unsafe) weak var source: ScriptedSource?
        override func callerWillWait(watchedBy poller: DescriptorPoller?) { source?.reach(.parking) }
    }

    private let state = Locked(State())
    private let point: Point

    init(loop: EventLoop = .shared) {
        point = Point(loop: loop)
        point.source = self
    }

    var waitPoint: WaitPoint {
        reach(.place)
        return point
    }

    var loop: EventLoop { point.loop }

    /// Runs `body` once, the next time that a call reaches `site`.
    func interrupt(at site: Site, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.interruption = (site, body) }
    }

    private func reach(_ site: Site) {
        let body = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.interruption?.site == site else { return nil }
            return state.interruption.take()?.body
        }
        body?()
    }

    /// Bytes arrive; the loop has not looked yet.
    func arrive(_ count: Int) {
        state.withLock { $0.kernel += count }
    }

    /// The loop looks: an edge exists only if the bytes are still in the kernel.
    func harvest() {
        if state.withLock({ $0.kernel > 0 }) { point.signal(.readable) }
    }

    /// Whether bytes are in the kernel or in the layer.
    var hasBytes: Bool { state.withLock { $0.kernel + $0.layer > 0 } }

    func failReading(_ error: StreamError) { state.withLock { $0.readFailure = error } }
    func failWriting(_ error: StreamError) { state.withLock { $0.writeFailure = error } }

    /// From now on, any number of bytes can be read and written.
    func makeEndless() { state.withLock { $0.isEndless = true } }

    /// From now on, the layer holds written bytes.
    func hold() { state.withLock { $0.holdsBytes = true } }

    /// Passes down the bytes that the layer holds.
    func release() {
        state.withLock { $0.holdsBytes = false }
        point.signal(.writable)
    }

    func tryFlush() throws(StreamError) -> Attempt {
        state.withLock { $0.holdsBytes } ? .wouldBlock(.writable) : .ended
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        let room = buffer.byteCount
        return try state.withLock { (state) throws(StreamError) in
            if let error = state.readFailure { throw error }
            if state.isEndless { return .moved(room) }
            state.layer += exchange(&state.kernel, with: 0)
            let count = min(room, state.layer)
            state.layer -= count
            return count == 0 ? .wouldBlock(.readable) : .moved(count)
        }
    }

    func peek() throws(StreamError) -> Attempt {
        reach(.look)
        return try state.withLock { (state) throws(StreamError) in
            if let error = state.readFailure { throw error }
            if state.isEndless { return .moved(1) }
            state.layer += exchange(&state.kernel, with: 0)
            return state.layer == 0 ? .wouldBlock(.readable) : .moved(state.layer)
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        let count = bytes.byteCount
        return try state.withLock { (state) throws(StreamError) in
            if let error = state.writeFailure { throw error }
            return state.isEndless ? .moved(min(count, 1)) : .wouldBlock(.writable)
        }
    }

    func writability() throws(StreamError) -> Attempt {
        try state.withLock { (state) throws(StreamError) in
            if let error = state.writeFailure { throw error }
            return state.isEndless ? .moved(1) : .wouldBlock(.writable)
        }
    }
}

/// A target whose turns the test executes.
final class SteppedTarget: DeliveryTarget {
    private final class Signal: DeliverySignal {
        let state = Locked<(isSignalled: Bool, perform: (@Sendable () -> Void)?)>((false, nil))
        private let target: SteppedTarget

        init(_ perform: @escaping @Sendable () -> Void, on target: SteppedTarget) {
            self.target = target
            state.withLock { $0.perform = perform }
        }

        func signal() { state.withLock { $0.isSignalled = true } }
        func cancel() {
            let old = state.withLock { $0.perform.take() }
            withExtendedLifetime(old) {}
            let interruption = target.interruption.withLock { $0.take() }
            interruption?()
        }
    }

    private let signals = Locked<[Signal]>([])
    private let interruption = Locked<(@Sendable () -> Void)?>(nil)

    /// Runs `body` once, the next time that a signal is cancelled: in the middle of removing or unscheduling a client.
    func interruptCancelling(_ body: @escaping @Sendable () -> Void) { interruption.withLock { $0 = body } }

    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        let signal = Signal(perform, on: self)
        signals.withLock { $0.append(signal) }
        return signal
    }

    func isSame(as other: any DeliveryTarget) -> Bool { (other as? SteppedTarget) === self }

    /// Performs the signalled work; false if there was none.
    @discardableResult
    func turn() -> Bool {
        var hasPerformed = false
        for signal in signals.withLock({ $0 }) {
            let perform = signal.state.withLock { state in
                exchange(&state.isSignalled, with: false) ? state.perform : nil
            }
            perform?()
            hasPerformed = hasPerformed || perform != nil
        }
        return hasPerformed
    }
}

extension EventLoop {
    /// A loop that has ended: watching a descriptor on it fails with `ESHUTDOWN`.
    static func ended() async throws -> EventLoop {
        let loop = EventLoop(name: "ended")
        loop.shutdown()
        var hasEnded = false
        while !hasEnded {
            let (probe, other) = try Socket.pair(loop: loop)
            hasEnded = probe.point.watch(.reader, for: .readable, with: Watcher()) == .failed(ESHUTDOWN)
            for socket in [probe, other] { socket.invalidate() }
            await Task.yield()
        }
        return loop
    }

    /// Resumes after `count` turns of the loop.
    func waitTurns(_ count: Int = 2) async {
        for _ in 0..<count { await withCheckedContinuation { continuation in execute { continuation.resume() } } }
    }
}
