@preconcurrency internal import CoreFoundation
public import EventLoops
public import Foundation

/// Delivery on a run loop, in one of its modes, as CFStream, CFHost and NetService call their clients.
///
/// ```swift
/// import Foundation
/// import RunLoopDelivery
///
/// stream.schedule(on: .currentRunLoop)
/// RunLoop.current.run(mode: .default, before: .distantFuture)
/// ```
///
/// Theory of operation. Each signal is a separate version-0 source on that loop and mode. Signalling the source and calling
/// `CFRunLoopWakeUp` is the only way to wake a loop without delay and without losing a signal (`RunLoop.perform` does not wake
/// it at all). While the source exists the loop is not empty, so it does not return at once. For the descriptors of its streams, the
/// loop has another source: `RunLoopPoller`.
///
/// In a program with an `async` main function, the main thread's run loop does not run; use a queue or `async` calls there.
public struct RunLoopTarget: DeliveryTarget, @unchecked Sendable {
    // Any thread may add, remove and signal sources of a CFRunLoop and wake it, because CoreFoundation takes its own locks.
    // Only *running* a loop is restricted to its thread.
    private static let utf8: CFStringEncoding = 0x0800_0100  // kCFStringEncodingUTF8, which the importer leaves out

    /// The loop by the name that was given. Both have one for the calling thread's loop and the main thread's.
    private enum Identity {
        /// A Foundation loop. Its only uses are comparison and adding a timer, which CoreFoundation protects with a lock.
        case foundation(RunLoop)
        case coreFoundation
    }

    private let identity: Identity
    /// The CoreFoundation loop; nil for the Foundation loop of another thread, which reveals it only to that thread.
    private let loop: CFRunLoop?
    private let mode: RunLoop.Mode

    /// Delivers on the calling thread's run loop, in `mode`.
    @available(*, noasync, message: "a task has no run loop of its own; use .queue or the async calls")
    package static func current(mode: RunLoop.Mode = .default) -> RunLoopTarget {
        RunLoopTarget(RunLoop.current, loop: CFRunLoopGetCurrent(), mode: mode)
    }

    /// Delivers on the main thread's run loop, in `mode`. The program must run that loop.
    package static func main(mode: RunLoop.Mode = .default) -> RunLoopTarget {
        RunLoopTarget(RunLoop.main, loop: CFRunLoopGetMain(), mode: mode)
    }

    /// Delivers on `loop`, which may belong to any thread, in `mode`.
    ///
    /// The target may be the calling thread's loop or the main thread's. On any other loop, nothing is delivered before that loop has
    /// run once.
    public init(_ loop: RunLoop, mode: RunLoop.Mode = .default) {
        if loop === RunLoop.main {
            self.init(loop, loop: CFRunLoopGetMain(), mode: mode)
        } else {
            self.init(loop, loop: loop === RunLoop.current ? CFRunLoopGetCurrent() : nil, mode: mode)
        }
    }

    /// Delivers on a loop of CoreFoundation, which may belong to any thread, in `mode`.
    ///
    /// - Parameter loop: a `CFRunLoopRef`, which the target retains.
    @_spi(CoreFoundation)
    public init(coreFoundation loop: UnsafeRawPointer, mode: RunLoop.Mode) {
        identity = .coreFoundation
        self.loop = Unmanaged<CFRunLoop>.fromOpaque(loop).takeUnretainedValue()
        self.mode = mode
    }

    private init(_ identity: RunLoop, loop: CFRunLoop?, mode: RunLoop.Mode) {
        self.identity = .foundation(identity)
        self.loop = loop
        self.mode = mode
    }

    /// The CoreFoundation name of a mode.
    static func name(of mode: RunLoop.Mode) -> CFRunLoopMode {
        switch mode {
        case .default: kCFRunLoopDefaultMode
        case .common: kCFRunLoopCommonModes
        default: CFStringCreateWithCString(nil, mode.rawValue, utf8)
        }
    }

    /// See `DeliveryTarget.makeSignal(_:)`.
    public func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        if let loop { return RunLoopSignal(perform, loop: loop, mode: mode) }
        guard case .foundation(let identity) = identity else { preconditionFailure("a target has one of the loops") }
        return RemoteRunLoopSignal(perform, loop: identity, mode: mode)
    }

    /// See `DeliveryTarget.isSame(as:)`.
    public func isSame(as other: any DeliveryTarget) -> Bool {
        guard let other = other as? RunLoopTarget, mode == other.mode else { return false }
        if let loop, let otherLoop = other.loop { return loop === otherLoop }
        guard case .foundation(let own) = identity, case .foundation(let others) = other.identity else { return false }
        return own === others
    }
}

extension DeliveryTarget where Self == RunLoopTarget {
    /// Delivery on the calling thread's run loop in its default mode.
    @available(*, noasync, message: "a task has no run loop of its own; use .queue or the async calls")
    public static var currentRunLoop: RunLoopTarget { RunLoopTarget.current() }

    /// Delivery on the calling thread's run loop in `mode`.
    @available(*, noasync, message: "a task has no run loop of its own; use .queue or the async calls")
    public static func currentRunLoop(mode: RunLoop.Mode) -> RunLoopTarget { RunLoopTarget.current(mode: mode) }

    /// Delivery on the main thread's run loop in its default mode.
    public static var mainRunLoop: RunLoopTarget { RunLoopTarget.main() }
}

/// A version-0 source on one loop and mode. The loop holds the source, and the source holds the closure.
private final class RunLoopSignal: DeliverySignal, @unchecked Sendable {
    // The properties are set once. See RunLoopTarget for the reason why any thread may use CoreFoundation here.
    private let loop: CFRunLoop
    private let mode: RunLoop.Mode
    private let source: CFRunLoopSource

    private let body: Body

    /// A box for the closure, which ``cancel()`` empties. The source retains the box until the source itself is
    /// released, and the closure often retains the owner of this signal.
    private final class Body: Sendable {
        // A structure: see Locked.
        private struct State {
            var perform: (@Sendable () -> Void)?
            /// Whether a poll has caused a call of the closure that is still to come.
            var isDue = false
            /// Obtained at its first use.
            var poller: RunLoopPoller?
        }
        private let state: Locked<State>
        init(_ perform: @escaping @Sendable () -> Void) { state = Locked(State(perform: perform)) }

        func run() {
            let perform = state.withLock { state in
                state.isDue = false
                return state.perform
            }
            perform?()
        }

        /// Combines the signals of polls. Returns whether this is the first one.
        func becomeDue() -> Bool {
            state.withLock { state in
                defer { state.isDue = true }
                return !state.isDue
            }
        }

        var poller: RunLoopPoller? { state.withLock { $0.poller } }

        /// Uses a poller until the box is emptied. False if it is empty already, or has a poller.
        func use(_ poller: RunLoopPoller) -> Bool {
            state.withLock { state in
                guard state.perform != nil, state.poller == nil else { return false }
                state.poller = poller
                return true
            }
        }

        func empty() {
            let (perform, poller) = state.withLock { ($0.perform.take(), $0.poller.take()) }
            poller?.endUse()
            withExtendedLifetime(perform) {}  // released after the lock
        }
    }

    init(_ perform: @escaping @Sendable () -> Void, loop: CFRunLoop, mode: RunLoop.Mode) {
        self.loop = loop
        self.mode = mode
        let body = Body(perform)
        self.body = body
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(body).toOpaque()
        context.retain = { info in
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<Body>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            if let info { Unmanaged<Body>.fromOpaque(info).release() }
        }
        context.perform = { info in
            if let info { Unmanaged<Body>.fromOpaque(info).takeUnretainedValue().run() }
        }
        source = withExtendedLifetime(body) { CFRunLoopSourceCreate(nil, 0, &context) }
        CFRunLoopAddSource(loop, source, RunLoopTarget.name(of: mode))
        CFRunLoopWakeUp(loop)  // makes a loop that is waiting check its sources again
    }

    deinit { cancel() }

    var poller: DescriptorPoller? {
        if let poller = body.poller { return poller.poller }
        guard let poller = RunLoopPoller.use(by: loop, mode) else { return nil }
        if body.use(poller) { return poller.poller }
        poller.endUse()
        return body.poller?.poller
    }

    func signal() {
        if let poller = body.poller?.poller, poller.isPolling {
            // The thread is awake. The loop performs all sources but one after this turn, or in a nested run.
            if body.becomeDue(), !poller.runAfterPoll({ [body] in body.run() }) { CFRunLoopSourceSignal(source) }
            return
        }
        CFRunLoopSourceSignal(source)
        CFRunLoopWakeUp(loop)
    }

    func cancel() {
        body.empty()
        CFRunLoopSourceInvalidate(source)
        CFRunLoopWakeUp(loop)  // lets a loop without further sources return
    }
}

/// A signal on the run loop of another thread.
///
/// Theory of operation. Foundation reveals the CoreFoundation loop of a `RunLoop` only to the thread that runs it. A timer is
/// therefore added to the loop, which wakes the loop if it waits. When the timer fires, on that thread, it adds a
/// ``RunLoopSignal`` there. A signal that arrives earlier is stored and delivered then.
private final class RemoteRunLoopSignal: DeliverySignal, @unchecked Sendable {
    // All mutable state is behind the lock, except for the timer, which is set once and may be invalidated from any thread.
    private struct State {
        var signal: RunLoopSignal?
        var isSignalled = false
        var isCancelled = false
    }

    private let state = Locked(State())
    private var timer: Timer?

    init(_ perform: @escaping @Sendable () -> Void, loop: RunLoop, mode: RunLoop.Mode) {
        let timer = Timer(timeInterval: 0, repeats: false) { [weak self] _ in
            self?.attach(RunLoopSignal(perform, loop: CFRunLoopGetCurrent(), mode: mode))
        }
        self.timer = timer
        loop.add(timer, forMode: mode)
    }

    deinit { cancel() }

    /// Takes over the signal that was added to the loop. Called on the loop's thread.
    private func attach(_ signal: RunLoopSignal) {
        let (isSignalled, isCancelled) = state.withLock { state in
            if !state.isCancelled { state.signal = signal }
            return (state.isSignalled, state.isCancelled)
        }
        if isCancelled { return signal.cancel() }
        if isSignalled { signal.signal() }
    }

    func signal() {
        state.withLock { state -> RunLoopSignal? in
            state.isSignalled = state.signal == nil
            return state.signal
        }?.signal()
    }

    var poller: DescriptorPoller? { state.withLock { $0.signal }?.poller }

    func cancel() {
        let signal = state.withLock { state -> RunLoopSignal? in
            state.isCancelled = true
            return state.signal.take()
        }
        signal?.cancel()
        timer?.invalidate()
    }
}
