import Foundation
import Glibc
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct EventLoopTests {
        @Test func runsSubmittedBodiesOnItsThread() async {
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

        @Test func lazyBodiesRunWithoutOtherWork() async {
            for loop in [EventLoop.shared, .forTest("lazy")] {
                for _ in 0..<3 {
                    await withCheckedContinuation { continuation in
                        loop.executeDeferred {
                            #expect(loop.isCurrent)
                            loop.executeDeferred { continuation.resume() }
                        }
                    }
                }
                loop.shutdown()
            }
        }

        /// The timerfd is set for the first timer, or earlier for a lazy body, which does not delay the timer.
        @Test func lazyBodiesAndTimersShareTheAlarm() async {
            let loop = EventLoop.forTest("alarm")
            defer { loop.shutdown() }
            let far = loop.schedule(at: .now + .seconds(3600)) {}
            await turns(of: loop)
            for milliseconds in [0, 1, 20] {
                let start = Moment.now
                let lazyTime = Locked<Moment?>(nil)
                let time = await withCheckedContinuation { continuation in
                    loop.schedule(at: start + .milliseconds(milliseconds)) {
                        continuation.resume(returning: Moment.now)
                    }
                    loop.executeDeferred { lazyTime.withLock { $0 = .now } }
                }
                #expect(time >= start + .milliseconds(milliseconds), "never early")
                await until { lazyTime.withLock { $0 != nil } }
            }
            far.cancel()
        }

        /// Deadlines count while the machine sleeps: the kernel's timer has the clock of ``Moment``, and the deadline itself.
        @Test func theAlarmHasTheClockOfMoments() async throws {
            let loop = EventLoop.forTest("boottime")
            defer { loop.shutdown() }
            let timer = loop.schedule(at: .now + .seconds(7200)) {}
            defer { timer.cancel() }
            await turns(of: loop)
            let path = "/proc/self/fdinfo/\(loop.epoll.timerDescriptor)"
            func lines() -> [Substring] {
                ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
            }
            await until { lines().contains { $0.hasPrefix("it_value: (7") } }
            #expect(lines().contains("clockid: \(CLOCK_BOOTTIME)") && lines().contains("settime flags: 01"))
        }

        /// A thread that blocks looks at the clock once a second, because the time-out of poll(2) stops while the machine sleeps.
        @Test func blockedThreadsLookAtTheClock() {
            #expect(pollTimeout(until: nil) == -1)
            #expect(pollTimeout(until: .now - .seconds(1)) == 0)
            #expect(pollTimeout(until: .now + .seconds(3600)) == 1000)
            #expect((1...2).contains(pollTimeout(until: .now + .microseconds(1500))))
        }

        /// The process has too few descriptors for a loop, at each of its three calls: the loop runs what needs none, and takes its
        /// descriptors later.
        @Test(arguments: 0...2) func aLoopBeginsWithoutDescriptors(available: Int) async {
            await #expect(processExitsWith: .success) { [available] in
                // Nothing suspends here, and no issue is recorded: the runtime needs descriptors, too.
                var pipes: [CInt] = [0, 0]
                guard pipe(&pipes) == 0, let table = DescriptorTable() else { exit(2) }
                let before = try descriptorCount()
                table.limit(to: available)
                let loop = EventLoop(name: "poor")
                let point = WaitPoint(descriptor: pipes[0], ownership: .borrowed, loop: loop)
                let watcher = CountingWatcher()
                if point.watch(.reader, for: .readable, with: watcher) != .failed(EMFILE) { exit(3) }
                let order = Record<Int>()
                loop.schedule(at: .now + .milliseconds(30)) { order.append(2) }
                loop.execute { order.append(0) }
                loop.executeDeferred { order.append(1) }
                while order.values.count < 3 { sched_yield() }
                if order.values.filter({ $0 < 2 }) != [0, 1] { exit(4) }  // on a slow machine, the timer may be first
                table.restore()
                var wake: Wake? = .failed(EMFILE)
                while wake == .failed(EMFILE) || wake == .ready {
                    sched_yield()
                    wake = point.watch(.reader, for: .readable, with: watcher)
                }
                if wake != nil { exit(5) }
                Glibc.write(pipes[1], "x", 1)
                while watcher.count == 0 { sched_yield() }
                point.close()
                loop.shutdown()
                while !loop.hasEnded { sched_yield() }
                // The runtime may have opened some, too.
                for _ in 0..<100 {
                    table.limit(to: available)
                    if EpollSet().open() != EMFILE { exit(6) }
                    table.restore()
                }
                if try descriptorCount() >= before + 100 { exit(7) }
            }
        }

        @Test func lazyBodiesRunWithOthers() async {
            let loop = EventLoop.forTest("lazy")
            let order = Record<Int>()
            for number in 0..<100 { loop.executeDeferred { order.append(number) } }
            await turns(1, of: loop)
            #expect(order.values == Array(0..<100))
            loop.executeDeferred { order.append(100) }
            loop.shutdown()  // the loop ends after the body
            await until { loop.hasEnded }
            loop.executeDeferred { order.append(101) }
            await turns(1, of: .shared)
            #expect(order.values == Array(0...101))
        }

        @Test func executeKeepsTheOrderAndNeverRunsABodyAtOnce() async {
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

        @Test func anyThreadMaySubmit() async {
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

        @Test func timersFireInOrderAndNeverEarly() async {
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

        @Test func aCancelledTimerDoesNotFireAndReleasesItsBody() async {
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

        /// The first of two timers that are due in one turn cancels the second.
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

        /// The body holds an object whose deinit cancels the same timer: that must not happen under the lock.
        @Test(.timeLimit(.minutes(5))) func cancellingMayReleaseAnObjectThatCancelsAgain() {
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

        /// The loop cancels a timer of another thread before it has taken it from the inbox: it must not stay until its deadline.
        @Test func aTimerCancelledBeforeTheLoopSawItDoesNotStay() async {
            let loop = EventLoop.forTest("cancel")
            defer { loop.shutdown() }
            let isRunning = Flag()
            let isMade = Flag()
            let made = Locked<LoopTimer?>(nil)
            loop.execute {
                isRunning.set()
                _ = isMade.wait()
                made.withLock { $0 }?.cancel()
            }
            await until { isRunning.isSet }
            let timer = loop.schedule(at: .now + .seconds(86400)) {}
            made.withLock { $0 = timer }
            isMade.set()
            await turns(of: loop)
            let count = await withCheckedContinuation { continuation in
                loop.execute { continuation.resume(returning: loop.timerCount) }
            }
            #expect(count == 0)
        }

        /// A timer that always schedules itself again for the past must not stop the loop.
        @Test(.timeLimit(.minutes(5))) func aTimerThatIsAlwaysDueDoesNotStopTheLoop() async {
            let loop = EventLoop.forTest("due")
            defer { loop.shutdown() }
            let isDone = Flag()
            @Sendable func again() {
                if !isDone.isSet { loop.schedule(at: .now - .seconds(1)) { again() } }
            }
            again()
            await turns(10, of: loop)
            isDone.set()
        }

        @Test(.timeLimit(.minutes(5))) func tasksThatAlwaysYieldDoNotStarveIO() async throws {
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
            #expect(loop.onSlowTurn == nil, "a library prints nothing unasked")
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

        @Test func signalsAreBlockedOnItsThread() async {
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

extension EventLoopsTests {
    @Suite struct TimerQueueTests {
        private func timer(_ milliseconds: Int, from start: Moment) -> LoopTimer {
            LoopTimer(deadline: start + .milliseconds(milliseconds), removal: { _ in }) {}
        }

        @Test func returnsTimersInTheOrderOfTheirDeadlines() {
            let start = Moment.now
            var queue = TimerQueue()
            for milliseconds in [5, 1, 9, 3, 3, 7, 0] { queue.insert(timer(milliseconds, from: start)) }
            var order: [Moment] = []
            while let due = queue.popDue(now: start + .milliseconds(7)) { order.append(due.deadline) }
            #expect(order == [0, 1, 3, 3, 5, 7].map { start + .milliseconds($0) })
            #expect(queue.nextDeadline == start + .milliseconds(9))
        }

        @Test func removesFromAnywhereAndKeepsTheOrder() {
            let start = Moment.now
            var random = SystemRandomNumberGenerator()
            for _ in 0..<200 {
                var queue = TimerQueue()
                var timers = (0..<40).map { _ in timer(Int.random(in: 0..<100, using: &random), from: start) }
                timers.forEach { queue.insert($0) }
                for _ in 0..<20 {
                    let removed = timers.remove(at: Int.random(in: 0..<timers.count, using: &random))
                    queue.remove(removed)
                    queue.remove(removed)  // a second time is harmless
                }
                var order: [Moment] = []
                while let due = queue.popDue(now: start + .seconds(1)) { order.append(due.deadline) }
                #expect(order == timers.map(\.deadline).sorted())
                #expect(queue.isEmpty)
            }
        }
    }
}

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

        /// A callback on the loop's thread is isolated to the actor.
        @Test func aCallbackOnTheLoopMayAssumeIsolation() async {
            let counter = LoopCounter(.shared)
            let count = await withCheckedContinuation { continuation in
                EventLoop.shared.execute { continuation.resume(returning: counter.assumeIsolated { $0.add() }) }
            }
            #expect(count == 1)
        }

        /// A task that prefers the loop and an actor on it alternate on one thread.
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

/// An actor whose executor is a loop.
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

extension EventLoopsTests {
    @Suite struct NetworkExecutorTests {
        private struct Refusal: Error, Equatable { let number: Int }

        @Test func runsOnTheLoopAndReturns() async {
            #expect(await withNetworkExecutor { EventLoop.shared.isCurrent })
            #expect(!EventLoop.shared.isCurrent)
        }

        @MainActor @Test func runsOnTheLoopFromTheMainActor() async {
            let isOnLoop = await withNetworkExecutor {
                await Task.yield()
                return EventLoop.shared.isCurrent
            }
            #expect(isOnLoop)
            MainActor.assertIsolated()
        }

        @Test func runsOnAPrivateLoop() async {
            let loop = EventLoop.forTest("private")
            defer { loop.shutdown() }
            #expect(await withNetworkExecutor(loop) { loop.isCurrent && !EventLoop.shared.isCurrent })
        }

        @Test func childTasksStayOnTheLoop() async {
            let stayed = await withNetworkExecutor {
                async let first = EventLoop.shared.isCurrent
                let second = await withTaskGroup { group in
                    group.addTask { EventLoop.shared.isCurrent }
                    return await group.next()
                }
                return await [first, second == true]
            }
            #expect(stayed == [true, true])
        }

        @Test func throwsTheErrorOfTheBody() async {
            do throws(Refusal) {
                try await withNetworkExecutor { () async throws(Refusal) in throw Refusal(number: 4) }
                Issue.record("did not throw")
            } catch {
                #expect(error.number == 4)  // typed: a Refusal, without a cast
            }
        }

        @Test func cancellationReachesTheBody() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            let task = Task { await withNetworkExecutor { await point.readByte() } }
            await until { point.isReaderParked }
            task.cancel()
            #expect(await task.value == .woken(.cancelled))
            point.close()
        }
    }
}

extension EventLoopsTests {
    @Suite struct LoopLatenessTests {
        private let start = Moment.now

        private func moments(_ milliseconds: [Int]) -> [Moment] {
            milliseconds.map { start + .milliseconds($0) }
        }

        @Test(arguments: [
            // Per turn: when timers were due and when the loop fired them. Then the worst lateness, and the number of timers.
            ([(due: [5], now: 5)], 0, 1),
            ([(due: [5], now: 6), (due: [7], now: 7)], 1, 2),
            ([(due: [9, 2, 4], now: 10)], 8, 3),
            ([(due: [0], now: 40), (due: [50, 60], now: 75), (due: [80], now: 81)], 40, 4),
            ([(due: [], now: 90)], 0, 0),
        ])
        func theWorstLatenessIsThatOfTheMostDelayedTimer(turns: [(due: [Int], now: Int)], worst: Int, count: Int) {
            var lateness = LoopLateness()
            for turn in turns {
                lateness.noteTimers(due: moments(turn.due), at: start + .milliseconds(turn.now))
            }
            #expect(lateness.worst == .milliseconds(worst))
            #expect(lateness.timerCount == count)
            #expect(lateness.longestTurn == nil)
        }

        @Test func theLongestTurnIsKept() {
            var lateness = LoopLateness()
            for milliseconds in [3, 120, 7] { lateness.noteTurn(lasting: .milliseconds(milliseconds)) }
            #expect(lateness.longestTurn == .milliseconds(120))
            #expect(lateness.timerCount == 0)
        }

        /// A job computes on the loop's thread until 30 ms after a timer's deadline: the loop is at least that late.
        @Test func aJobThatComputesMakesTimersLate() async {
            let loop = EventLoop.forTest("late")
            defer { loop.shutdown() }
            loop.onSlowTurn = { _ in }
            await withCheckedContinuation { continuation in
                loop.execute {
                    let deadline = Moment.now + .milliseconds(1)
                    loop.schedule(at: deadline) { continuation.resume() }
                    while Moment.now < deadline + .milliseconds(30) {}
                }
            }
            await turns(of: loop)
            let lateness = loop.resetLateness()
            #expect(lateness.worst >= .milliseconds(30))
            #expect(lateness.timerCount == 1)
            #expect(lateness.longestTurn ?? .zero >= .milliseconds(30))
            #expect(loop.lateness.timerCount == 0 && loop.lateness.worst == .zero)
        }

        /// Its deadline was an hour ago, but the loop has not delayed it by an hour.
        @Test func aTimerScheduledForThePastIsDueWhenScheduled() async {
            let loop = EventLoop.forTest("past")
            defer { loop.shutdown() }
            await withCheckedContinuation { continuation in
                loop.schedule(at: .now - .seconds(3600)) { continuation.resume() }
            }
            #expect(loop.lateness.timerCount == 1)
            #expect(loop.lateness.worst < .seconds(3600))
        }
    }
}
