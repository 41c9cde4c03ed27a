internal import EventLoops
internal import Synchronization
internal import SystemConfigurationC
internal import SystemConfigurationC.Runtime

/// A dispatch queue of a program in C.
struct DispatchQueueTarget: DeliveryTarget {
    /// The queue's retained pointer.
    private final class Queue: @unchecked Sendable {
        // Any thread may use a dispatch queue.
        let pointer: UnsafeMutableRawPointer

        init(_ pointer: UnsafeMutableRawPointer) {
            self.pointer = pointer
            scn_queue_retain(pointer)
        }

        deinit { scn_queue_release(pointer) }
    }

    private let queue: Queue

    init(_ queue: UnsafeMutableRawPointer) { self.queue = Queue(queue) }

    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal { Signal(queue, perform) }

    func isSame(as other: any DeliveryTarget) -> Bool {
        (other as? DispatchQueueTarget)?.queue.pointer == queue.pointer
    }

    /// A signal, of which at most one call is pending.
    private final class Signal: DeliverySignal {
        private struct State {
            var perform: (@Sendable () -> Void)?
            var isPending = false
        }

        private let queue: Queue
        private let state: Locked<State>

        init(_ queue: Queue, _ perform: @escaping @Sendable () -> Void) {
            self.queue = queue
            state = Locked(State(perform: perform))
        }

        func signal() {
            let isFirst = state.withLock { state in
                defer { state.isPending = true }
                return !state.isPending
            }
            guard isFirst else { return }
            scn_queue_run(queue.pointer, Unmanaged.passRetained(self).toOpaque()) { context in
                Unmanaged<Signal>.fromOpaque(context).takeRetainedValue().run()
            }
        }

        private func run() {
            let perform = state.withLock { state in
                state.isPending = false
                return state.perform
            }
            perform?()
        }

        func cancel() {
            let perform = state.withLock { $0.perform.take() }
            withExtendedLifetime(perform) {}  // released after the lock
        }
    }
}
