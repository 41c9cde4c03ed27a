public import Dispatch
internal import Glibc
internal import Synchronization

/// A target that runs callbacks: a dispatch queue, an ``EventLoop``, or (product `RunLoopDelivery`) a run loop in a mode.
///
/// ```swift
/// stream.schedule(on: .queue(.main))
/// ```
public protocol DeliveryTarget: Sendable {
    /// Makes a signal. After each ``DeliverySignal/signal()``, `perform` is called once on the target, later; further signals
    /// before that call are combined with it.
    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal

    /// True if both are the same target, so that a schedule can be found and removed again.
    func isSame(as other: any DeliveryTarget) -> Bool
}

/// A signal on a ``DeliveryTarget``. Until it is cancelled, the target's run loop is not empty.
public protocol DeliverySignal: AnyObject, Sendable {
    /// Requests one call of `perform` on the target, soon, and never from inside this call. May be called from any thread.
    func signal()

    /// Ends the deliveries and releases `perform`. If this is called on the target, no call follows after it returns; called
    /// elsewhere, one may be in progress.
    func cancel()

    /// The poller of the target's thread, which watches the descriptors whose events are delivered there. Default: nil, if the thread
    /// has none: an event loop watches them.
    var poller: DescriptorPoller? { get }
}

extension DeliverySignal {
    /// See ``DeliverySignal/poller``.
    public var poller: DescriptorPoller? { nil }
}

/// Delivery on a dispatch queue. Use a serial queue, so that callbacks do not overlap.
public struct QueueTarget: DeliveryTarget {
    /// The queue that runs the callbacks.
    public let queue: DispatchQueue

    /// Delivers on `queue`.
    public init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    /// See ``DeliveryTarget/makeSignal(_:)``.
    public func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        PostedSignal(perform) { [queue] in queue.async(execute: $0) }
    }

    /// See ``DeliveryTarget/isSame(as:)``.
    public func isSame(as other: any DeliveryTarget) -> Bool {
        (other as? QueueTarget)?.queue === queue
    }
}

/// Delivery on an event loop's own thread: the cheapest target, for short callbacks.
public struct LoopTarget: DeliveryTarget {
    /// The loop that runs the callbacks.
    public let loop: EventLoop

    /// Delivers on `loop`.
    public init(_ loop: EventLoop = .shared) {
        self.loop = loop
    }

    /// See ``DeliveryTarget/makeSignal(_:)``.
    public func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        PostedSignal(perform) { [loop] in loop.execute($0) }
    }

    /// See ``DeliveryTarget/isSame(as:)``.
    public func isSame(as other: any DeliveryTarget) -> Bool {
        (other as? LoopTarget)?.loop === loop
    }
}

/// Calls at once, on the thread that signals: for callbacks that only pass the signal on, for example to ``EventPump/signal()``.
///
/// Other targets never call from inside ``DeliverySignal/signal()``. With this one, the callback must not take a lock that the code
/// that signals may hold.
public struct DirectTarget: DeliveryTarget {
    private final class Signal: DeliverySignal {
        private let body: SignalBody

        init(_ perform: @escaping @Sendable () -> Void) {
            body = SignalBody(perform)
        }

        func signal() {
            if let delayed = Delayed.ofThread, delayed.depth > 0 { delayed.signals.append(self) } else { run() }
        }

        func run() { body.run() }
        func cancel() { body.empty() }
    }

    /// Makes the target.
    public init() {}

    /// See ``DeliveryTarget/makeSignal(_:)``.
    public func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal { Signal(perform) }

    /// See ``DeliveryTarget/isSame(as:)``.
    public func isSame(as other: any DeliveryTarget) -> Bool { other is DirectTarget }

    /// Runs `body`, and afterwards makes the calls for which direct targets were signalled on this thread meanwhile.
    ///
    /// For code that calls unknown code with a lock held, such as a layer of a stream that reads from the layer below: a callback may
    /// use the same layer.
    ///
    /// - Throws: the error of `body`.
    @inlinable
    @_spi(Packages) public static func delayingCalls<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        beginDelay()
        defer { endDelay() }
        return try body()
    }

    @usableFromInline
    static func beginDelay() {
        let delayed = Delayed.ofThread ?? Delayed.make()
        delayed.depth += 1
    }

    @usableFromInline
    static func endDelay() { Delayed.ofThread?.end() }

    /// The calls that a thread has delayed.
    private final class Delayed {
        /// The number of ``delayingCalls(_:)`` that are in progress; the outermost one makes the calls.
        var depth = 0
        var signals: [Signal] = []

        /// The thread's variable that points to them.
        private static let key = {
            var key = pthread_key_t()
            let failure = pthread_key_create(&key) { value in
                if let value { Unmanaged<Delayed>.fromOpaque(value).release() }
            }
            precondition(failure == 0, "DirectTarget: the process has no thread-specific keys left")
            return key
        }()

        /// Those of the calling thread; nil before its first delay.
        static var ofThread: Delayed? {
            pthread_getspecific(key).map { Unmanaged<Delayed>.fromOpaque($0).takeUnretainedValue() }
        }

        /// Makes those of the calling thread, which keeps them to its end.
        static func make() -> Delayed {
            let made = Delayed()
            pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
            return made
        }

        func end() {
            depth -= 1
            guard depth == 0, !signals.isEmpty else { return }
            let due = signals
            signals = []
            for signal in due { signal.run() }
        }
    }
}

extension Locked where State: ~Copyable {
    /// As ``withLock(_:)``, with the calls of direct targets delayed until the lock has been released; see
    /// ``DirectTarget/delayingCalls(_:)``.
    @inlinable
    @_spi(Packages) public borrowing func withLockDelayingCalls<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        DirectTarget.beginDelay()
        defer { DirectTarget.endDelay() }
        lock.pointee.lock()
        defer { lock.pointee.unlock() }
        return try body(&state.pointee)
    }
}

extension DeliveryTarget where Self == QueueTarget {
    /// Delivery on a dispatch queue.
    public static func queue(_ queue: DispatchQueue) -> QueueTarget { QueueTarget(queue) }
}

extension DeliveryTarget where Self == LoopTarget {
    /// Delivery on an event loop's own thread.
    public static func loop(_ loop: EventLoop) -> LoopTarget { LoopTarget(loop) }
}

extension DeliveryTarget where Self == DirectTarget {
    /// A call at once, on the thread that signals.
    public static var direct: DirectTarget { DirectTarget() }
}

/// A signal for targets that accept closures. At most one closure is pending.
final class PostedSignal: DeliverySignal {
    private let body: SignalBody
    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let isPosted = Atomic<Bool>(false)

    init(
        _ perform: @escaping @Sendable () -> Void,
        post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        body = SignalBody(perform)
        self.post = post
    }

    func signal() {
        if isPosted.exchange(true, ordering: .acquiringAndReleasing) { return }
        post {
            self.isPosted.store(false, ordering: .sequentiallyConsistent)
            self.body.run()
        }
    }

    func cancel() { body.empty() }
}

/// The closure of a signal, until the signal is cancelled.
private struct SignalBody: ~Copyable, Sendable {
    // A structure: see Locked.
    private struct State {
        var perform: (@Sendable () -> Void)?
    }
    private let state: Locked<State>

    init(_ perform: @escaping @Sendable () -> Void) { state = Locked(State(perform: perform)) }

    func run() { state.withLock { $0.perform }?() }

    /// Releases the closure, after the lock, because it often holds the owner of the signal.
    func empty() {
        let perform = state.withLock { $0.perform.take() }
        withExtendedLifetime(perform) {}
    }
}
