import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct LoopSerialExecutorTests {
        @Test func actorsRunOnTheLoopsThread() async {
            let loop = EventLoop.forTest("actor")
            defer { loop.shutdown() }
            let counter = LoopCounter(loop)
            await withTaskGroup { group in
                for _ in 0..<4 { group.addTask { for _ in 0..<500 { _ = await counter.add() } } }
            }
            #expect(await counter.add() == 2001)
            #expect(await counter.isOnLoop())
        }

        /// A callback on the loop's thread is inside the actor as far as isolation goes.
        @Test func aCallbackOnTheLoopMayAssumeIsolation() async {
            let counter = LoopCounter(.shared)
            let count = await withCheckedContinuation { continuation in
                EventLoop.shared.execute { continuation.resume(returning: counter.assumeIsolated { $0.add() }) }
            }
            #expect(count == 1)
        }

        /// A task that prefers the loop and an actor on it take turns on one thread.
        @Test func tasksAndActorsShareTheThread() async {
            let counter = LoopCounter(.shared)
            let stayed = await withNetworkExecutor {
                var stayed = EventLoop.shared.isCurrent
                for _ in 0..<100 {
                    _ = await counter.addTwice()
                    stayed = stayed && EventLoop.shared.isCurrent
                }
                return stayed
            }
            #expect(stayed)
            #expect(await counter.add() == 201)
        }
    }
}

/// An actor that lives on a loop.
actor LoopCounter {
    nonisolated let loop: EventLoop
    private var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serial.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func add() -> Int {
        count += 1
        return assumeIsolated { $0.count }
    }

    func addTwice() async -> Int {
        await Task.yield()
        count += 1
        await Task.yield()
        return add()
    }

    func isOnLoop() -> Bool { loop.isCurrent }
}
