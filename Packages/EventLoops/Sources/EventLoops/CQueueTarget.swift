internal import CEventLoops

/// Delivery on a dispatch queue of a program in C, a `dispatch_queue_t`, which Swift on Linux cannot name.
///
/// On a concurrent queue, calls of different signals may overlap.
@_spi(Packages) public struct CQueueTarget: DeliveryTarget {
    private let queue: Queue

    /// Delivers on `queue`, a `dispatch_queue_t`, and retains it.
    public init(_ queue: UnsafeMutableRawPointer) {
        self.queue = Queue(queue)
    }

    /// See ``DeliveryTarget/makeSignal(_:)``.
    public func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        PostedSignal(perform) { [queue] in queue.run($0) }
    }

    /// See ``DeliveryTarget/isSame(as:)``.
    public func isSame(as other: any DeliveryTarget) -> Bool {
        (other as? CQueueTarget)?.queue.pointer == queue.pointer
    }

    /// The owner of one reference to the queue.
    private final class Queue: @unchecked Sendable {
        // The pointer is constant, and any thread may use a dispatch queue.
        let pointer: UnsafeMutableRawPointer

        init(_ pointer: UnsafeMutableRawPointer) {
            self.pointer = pointer
            netkit_queue_retain(pointer)
        }

        deinit { netkit_queue_release(pointer) }

        func run(_ body: @escaping @Sendable () -> Void) {
            netkit_queue_run(pointer, Unmanaged.passRetained(Work(body)).toOpaque()) { context in
                guard let context else { return }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
            }
        }
    }

    /// A closure as the context of a function in C.
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
