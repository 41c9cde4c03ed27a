import Glibc
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    /// The shares of the jobs of a turn, and the timers between them.
    @Suite struct LoopTurnTests {
        @Test func aJobHasItsBudgetFromItsFirstQuestion() {
            let start = Moment.now
            var share = TurnShare()
            share.beginTurn()
            let first = [0, 999, 1000].map { share.measure(now: start + .microseconds($0)) }
            #expect(first == [false, false, true])
            share.beginJob()
            let second = [2000, 2999, 3000].map { share.measure(now: start + .microseconds($0)) }
            #expect(second == [false, false, true])
        }

        @Test func aTurnHasABudgetForAllItsJobs() {
            let start = Moment.now
            var share = TurnShare()
            share.beginTurn()
            let jobs = (0...13).map { job in
                share.beginJob()
                return share.measure(now: start + .microseconds(900 * job))
            }
            #expect(jobs == [Bool](repeating: false, count: 12) + [true, true])
            share.beginTurn()
            let isSpent = share.measure(now: start + .seconds(1))
            #expect(!isSpent)
        }

        @Test func aShareEndsOnTheLoopOnly() async {
            let loop = EventLoop.forTest("share")
            defer { loop.shutdown() }
            #expect(!loop.isShareSpent)
            await withCheckedContinuation { continuation in
                loop.execute {
                    #expect(!loop.isShareSpent)
                    while !loop.isShareSpent {}  // ends with the budget
                    continuation.resume()
                }
            }
        }

        /// A body resumes a task, which leaves work to another body: all before the loop looks at its descriptors again.
        @Test func anAnswerTakesOneTurn() async throws {
            let loop = EventLoop.forTest("answer")
            defer { loop.shutdown() }
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned, loop: loop)
            let order = Record<String>()
            let watcher = OrderedWatcher(order)
            #expect(point.watch(.reader, for: .readable, with: watcher) == nil)
            await withCheckedContinuation { continuation in
                loop.execute {
                    order.append("body")
                    _ = write(pair.far, [1], 1)
                    Task(executorPreference: loop) {
                        order.append("task")
                        loop.execute {
                            order.append("answer")
                            loop.execute { continuation.resume() }
                        }
                    }
                }
            }
            await turns(of: loop)
            #expect(order.values == ["body", "task", "answer", "descriptor"])
            point.close()
        }

        /// Notes the turn in which the loop has looked at a descriptor.
        private final class OrderedWatcher: Watcher, @unchecked Sendable {
            // Unchecked only as a subclass of Watcher.
            private let order: Record<String>

            init(_ order: Record<String>) { self.order = order }

            override func fire() { order.append("descriptor") }
        }

        /// However many jobs a turn has, a timer waits for one of them.
        @Test func timersFireBetweenTheJobsOfATurn() async {
            let loop = EventLoop.forTest("between")
            defer { loop.shutdown() }
            let order = Record<String>()
            await withCheckedContinuation { continuation in
                loop.execute {
                    // All of these are in the loop's next turn.
                    Task(executorPreference: loop) {
                        order.append("job")
                        loop.schedule(at: .now) { order.append("timer of the job") }
                    }
                    Task(executorPreference: loop) { order.append("next job") }
                    loop.execute {
                        order.append("body")
                        loop.schedule(at: .now) { order.append("timer of the body") }
                    }
                    loop.execute {
                        order.append("next body")
                        continuation.resume()
                    }
                }
            }
            #expect(
                order.values == ["job", "timer of the job", "next job", "body", "timer of the body", "next body"])
        }

        @Test func sleepingEndsAtItsMomentOrWhenCancelled() async throws {
            let loop = EventLoop.forTest("sleep")
            defer { loop.shutdown() }
            let end = Moment.now + .milliseconds(1)
            try await loop.sleep(until: end)
            #expect(Moment.now >= end)
            try await loop.sleep(for: .zero)
            let task = Task { try await loop.sleep(for: failureLimit) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
