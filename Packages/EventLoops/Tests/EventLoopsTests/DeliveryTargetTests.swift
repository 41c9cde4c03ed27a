import Dispatch
import Glibc
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    /// The targets of this module: queues and an event loop.
    @Suite struct DeliveryTargetTests {
        enum Kind: CaseIterable, Sendable { case queue, cQueue, loop }

        private static let queue = DispatchQueue(label: "DeliveryTargetTests")

        /// A queue as a program in C makes it.
        private static let cQueue = CQueueTarget(makeCQueue())

        private static func makeCQueue() -> UnsafeMutableRawPointer {
            typealias Make = @convention(c) (UnsafePointer<CChar>?, UnsafeRawPointer?) -> UnsafeMutableRawPointer
            return unsafeBitCast(dlsym(nil, "dispatch_queue_create"), to: Make.self)("DeliveryTargetTests", nil)
        }

        private func target(_ kind: Kind) -> any DeliveryTarget {
            switch kind {
            case .queue: .queue(DeliveryTargetTests.queue)
            case .cQueue: DeliveryTargetTests.cQueue
            case .loop: .loop(.shared)
            }
        }

        private func hop(_ kind: Kind, _ body: @escaping @Sendable () -> Void) {
            switch kind {
            case .queue: DeliveryTargetTests.queue.async(execute: body)
            case .cQueue: DeliveryTargetTests.cQueue.makeSignal(body).signal()
            case .loop: EventLoop.shared.execute(body)
            }
        }

        @Test func targetsOfOneQueueAreTheSame() {
            let pointer = DeliveryTargetTests.makeCQueue()
            #expect(CQueueTarget(pointer).isSame(as: CQueueTarget(pointer)))
            #expect(!CQueueTarget(pointer).isSame(as: DeliveryTargetTests.cQueue))
            #expect(!CQueueTarget(pointer).isSame(as: target(.queue)))
        }

        /// Runs `body` on the target, and returns when the signals of `body` have been delivered.
        private func onTarget(_ kind: Kind, _ body: @escaping @Sendable () -> Void) async {
            await withCheckedContinuation { continuation in
                hop(kind) {
                    body()
                    hop(kind) { continuation.resume() }
                }
            }
        }

        @Test(arguments: Kind.allCases) func signalsBeforeTheCallAreCombined(kind: Kind) async {
            let count = Counter()
            let signal = target(kind).makeSignal { count.add() }
            await onTarget(kind) {
                for _ in 0..<5 { signal.signal() }
                if count.value != 0 { Issue.record("performed inside signal()") }
            }
            #expect(count.value == 1)
            await onTarget(kind) { signal.signal() }
            #expect(count.value == 2)
            signal.cancel()
        }

        @Test(arguments: Kind.allCases) func aSignalDuringTheCallCausesAnotherCall(kind: Kind) async {
            let count = Counter()
            let own = Locked<(any DeliverySignal)?>(nil)
            let signal = target(kind).makeSignal {
                count.add()
                if count.value < 3 { own.withLock { $0 }?.signal() }
            }
            own.withLock { $0 = signal }
            signal.signal()
            await until { count.value == 3 }
            own.withLock { $0 = nil }
            signal.cancel()
        }

        @Test func theStackDoesNotGrowWithTheNumberOfSignals() async {
            let positions = Locked<[UInt]>([])
            let direct = DirectTarget().makeSignal { positions.withLock { $0.append(stackPosition()) } }
            // On one thread, and from one caller.
            for _ in 0..<100 { direct.signal() }
            #expect(Set(positions.withLock { $0 }).count == 1)
            positions.withLock { $0 = [] }
            let posted = target(.loop).makeSignal { positions.withLock { $0.append(stackPosition()) } }
            for _ in 0..<100 { await onTarget(.loop) { posted.signal() } }
            #expect(positions.withLock { $0.count } == 100)
            #expect(Set(positions.withLock { $0 }).count == 1)
            direct.cancel()
            posted.cancel()
        }

        @Test(arguments: Kind.allCases) func noCallFollowsCancelling(kind: Kind) async {
            let count = Counter()
            let signal = target(kind).makeSignal { count.add() }
            await onTarget(kind) {
                signal.signal()
                signal.cancel()
                signal.signal()
            }
            #expect(count.value == 0)
        }

        @Test(arguments: Kind.allCases) func cancellingReleasesTheClosure(kind: Kind) {
            final class Client: Sendable { let signal = Locked<(any DeliverySignal)?>(nil) }
            weak var weakly: Client?
            do {
                let client = Client()
                weakly = client
                let signal = target(kind).makeSignal { _ = client }
                client.signal.withLock { $0 = signal }  // a cycle, as clients make it
                signal.cancel()
            }
            #expect(weakly == nil)
        }

        @Test(arguments: Kind.allCases) func noSignalOfAnyThreadIsLost(kind: Kind) async {
            let made = Counter()
            let seen = Counter()
            let signal = target(kind).makeSignal { while seen.value < made.value { seen.add() } }
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

        @Test func equalTargetsAreRecognized() {
            let other = EventLoop.forTest("other")
            defer { other.shutdown() }
            let queue = QueueTarget(DeliveryTargetTests.queue)
            #expect(queue.isSame(as: .queue(DeliveryTargetTests.queue)))
            #expect(!queue.isSame(as: .queue(.main)) && !queue.isSame(as: .loop(.shared)))
            #expect(LoopTarget().isSame(as: .loop(.shared)))
            #expect(!LoopTarget().isSame(as: .loop(other)) && !LoopTarget().isSame(as: queue))
        }

        /// A callback may take the lock of the code that signals.
        @Test func directCallsCanBeDelayed() {
            let order = Record<String>()
            let lock = Locked(0)
            let inner = DirectTarget().makeSignal { order.append("inner \(lock.withLock { $0 })") }
            let outer = DirectTarget().makeSignal { order.append("outer \(lock.withLock { $0 })") }
            let cancelled = DirectTarget().makeSignal { order.append("cancelled") }
            struct Failure: Error {}
            #expect(throws: Failure.self) {
                try DirectTarget.delayingCalls { () throws(Failure) in
                    lock.withLock { value in
                        outer.signal()
                        cancelled.signal()
                        DirectTarget.delayingCalls { inner.signal() }
                        value = 1
                    }
                    cancelled.cancel()
                    order.append("body")
                    throw Failure()
                }
            }
            #expect(order.values == ["body", "outer 1", "inner 1"])
            outer.signal()
            #expect(order.values.last == "outer 1" && order.values.count == 4)
        }

        @Test func lockedCodeDelaysDirectCalls() {
            let seen = Record<Int>()
            let lock = Locked(0)
            let signal = DirectTarget().makeSignal { seen.append(lock.withLock { $0 }) }
            let result = lock.withLockDelayingCalls { value in
                signal.signal()
                value = 1
                return seen.values.isEmpty
            }
            #expect(result && seen.values == [1])
        }
    }
}
