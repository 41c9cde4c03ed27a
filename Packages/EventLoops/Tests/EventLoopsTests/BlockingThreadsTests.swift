import Foundation
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct BlockingThreadsTests {
        private let idleTime = Duration.seconds(600)

        @Test func aTaskAndAThreadGetTheValue() async throws {
            let threads = BlockingThreads(limit: 2)
            #expect(try await threads.value { 1 } == 1)
            #expect(await onThread { Result { () throws(WaitError) in try threads.value { 2 } } } == .success(2))
        }

        @Test func anIdleThreadIsUsedAgain() async throws {
            let threads = BlockingThreads(limit: 8, idleTime: idleTime)
            for _ in 0..<4 {
                _ = try await threads.value { 0 }
                await until { threads.idleCount == 1 }
            }
            #expect(threads.threadCount == 1)
        }

        /// What a call holds, such as a locked file, is released before the waiter has the result.
        @Test func aCallHoldsNothingAfterItsEnd() async throws {
            final class Token: Sendable {}
            let threads = BlockingThreads(limit: 1, idleTime: idleTime)
            for _ in 0..<100 {
                weak var released: Token?
                do {
                    let token = Token()
                    released = token
                    _ = try await threads.value { [token] in withExtendedLifetime(token) { 0 } }
                }
                #expect(released == nil)
            }
            // Also without a waiter: an idle thread keeps nothing of its last work.
            let isReleased = Flag()
            final class Held: Sendable {
                let flag: Flag
                init(_ flag: Flag) { self.flag = flag }
                deinit { flag.set() }
            }
            do {
                let held = Held(isReleased)
                threads.run(BlockingThreads.Work(perform: { withExtendedLifetime(held) {} }, refuse: { _ in }))
            }
            await until { isReleased.isSet }
            #expect(threads.threadCount == 1)
        }

        @Test func anIdleThreadExits() async throws {
            let threads = BlockingThreads(limit: 8, idleTime: .zero)
            _ = try await threads.value { 0 }
            await until { threads.threadCount == 0 }
            // Another one replaces it.
            #expect(try await threads.value { 1 } == 1)
        }

        @Test func theNumberOfThreadsIsLimited() async throws {
            let threads = BlockingThreads(limit: 2, idleTime: idleTime)
            let release = Flag()
            let running = Locked(0)
            let most = Locked(0)
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 {
                    group.addTask { @Sendable in
                        try await threads.value {
                            let count = running.withLock { running in
                                running += 1
                                return running
                            }
                            most.withLock { $0 = max($0, count) }
                            _ = release.wait()
                            running.withLock { $0 -= 1 }
                        }
                    }
                }
                await until { threads.queueCount == 4 && running.withLock { $0 } == 2 }
                release.set()
                try await group.waitForAll()
            }
            #expect(most.withLock { $0 } == 2)
            #expect(threads.threadCount <= 2)
        }

        @Test func queuedWorkIsWithdrawnIfItsWaitEnds() async throws {
            let threads = BlockingThreads(limit: 1, idleTime: idleTime)
            let release = Flag()
            let hasRun = Locked(false)
            let first = Task { try await threads.value { release.wait() } }
            await until { threads.threadCount == 1 && threads.queueCount == 0 }
            let second = Task { try await threads.value { hasRun.withLock { $0 = true } } }
            await until { threads.queueCount == 1 }
            second.cancel()
            await #expect(throws: WaitError.cancelled) { try await second.value }
            await #expect(throws: WaitError.timedOut) { try await threads.value(until: .now) { 0 } }
            #expect(threads.queueCount == 0)
            release.set()
            #expect(try await first.value)
            #expect(try await threads.value { hasRun.withLock { $0 } } == false)
        }

        @Test func aFullQueueRefuses() async throws {
            let threads = BlockingThreads(limit: 1, maximumQueueLength: 1, idleTime: idleTime)
            let release = Flag()
            let first = Task { try await threads.value { release.wait() } }
            await until { threads.threadCount == 1 && threads.queueCount == 0 }
            let second = Task { try await threads.value { 2 } }
            await until { threads.queueCount == 1 }
            await #expect(throws: WaitError.busy) { try await threads.value { 3 } }
            release.set()
            #expect(try await first.value)
            #expect(try await second.value == 2)
        }

        /// The calls of one part of a pool hang, and the other part still has threads.
        @Test func aPartLeavesThreadsToOthers() async throws {
            let pool = BlockingThreads(limit: 3, idleTime: idleTime)
            let devices = DeviceThreads(of: pool, limit: 2)
            let (one, two) = (Mounts.Device.number(1), Mounts.Device.server("two"))
            let release = Flag()
            let hung = (0..<5).map { _ in Task { try await devices.part(one).value { release.wait() } } }
            await until { devices.part(one).queueCount == 3 && devices.part(one).threadCount == 2 }
            #expect(try await devices.part(two).value { 2 } == 2)
            #expect(pool.threadCount == 3)
            release.set()
            for task in hung { #expect(try await task.value) }
            await until { devices.part(one).threadCount == 0 && devices.part(two).threadCount == 0 }
        }

        /// Several disks hang, with more calls than there are threads: the last threads go to disks that have none.
        @Test func theReserveIsForPartsWithoutAThread() async throws {
            let pool = BlockingThreads(limit: 6, reserve: 3, idleTime: idleTime)
            let devices = DeviceThreads(of: pool, limit: 4)
            let parts = (0..<4).map { devices.part(.number(UInt64($0))) }
            let release = Flag()
            let running = Locked([0, 0, 0, 0])
            let hang = { @Sendable (part: Int) in
                running.withLock { $0[part] += 1 }
                _ = release.wait()
            }
            let first = (0..<8).map { _ in Task { try await parts[0].value { hang(0) } } }
            await until { running.withLock { $0 } == [3, 0, 0, 0] }
            let second = (0..<8).map { _ in Task { try await parts[1].value { hang(1) } } }
            await until { running.withLock { $0 } == [3, 1, 0, 0] }
            // The others are served as if nothing hung.
            for number in 0..<20 { #expect(try await parts[2 + number % 2].value { number } == number) }
            #expect(running.withLock { $0 } == [3, 1, 0, 0])
            release.set()
            for task in first + second { try await task.value }
            #expect(running.withLock { $0 } == [8, 8, 0, 0])
            await until { pool.queueCount == 0 && pool.idleCount == pool.threadCount }
        }

        /// A file is closed on a thread if its owner ends on that of a loop, and at once otherwise.
        @Test(arguments: [false, true])
        func onlyOtherThreadsThanLoopsClose(_ isOnLoop: Bool) async throws {
            let threads = BlockingThreads(limit: 1, idleTime: idleTime)
            let release = Flag()
            let held = Task { try await threads.value { release.wait() } }
            await until { threads.threadCount == 1 && threads.queueCount == 0 }
            let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
            struct Owner {
                var file: FileDescriptor?
            }
            let owner = Locked(Owner(file: FileDescriptor(number, threads: threads)))
            let drop = { @Sendable in withExtendedLifetime(owner.withLock { $0.file.take() }) {} }
            if isOnLoop {
                // Any loop's thread, and not only that of the file's stream.
                let loop = EventLoop(name: "closing")
                await withCheckedContinuation { done in
                    loop.execute {
                        drop()
                        done.resume()
                    }
                }
                loop.shutdown()
                #expect(threads.queueCount == 1 && fcntl(number, F_GETFD) >= 0)
            } else {
                await onThread { drop() }
                #expect(threads.queueCount == 0)
            }
            release.set()
            #expect(try await held.value)
            await until { threads.queueCount == 0 }
        }

        /// A call that hangs keeps neither a loop nor a thread of tasks: a task goes on, and a caller outside of tasks waits for the call.
        @Test func aReleaseNeverKeepsATask() async throws {
            let threads = BlockingThreads(limit: 1, idleTime: idleTime)
            let (mayReturn, hasReturned) = (Flag(), Flag())
            await Task.detached {
                threads.release {
                    _ = mayReturn.wait()
                    hasReturned.set()
                }
            }.value
            #expect(!hasReturned.isSet)
            mayReturn.set()
            await until { hasReturned.isSet }
            let isAtOnce = await onThread {
                let thread = pthread_self()
                let caller = Locked<pthread_t?>(nil)
                threads.release { caller.withLock { $0 = pthread_self() } }
                return caller.withLock { $0 } == thread
            }
            #expect(isAtOnce)
        }

        /// A descriptor is neither lost nor closed on a loop if there is no thread: the next one closes it.
        @Test func aReleaseIsNeverRefused() async throws {
            let mayStart = Flag()
            let pool = BlockingThreads(limit: 1, maximumQueueLength: 4, idleTime: idleTime) { body in
                mayStart.isSet ? BlockingThreads.spawn(body) : EAGAIN
            }
            let isReleased = Flag()
            let released = Locked<Bool?>(nil)
            weak var kept: BlockingThreads?
            do {
                let part = BlockingThreads(partOf: pool, limit: 1, maximumQueueLength: 0)
                kept = part
                await withCheckedContinuation { done in
                    EventLoop.shared.execute {
                        for _ in 0..<3 {
                            part.release {
                                released.withLock { $0 = LoopThread.isCurrent }
                                isReleased.set()
                            }
                        }
                        done.resume()
                    }
                }
            }
            await until { kept?.threadCount == 0 && kept?.queueCount == 3 }
            mayStart.set()
            #expect(try await kept?.value { 1 } == 1)
            #expect(isReleased.isSet && released.withLock { $0 } == false)
            await until { kept == nil }
        }

        @Test func aPartWithdrawsAndRefuses() async throws {
            let pool = BlockingThreads(limit: 1, maximumQueueLength: 0, idleTime: idleTime)
            let part = BlockingThreads(partOf: pool, limit: 1, maximumQueueLength: 1)
            let release = Flag()
            let first = Task { try await part.value { release.wait() } }
            await until { part.threadCount == 1 && part.queueCount == 0 }
            let second = Task { try await part.value { 2 } }
            await until { part.queueCount == 1 }
            await #expect(throws: WaitError.busy) { try await part.value { 3 } }
            // The pool itself has no room either.
            await #expect(throws: WaitError.busy) {
                try await BlockingThreads(partOf: pool, limit: 1).value { 4 }
            }
            second.cancel()
            await #expect(throws: WaitError.cancelled) { try await second.value }
            #expect(part.queueCount == 0)
            release.set()
            #expect(try await first.value)
            // The part gives its thread back before the pool, which has no queue, may use it again.
            await until { part.threadCount == 0 && pool.idleCount == 1 }
            #expect(try await part.value { 5 } == 5)
        }

        /// A device has one part, as long as a caller or a call keeps it.
        @Test func onlyUnusedPartsAreDropped() async throws {
            let devices = DeviceThreads(of: BlockingThreads(limit: 1), limit: 1)
            let held = devices.part(.number(0))
            let release = Flag()
            let running = Task { try await devices.part(.number(1)).value { release.wait() } }
            await until { devices.count == 2 }
            for device in 2..<200 { _ = devices.part(.number(UInt64(device))) }
            #expect(devices.count == 2 && devices.part(.number(0)) === held)
            release.set()
            #expect(try await running.value)
            await until { devices.count == 1 }
        }

        @Test func withoutAThreadAllQueuedWorkIsRefused() async throws {
            let threads = BlockingThreads(limit: 1, maximumQueueLength: 4, idleTime: idleTime) { _ in EAGAIN }
            await #expect(throws: WaitError.failed(EAGAIN)) { try await threads.value { 1 } }
            #expect(threads.threadCount == 0)
            #expect(threads.queueCount == 0)
        }

        /// Two creations fail together: the second one's work must not wait for the first one's thread.
        @Test func workBehindAFailedCreationIsRefusedToo() async throws {
            let pool = Locked<BlockingThreads?>(nil)
            let refused = Locked<[String]>([])
            let work = { @Sendable (name: String) in
                BlockingThreads.Work {
                    Issue.record("there is no thread")
                } refuse: { refusal in
                    refused.withLock { $0.append("\(name): \(refusal)") }
                }
            }
            let isNested = Locked(false)
            let threads = BlockingThreads(limit: 1, maximumQueueLength: 4, idleTime: idleTime) { _ in
                let first = isNested.withLock { nested in
                    defer { nested = true }
                    return !nested
                }
                if first { pool.withLock { $0 }?.run(work("second")) }
                return EAGAIN
            }
            pool.withLock { $0 = threads }
            threads.run(work("first"))
            await until { refused.withLock { $0.count } == 2 }
            #expect(refused.withLock { $0 } == ["first: noThread(11)", "second: noThread(11)"])
            pool.withLock { $0 = nil }
        }

        /// The first work is withdrawn while its thread is being created. The second relies on that thread.
        @Test func workThatReliesOnTheThreadOfWithdrawnWorkIsRefusedToo() async {
            let pool = Locked<BlockingThreads?>(nil)
            let refusals = Locked<[BlockingThreads.Refusal]>([])
            let first = BlockingThreads.Work {
                Issue.record("there is no thread")
            } refuse: { _ in
                Issue.record("withdrawn work is refused")
            }
            let threads = BlockingThreads(limit: 1, maximumQueueLength: 4, idleTime: idleTime) { _ in
                let pool = pool.withLock { $0 }
                #expect(pool?.withdraw(first) == true)
                pool?.run(
                    BlockingThreads.Work {
                        Issue.record("there is no thread")
                    } refuse: { refusal in
                        refusals.withLock { $0.append(refusal) }
                    })
                return EAGAIN
            }
            pool.withLock { $0 = threads }
            threads.run(first)
            await until { refusals.withLock { $0 } == [.noThread(EAGAIN)] }
            #expect(threads.threadCount == 0)
            pool.withLock { $0 = nil }
        }

        @Test func theQueueLimitDoesNotCountTheWorkOfStartingThreads() async {
            let starting = Locked<[@Sendable () -> Void]>([])
            let performed = Locked<Set<Int>>([])
            let refused = Locked<[Int]>([])
            let threads = BlockingThreads(limit: 2, maximumQueueLength: 1, idleTime: .zero) { body in
                starting.withLock { $0.append(body) }
                return 0
            }
            for number in 0..<4 {
                threads.run(
                    BlockingThreads.Work {
                        performed.withLock { _ = $0.insert(number) }
                    } refuse: { refusal in
                        #expect(refusal == .queueIsFull)
                        refused.withLock { $0.append(number) }
                    })
            }
            await until { refused.withLock { $0 } == [3] }
            for body in starting.withLock({ $0 }) { #expect(BlockingThreads.spawn(body) == 0) }
            await until { performed.withLock { $0 } == [0, 1, 2] && threads.threadCount == 0 }
        }

        /// Work and the end of a thread's idle time race; whichever wins, the work runs.
        @Test func workThatArrivesAsTheIdleTimeEndsRuns() async throws {
            let threads = BlockingThreads(limit: 1, idleTime: .zero)
            for number in 0..<500 { #expect(try await threads.value { number } == number) }
        }
    }
}
