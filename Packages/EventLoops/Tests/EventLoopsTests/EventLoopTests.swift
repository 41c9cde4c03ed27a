import Foundation
import Glibc
import Synchronization
import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct EventLoopTests {
        @Test func runsWhatIsHandedInOnItsThread() async {
            let loop = EventLoop.forTest("a-name-longer-than-the-kernel-keeps")
            defer { loop.shutdown() }
            #expect(!loop.isCurrent && loop.name == "a-name-longer-than-the-kernel-keeps")
            for _ in 0..<2 {
                let (isCurrent, isShared, name) = await withCheckedContinuation { continuation in
                    loop.execute {
                        let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
                        continuation.resume(returning: (loop.isCurrent, EventLoop.shared.isCurrent, name))
                    }
                }
                #expect(isCurrent && !isShared && name == "a-name-longer-t\n")
            }
        }

        @Test func lazyBodiesRunThoughNothingElseHappens() async {
            for loop in [EventLoop.shared, .forTest("lazy")] {
                for _ in 0..<3 {
                    await withCheckedContinuation { continuation in
                        loop.executeLazily {
                            #expect(loop.isCurrent)
                            loop.executeLazily { continuation.resume() }
                        }
                    }
                }
                loop.shutdown()
            }
        }

        @Test func lazyBodiesComeAlongWithOthers() async {
            let loop = EventLoop.forTest("lazy")
            let order = Record<Int>()
            for number in 0..<100 { loop.executeLazily { order.append(number) } }
            await turns(1, of: loop)
            #expect(order.values == Array(0..<100))
            loop.executeLazily { order.append(100) }
            loop.shutdown()  // ends after it
            await until { loop.hasEnded }
            loop.executeLazily { order.append(101) }
            await turns(1, of: .shared)
            #expect(order.values == Array(0...101))
        }

        @Test func executeKeepsTheOrderAndNeverRunsInside() async {
            let order = Record<Int>()
            await withCheckedContinuation { continuation in
                EventLoop.shared.execute {
                    for number in 0..<100 { EventLoop.shared.execute { order.append(number) } }
                    order.append(-1)
                    EventLoop.shared.execute { continuation.resume() }
                }
            }
            #expect(order.values == [-1] + Array(0..<100))
        }

        @Test func everyThreadMayHandIn() async {
            let count = Counter()
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        await onThread {
                            for _ in 0..<5000 {
                                EventLoop.shared.execute { count.add() }
                                EventLoop.shared.schedule(at: .now) { count.add() }
                            }
                        }
                    }
                }
            }
            await until { count.value == 40_000 }
        }

        @Test func timersComeInOrderAndNeverEarly() async {
            let start = Moment.now
            let order = Record<Int>()
            let early = Counter()
            for milliseconds in [12, 3, 9, 0, 6, -5] {
                let deadline = start + .milliseconds(milliseconds)
                EventLoop.shared.schedule(at: deadline) {
                    if Moment.now < deadline { early.add() }
                    order.append(milliseconds)
                }
            }
            await until { order.values.count == 6 }
            #expect(order.values.filter { $0 > 0 } == [3, 6, 9, 12])
            #expect(early.value == 0)
        }

        @Test func aCancelledTimerDoesNotRunAndLetsGoOfItsBody() async {
            final class Held: Sendable {}
            let ran = Counter()
            weak var weakly: Held?
            do {
                let held = Held()
                weakly = held
                let timer = EventLoop.shared.schedule(at: .now + .seconds(86400)) {
                    _ = held
                    ran.add()
                }
                timer.cancel()
                timer.cancel()
            }
            #expect(weakly == nil && ran.value == 0)
        }

        /// The first of two that are due in one turn takes the second back.
        @Test func aTimerMayCancelAnotherThatIsDue() async {
            let ran = Counter()
            let second = Locked<LoopTimer?>(nil)
            await withCheckedContinuation { continuation in
                EventLoop.shared.execute {
                    let past = Moment.now - .seconds(1)
                    EventLoop.shared.schedule(at: past) { second.withLock { $0 }?.cancel() }
                    let timer = EventLoop.shared.schedule(at: past + .milliseconds(1)) { ran.add() }
                    second.withLock { $0 = timer }
                    EventLoop.shared.schedule(at: past + .milliseconds(2)) { continuation.resume() }
                }
            }
            #expect(ran.value == 0)
        }

        /// What the body holds cancels the same timer when it goes: not under the lock.
        @Test(.timeLimit(.minutes(1))) func cancellingMayReleaseWhoCancelsAgain() {
            final class Owner: Sendable {
                let timer = Locked<LoopTimer?>(nil)
                deinit { timer.withLock { $0 }?.cancel() }
            }
            let timer: LoopTimer
            do {
                let owner = Owner()
                timer = EventLoop.shared.schedule(at: .now + .seconds(86400)) { _ = owner }
                owner.timer.withLock { [timer] in $0 = timer }
            }
            timer.cancel()
        }

        /// Made by one thread, cancelled by the loop before it had looked: it must not stand there until its deadline.
        @Test func aTimerCancelledBeforeTheLoopLookedDoesNotStay() async {
            let loop = EventLoop.forTest("cancel")
            defer { loop.shutdown() }
            let isRunning = Gate()
            let isMade = Gate()
            let made = Locked<LoopTimer?>(nil)
            loop.execute {
                isRunning.open()
                _ = isMade.pass()
                made.withLock { $0 }?.cancel()
            }
            await until { isRunning.isOpen }
            let timer = loop.schedule(at: .now + .seconds(86400)) {}
            made.withLock { $0 = timer }
            isMade.open()
            await turns(of: loop)
            let count = await withCheckedContinuation { continuation in
                loop.execute { continuation.resume(returning: loop.timerCount) }
            }
            #expect(count == 0)
        }

        /// It sets itself again for a time gone by, for ever; the loop must come round all the same.
        @Test(.timeLimit(.minutes(1))) func aTimerThatIsAlwaysDueStarvesNobody() async {
            let loop = EventLoop.forTest("due")
            defer { loop.shutdown() }
            let isDone = Gate()
            @Sendable func again() {
                if !isDone.isOpen { loop.schedule(at: .now - .seconds(1)) { again() } }
            }
            again()
            await turns(10, of: loop)
            isDone.open()
        }

        @Test(.timeLimit(.minutes(1))) func tasksThatYieldToEachOtherForEverDoNotStarveIO() async throws {
            let loop = EventLoop.forTest("yielding")
            defer { loop.shutdown() }
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned, loop: loop)
            let yielding = (0..<2).map { _ in
                Task(executorPreference: loop) { while !Task.isCancelled { await Task.yield() } }
            }
            let reading = Task(executorPreference: loop) {
                var bytes = 0
                while case .byte = await point.readByte() { bytes += 1 }
                return bytes
            }
            for _ in 0..<200 {
                await until { point.isReaderParked }
                SocketPair.send(1, to: pair.far)
            }
            shutdown(pair.far, CInt(SHUT_WR))
            #expect(await reading.value == 200)
            for task in yielding { task.cancel() }
            for task in yielding { await task.value }
            point.close()
        }

        @Test func aTurnThatComputesIsReported() async {
            let loop = EventLoop.forTest("slow")
            defer { loop.shutdown() }
            let reported = Record<Duration>()
            loop.onSlowTurn = { time in reported.append(time) }
            #expect(loop.onSlowTurn != nil)
            await Task(executorPreference: loop) {
                let end = Moment.now + EventLoop.slowTurnLimit + .milliseconds(10)
                while Moment.now < end {}
            }.value
            await until { !reported.values.isEmpty }
            #expect(reported.values.allSatisfy { $0 > EventLoop.slowTurnLimit })
            loop.onSlowTurn = nil
            #expect(loop.onSlowTurn == nil)
        }

        @Test func leavesSignalsToOtherThreads() async {
            let (blocksTermination, blocksFaults) = await withCheckedContinuation { continuation in
                EventLoop.shared.execute {
                    var set = sigset_t()
                    pthread_sigmask(SIG_BLOCK, nil, &set)
                    continuation.resume(
                        returning: (sigismember(&set, SIGTERM) == 1, sigismember(&set, SIGSEGV) == 1))
                }
            }
            #expect(blocksTermination && !blocksFaults)
        }
    }
}
