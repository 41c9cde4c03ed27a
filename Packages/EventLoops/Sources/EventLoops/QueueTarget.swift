public import Dispatch
internal import Synchronization

/// Delivery on a dispatch queue. Use a serial one, so that callbacks do not overlap.
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

/// Delivery on an event loop's own thread: the cheapest, for callbacks that are short.
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

extension DeliveryTarget where Self == QueueTarget {
    /// Delivery on a dispatch queue.
    public static func queue(_ queue: DispatchQueue) -> QueueTarget { QueueTarget(queue) }
}

extension DeliveryTarget where Self == LoopTarget {
    /// Delivery on an event loop's own thread.
    public static func loop(_ loop: EventLoop) -> LoopTarget { LoopTarget(loop) }
}

/// A signal for targets that take closures: at most one is under way.
private final class PostedSignal: DeliverySignal {
    private let perform: Locked<(@Sendable () -> Void)?>
    private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let isPosted = Atomic<Bool>(false)

    init(
        _ perform: @escaping @Sendable () -> Void,
        post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.perform = Locked(perform)
        self.post = post
    }

    func signal() {
        if isPosted.exchange(true, ordering: .acquiringAndReleasing) { return }
        post {
            self.isPosted.store(false, ordering: .sequentiallyConsistent)
            self.perform.withLock { $0 }?()
        }
    }

    func cancel() {
        // Let go of after the lock. It often holds, in the end, who holds this signal.
        let cancelled = perform.withLock { $0.take() }
        withExtendedLifetime(cancelled) {}
    }
}
