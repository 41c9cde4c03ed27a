internal import EventLoops

/// Has a feed's news told at once, on whatever thread they come: for who only passes them on.
struct DirectTarget: DeliveryTarget {
    private final class Signal: DeliverySignal {
        private let perform: Locked<(@Sendable () -> Void)?>

        init(_ perform: @escaping @Sendable () -> Void) {
            self.perform = Locked(perform)
        }

        func signal() {
            perform.withLock { $0 }?()
        }

        func cancel() {
            let perform = perform.withLock { $0.take() }
            withExtendedLifetime(perform) {}  // let go of after the lock
        }
    }

    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        Signal(perform)
    }

    func isSame(as other: any DeliveryTarget) -> Bool {
        other is DirectTarget
    }
}
