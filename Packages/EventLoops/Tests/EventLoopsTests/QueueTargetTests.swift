import Dispatch
import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct QueueTargetTests {
        /// A target, and how to hold it up and let it go again.
        enum Place: CaseIterable, Sendable { case queue, loop }

        private static let queue = DispatchQueue(label: "QueueTargetTests")

        private func target(_ place: Place) -> any DeliveryTarget {
            place == .queue ? .queue(QueueTargetTests.queue) : .loop(.shared)
        }

        private func hop(_ place: Place, _ body: @escaping @Sendable () -> Void) {
            if place == .queue { QueueTargetTests.queue.async(execute: body) } else { EventLoop.shared.execute(body) }
        }

        /// Runs `body` on the target and returns when what it signalled there has been delivered.
        private func onTarget(_ place: Place, _ body: @escaping @Sendable () -> Void) async {
            await withCheckedContinuation { continuation in
                hop(place) {
                    body()
                    hop(place) { continuation.resume() }
                }
            }
        }

        @Test(arguments: Place.allCases) func ringsBeforeTheCallAreAnsweredTogether(place: Place) async {
            let count = Counter()
            let signal = target(place).makeSignal { count.add() }
            await onTarget(place) {
                for _ in 0..<5 { signal.signal() }
                if count.value != 0 { Issue.record("performed inside signal()") }
            }
            #expect(count.value == 1)
            await onTarget(place) { signal.signal() }
            #expect(count.value == 2)
            signal.cancel()
        }

        @Test(arguments: Place.allCases) func aRingDuringTheCallIsAnsweredByAnother(place: Place) async {
            let count = Counter()
            let own = Locked<(any DeliverySignal)?>(nil)
            let signal = target(place).makeSignal {
                count.add()
                if count.value < 3 { own.withLock { $0 }?.signal() }
            }
            own.withLock { $0 = signal }
            signal.signal()
            await until { count.value == 3 }
            own.withLock { $0 = nil }
            signal.cancel()
        }

        @Test(arguments: Place.allCases) func noneComesAfterCancelling(place: Place) async {
            let count = Counter()
            let signal = target(place).makeSignal { count.add() }
            await onTarget(place) {
                signal.signal()
                signal.cancel()
                signal.signal()
            }
            #expect(count.value == 0)
        }

        @Test(arguments: Place.allCases) func cancellingLetsGoOfWhatWasToBePerformed(place: Place) {
            final class Client: Sendable { let signal = Locked<(any DeliverySignal)?>(nil) }
            weak var weakly: Client?
            do {
                let client = Client()
                weakly = client
                let signal = target(place).makeSignal { _ = client }
                client.signal.withLock { $0 = signal }  // a cycle, as clients have it
                signal.cancel()
            }
            #expect(weakly == nil)
        }

        @Test(arguments: Place.allCases) func noRingOfAnyThreadIsLost(place: Place) async {
            let made = Counter()
            let seen = Counter()
            let signal = target(place).makeSignal { while seen.value < made.value { seen.add() } }
            await withTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        await onThread {
                            for _ in 0..<5000 {
                                made.add()
                                signal.signal()
                            }
                        }
                    }
                }
            }
            await until { seen.value == 15_000 }
            signal.cancel()
        }

        @Test func knowsTheSamePlaceAgain() {
            let other = EventLoop.forTest("other")
            defer { other.shutdown() }
            let queue = QueueTarget(QueueTargetTests.queue)
            #expect(queue.isSame(as: .queue(QueueTargetTests.queue)))
            #expect(!queue.isSame(as: .queue(.main)) && !queue.isSame(as: .loop(.shared)))
            #expect(LoopTarget().isSame(as: .loop(.shared)))
            #expect(!LoopTarget().isSame(as: .loop(other)) && !LoopTarget().isSame(as: queue))
        }
    }
}
