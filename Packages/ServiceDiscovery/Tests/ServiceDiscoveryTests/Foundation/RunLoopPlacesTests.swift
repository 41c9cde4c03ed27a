import EventLoops
import Foundation
import Testing

@testable import ServiceDiscoveryFoundation

/// The invariants of ``RunLoopPlaces``, with loops that run when the test says so.
@Suite struct RunLoopPlacesTests {
    /// A loop of the test.
    private final class Loop: DeliveryTarget {
        private final class Signal: DeliverySignal {
            private let perform: @Sendable () -> Void
            private let loop: Loop
            private let isCancelled = Locked(false)

            init(_ perform: @escaping @Sendable () -> Void, loop: Loop) {
                (self.perform, self.loop) = (perform, loop)
            }

            func signal() {
                loop.rung.withLock { $0.append(self) }
            }

            func cancel() {
                isCancelled.withLock { $0 = true }
            }

            func run() {
                if !isCancelled.withLock({ $0 }) { perform() }
            }
        }

        private let rung = Locked<[Signal]>([])

        func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
            Signal(perform, loop: self)
        }

        func isSame(as other: any DeliveryTarget) -> Bool {
            self === other as? Loop
        }

        /// Performs what was signalled; the number of signals.
        @discardableResult
        func run() -> Int {
            let signals = rung.withLock { rung in
                defer { rung = [] }
                return rung
            }
            for signal in signals { signal.run() }
            return signals.count
        }
    }

    /// An object with a queue of things to tell.
    private final class Teller: Sendable {
        let places = RunLoopPlaces()
        private let queue = Locked<[Int]>([])
        private let told = Locked<[Int]>([])
        private let meanwhile = Locked<[Int: @Sendable () -> Void]>([:])

        init() {
            places.onDelivery { [weak self] in self?.step() ?? .idle }
        }

        var calls: [Int] { told.withLock { $0 } }

        func post(_ numbers: Int...) {
            post(numbers)
        }

        /// Posts all of them with one ring.
        func post(_ numbers: [Int]) {
            queue.withLock { $0 += numbers }
            places.ring()
        }

        /// What happens while `number` is told; -1 for while it is found out that there is nothing to tell.
        func during(_ number: Int, _ body: @escaping @Sendable () -> Void) {
            meanwhile.withLock { $0[number] = body }
        }

        private func step() -> RunLoopPlaces.Step {
            let number = queue.withLock { $0.isEmpty ? -1 : $0.removeFirst() }
            if number >= 0 { told.withLock { $0.append(number) } }
            meanwhile.withLock { $0.removeValue(forKey: number) }?()
            return number < 0 ? .idle : .told
        }
    }

    /// Runs on another thread, and waits for its end.
    private static func elsewhere(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            done.signal()
        }
        done.wait()
    }

    /// The other thread's loop runs in the middle of a call: it leaves the rest to the first.
    @Test func oneThreadTellsAtATime() {
        let (teller, one, other) = (Teller(), Loop(), Loop())
        for loop in [one, other] { teller.places.add(loop) }
        let inside = Locked<[Int]>([])
        teller.during(1) {
            Self.elsewhere {
                teller.post(3)
                other.run()
            }
            inside.withLock { $0 = teller.calls }
        }
        teller.post(1, 2)
        one.run()
        #expect(inside.withLock { $0 } == [1])
        #expect(teller.calls == [1, 2, 3])
    }

    /// The other thread comes when the first has just found nothing more to tell.
    @Test func nothingIsLeftBehind() {
        let (teller, one, other) = (Teller(), Loop(), Loop())
        for loop in [one, other] { teller.places.add(loop) }
        teller.during(-1) {
            Self.elsewhere {
                teller.post(2)
                other.run()
            }
        }
        teller.post(1)
        one.run()
        #expect(teller.calls == [1, 2])
    }

    /// Something comes when the object has just been found idle: the loops do not let go of it.
    @Test func whatComesWhileItIsFoundIdleIsTold() {
        let (teller, loop) = (Teller(), Loop())
        teller.places.add(loop)
        teller.during(-1) { teller.post(2) }
        teller.post(1)
        loop.run()
        #expect(teller.calls == [1, 2])
        // And again, once it is at rest.
        teller.post(3)
        loop.run()
        #expect(teller.calls == [1, 2, 3])
    }

    /// A delegate that runs its loop in a call is told the rest there.
    @Test func aCallMayRunTheLoop() {
        let (teller, loop) = (Teller(), Loop())
        teller.places.add(loop)
        let inside = Locked<[Int]>([])
        teller.during(1) {
            teller.post(3)
            loop.run()
            inside.withLock { $0 = teller.calls }
        }
        teller.post(1, 2)
        loop.run()
        #expect(inside.withLock { $0 } == [1, 2, 3])
        #expect(teller.calls == [1, 2, 3])
    }

    /// A place that is removed in the middle of its delivery tells nothing more; the others do.
    @Test func aPlaceThatIsRemovedHandsOver() {
        let (teller, one, other) = (Teller(), Loop(), Loop())
        for loop in [one, other] { teller.places.add(loop) }
        teller.during(1) { Self.elsewhere { teller.places.remove(one) } }
        teller.post(1, 2)
        one.run()
        #expect(teller.calls == [1])
        other.run()
        #expect(teller.calls == [1, 2])
        // With no place left, what is to be told waits for one.
        teller.during(3) { teller.places.remove(other) }
        teller.post(3, 4)
        other.run()
        #expect(teller.calls == [1, 2, 3])
        teller.places.add(one)
        one.run()
        #expect(teller.calls == [1, 2, 3, 4])
    }

    /// A flood leaves the loop to others between its parts.
    @Test func oneTurnTellsABoundedNumberOfThings() {
        let (teller, loop) = (Teller(), Loop())
        teller.places.add(loop)
        let most = RunLoopPlaces.stepsPerTurn
        teller.post(Array(0..<(2 * most + 1)))
        for turn in 1...2 {
            #expect(loop.run() == 1)
            #expect(teller.calls.count == turn * most)
        }
        loop.run()
        #expect(teller.calls == Array(0..<(2 * most + 1)))
        #expect(loop.run() == 0)
    }
}
