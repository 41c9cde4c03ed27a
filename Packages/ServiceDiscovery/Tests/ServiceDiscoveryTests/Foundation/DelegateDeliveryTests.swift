import EventLoops
import Foundation
import Testing

@testable import ServiceDiscoveryFoundation

/// The invariants of ``DelegateDelivery``, with loops that run when the test calls them.
@Suite struct DelegateDeliveryTests {
    /// A loop that the test runs.
    private final class Loop: DeliveryTarget {
        private final class Signal: DeliverySignal {
            private let perform: @Sendable () -> Void
            private let loop: Loop
            private let isCancelled = Locked(false)

            init(_ perform: @escaping @Sendable () -> Void, loop: Loop) {
                (self.perform, self.loop) = (perform, loop)
            }

            func signal() {
                loop.notified.withLock { $0.append(self) }
            }

            func cancel() {
                isCancelled.withLock { $0 = true }
            }

            func run() {
                if !isCancelled.withLock({ $0 }) { perform() }
            }
        }

        private let notified = Locked<[Signal]>([])

        func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
            Signal(perform, loop: self)
        }

        func isSame(as other: any DeliveryTarget) -> Bool {
            self === other as? Loop
        }

        /// Performs the signalled handlers; returns their number.
        @discardableResult
        func run() -> Int {
            let signals = notified.withLock { notified in
                defer { notified = [] }
                return notified
            }
            for signal in signals { signal.run() }
            return signals.count
        }
    }

    /// An object with a queue of events.
    private final class EventSource: Sendable {
        let delivery = DelegateDelivery()
        private let queue = Locked<[Int]>([])
        private let delivered = Locked<[Int]>([])
        private let meanwhile = Locked<[Int: @Sendable () -> Void]>([:])

        init() {
            delivery.onDelivery { [weak self] in self?.step() ?? .idle }
        }

        var calls: [Int] { delivered.withLock { $0 } }

        func post(_ numbers: Int...) {
            post(numbers)
        }

        /// Adds all events with one notification.
        func post(_ numbers: [Int]) {
            queue.withLock { $0 += numbers }
            delivery.notify()
        }

        /// Calls `body` while `number` is delivered; -1 stands for a step that finds no event.
        func during(_ number: Int, _ body: @escaping @Sendable () -> Void) {
            meanwhile.withLock { $0[number] = body }
        }

        private func step() -> DelegateDelivery.Step {
            let number = queue.withLock { $0.isEmpty ? -1 : $0.removeFirst() }
            if number >= 0 { delivered.withLock { $0.append(number) } }
            meanwhile.withLock { $0.removeValue(forKey: number) }?()
            return number < 0 ? .idle : .delivered
        }
    }

    /// Runs `body` on another thread, and waits for its end.
    private static func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            done.signal()
        }
        done.wait()
    }

    /// The other thread's loop runs during a call: it leaves the rest to the first thread.
    @Test func oneThreadDeliversAtATime() {
        let (source, one, other) = (EventSource(), Loop(), Loop())
        for loop in [one, other] { source.delivery.add(loop) }
        let inside = Locked<[Int]>([])
        source.during(1) {
            Self.onAnotherThread {
                source.post(3)
                other.run()
            }
            inside.withLock { $0 = source.calls }
        }
        source.post(1, 2)
        one.run()
        #expect(inside.withLock { $0 } == [1])
        #expect(source.calls == [1, 2, 3])
    }

    /// The other thread arrives after the first has found no further event.
    @Test func noEventIsLost() {
        let (source, one, other) = (EventSource(), Loop(), Loop())
        for loop in [one, other] { source.delivery.add(loop) }
        source.during(-1) {
            Self.onAnotherThread {
                source.post(2)
                other.run()
            }
        }
        source.post(1)
        one.run()
        #expect(source.calls == [1, 2])
    }

    /// An event arrives after the object was found idle: the sources are not removed.
    @Test func eventsWhileBecomingIdleAreDelivered() {
        let (source, loop) = (EventSource(), Loop())
        source.delivery.add(loop)
        source.during(-1) { source.post(2) }
        source.post(1)
        loop.run()
        #expect(source.calls == [1, 2])
        // And again after it has become idle.
        source.post(3)
        loop.run()
        #expect(source.calls == [1, 2, 3])
    }

    /// A delegate that runs its loop in a call gets the rest there.
    @Test func aDelegateMayRunTheLoop() {
        let (source, loop) = (EventSource(), Loop())
        source.delivery.add(loop)
        let inside = Locked<[Int]>([])
        source.during(1) {
            source.post(3)
            loop.run()
            inside.withLock { $0 = source.calls }
        }
        source.post(1, 2)
        loop.run()
        #expect(inside.withLock { $0 } == [1, 2, 3])
        #expect(source.calls == [1, 2, 3])
    }

    /// A loop that is removed during its delivery gets no further events; the others do.
    @Test func aRemovedLoopHandsOver() {
        let (source, one, other) = (EventSource(), Loop(), Loop())
        for loop in [one, other] { source.delivery.add(loop) }
        source.during(1) { Self.onAnotherThread { source.delivery.remove(one) } }
        source.post(1, 2)
        one.run()
        #expect(source.calls == [1])
        other.run()
        #expect(source.calls == [1, 2])
        // Without any loop, events wait.
        source.during(3) { source.delivery.remove(other) }
        source.post(3, 4)
        other.run()
        #expect(source.calls == [1, 2, 3])
        source.delivery.add(one)
        one.run()
        #expect(source.calls == [1, 2, 3, 4])
    }

    /// A flood of events lets other work of the loop run in between.
    // Parity: SD-036
    @Test func oneTurnDeliversABoundedNumberOfEvents() {
        let (source, loop) = (EventSource(), Loop())
        source.delivery.add(loop)
        let most = DelegateDelivery.stepsPerTurn
        source.post(Array(0..<(2 * most + 1)))
        for turn in 1...2 {
            #expect(loop.run() == 1)
            #expect(source.calls.count == turn * most)
        }
        loop.run()
        #expect(source.calls == Array(0..<(2 * most + 1)))
        #expect(loop.run() == 0)
    }
}
