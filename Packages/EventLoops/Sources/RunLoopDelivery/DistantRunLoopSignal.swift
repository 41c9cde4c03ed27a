@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import Foundation

/// A signal on the loop of another thread.
///
/// Theory of operation. Foundation does not tell which CoreFoundation loop a `RunLoop` is, except to the thread that runs it.
/// So a timer is added to the loop, which wakes it if it waits; when it fires, on that thread, it puts a ``RunLoopSignal``
/// there. Until then rings are remembered.
final class DistantRunLoopSignal: DeliverySignal, @unchecked Sendable {
    // Everything that changes is behind the lock, but for the timer, which is set once; invalidating one is allowed from
    // any thread.
    private struct State {
        var signal: RunLoopSignal?
        var isRung = false
        var isCancelled = false
    }

    private let state = Locked(State())
    private var timer: Timer?

    init(_ perform: @escaping @Sendable () -> Void, loop: RunLoop, mode: RunLoop.Mode) {
        let timer = Timer(timeInterval: 0, repeats: false) { [weak self] _ in
            self?.arrive(RunLoopSignal(perform, loop: CFRunLoopGetCurrent(), mode: RunLoopTarget.name(of: mode)))
        }
        self.timer = timer
        loop.add(timer, forMode: mode)
    }

    deinit { cancel() }

    /// On the loop's thread: the source is there.
    private func arrive(_ signal: RunLoopSignal) {
        let (isRung, isCancelled) = state.withLock { state in
            if !state.isCancelled { state.signal = signal }
            return (state.isRung, state.isCancelled)
        }
        if isCancelled { return signal.cancel() }
        if isRung { signal.signal() }
    }

    func signal() {
        state.withLock { state -> RunLoopSignal? in
            state.isRung = state.signal == nil
            return state.signal
        }?.signal()
    }

    func cancel() {
        let signal = state.withLock { state -> RunLoopSignal? in
            state.isCancelled = true
            return state.signal.take()
        }
        signal?.cancel()
        timer?.invalidate()
    }
}
