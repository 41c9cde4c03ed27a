import Foundation
import Glibc
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct LoopShutdownTests {
        private func threadCount(named name: String) -> Int {
            threadStates(named: name).count
        }

        /// The state of each thread with this name, as in `/proc/self/task/*/stat`: `S` for one that sleeps.
        private func threadStates(named name: String) -> [Substring] {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return tasks.compactMap { task in
                // Not with Foundation, which leaks its buffer if the thread ends during the read.
                let descriptor = open("/proc/self/task/\(task)/stat", O_RDONLY | O_CLOEXEC)
                defer { close(descriptor) }
                var bytes = [UInt8](repeating: 0, count: 64)
                let count = read(descriptor, &bytes, bytes.count)
                let words = String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: " ")
                return words.count > 2 && words[1] == "(\(name))" ? words[2] : nil
            }
        }

        @Test func endsTheThreadAndFreesItsDescriptors() async throws {
            let before = try await settledDescriptorCount()
            let loop = EventLoop.forTest("ends")
            await turns(of: loop)
            #expect(threadCount(named: "ends") == 1)
            #expect(try descriptorCount() == before + 3)
            loop.shutdown()
            loop.shutdown()
            await until { threadCount(named: "ends") == 0 }
            #expect(try descriptorCount() == before)
            #expect(!loop.isCurrent)
        }

        @Test func theLoopIsReleasedWithItsThread() async {
            weak var weakly: EventLoop?
            do {
                let loop = EventLoop(name: "goes")
                weakly = loop
                loop.shutdown()
            }
            await until { weakly == nil }
        }

        @Test func finishesThePendingWorkFirst() async throws {
            let loop = EventLoop.forTest("left")
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned, loop: loop)
            let reading = Task(executorPreference: loop) { await point.readByte() }
            await until { point.isReaderParked }
            let ran = Counter()
            let timer = loop.schedule(at: .now + .seconds(86400)) {}
            loop.schedule(at: .now + .milliseconds(2)) { ran.add() }
            loop.execute { ran.add() }
            loop.shutdown()
            await until { ran.value == 2 }
            timer.cancel()
            SocketPair.send(6, to: pair.far)
            #expect(await reading.value == .byte(6))
            #expect(threadCount(named: "left") == 1, "a descriptor is still watched")
            point.close()
            await until { threadCount(named: "left") == 0 }
        }

        /// The last point is closed on the loop's own thread, after which nothing wakes the loop.
        @Test func endsWhenItsOwnThreadClosesTheLastPoint() async throws {
            let loop = EventLoop.forTest("own")
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned, loop: loop)
            #expect(await point.readByte(until: .now) == .woken(.timedOut))
            loop.shutdown()
            await turns(of: loop)
            loop.execute { point.close() }
            await until { threadCount(named: "own") == 0 }
        }

        /// The loop sees the reservation of a registration that then fails: nothing else would wake it to end.
        @Test(.timeLimit(.minutes(5))) func checksAgainAfterAFailedRegistration() async {
            let loop = EventLoop.forTest("again")
            let isReserved = loop.epoll.reserve()
            #expect(isReserved)
            loop.shutdown()
            await turns(of: loop)
            await until { threadStates(named: "again") == ["S"] }
            #expect(!loop.hasEnded)
            loop.cancelReservation()
            await until { loop.hasEnded }
        }

        /// A thread has submitted work and is about to write to the eventfd, which must still be open then.
        @Test(.timeLimit(.minutes(5))) func endsAfterTheWriteThatIsDue() async {
            let loop = EventLoop.forTest("write")
            await withCheckedContinuation { continuation in
                loop.execute {
                    loop.shutdown()
                    // At the end of this turn, and at the beginning of the next one, which has just taken the shutdown.
                    loop.execute {
                        loop.execute {
                            // Like a thread that has left the lock.
                            loop.inbox.withLock { $0.isSignalled = true }
                            continuation.resume()
                        }
                    }
                }
            }
            await until { loop.hasEnded || threadStates(named: "write") == ["S"] }
            #expect(!loop.hasEnded)
            loop.epoll.wakeUp()
            await until { loop.hasEnded }
        }

        /// The numbers of the loop's descriptors belong to others now.
        @Test func workAfterTheEndWritesToNoDescriptor() async throws {
            let loop = EventLoop.forTest("gone")
            loop.shutdown()
            await until { loop.hasEnded }
            let pairs = try (0..<8).map { _ in try SocketPair() }
            for _ in 0..<3 { loop.execute {} }
            loop.executeDeferred {}
            for pair in pairs {
                #expect(SocketPair.tryRead(pair.near) == .nothing && SocketPair.tryRead(pair.far) == .nothing)
                close(pair.near)
            }
        }

        /// A set that is closed fails with the reason why: the process or the system has no descriptors left.
        @Test(arguments: [EMFILE, ENFILE, ENOMEM]) func aClosedSetSaysWhy(_ number: CInt) {
            let epoll = EpollSet()
            let failure = epoll.open {
                errno = number
                return -1
            }
            #expect(failure == number && !epoll.isOpen && epoll.add(0, for: WaitPoint()) == number)
        }

        /// A thread is about to write to the eventfd when the timer wakes the loop: the eventfd must stay open.
        @Test func theTimerDoesNotCountAsTheEvent() {
            let epoll = EpollSet()
            #expect(epoll.open() == nil)
            let state = LoopState()
            var inbox = LoopInbox()
            inbox.isSignalled = true
            inbox.setAlarm(.now + .milliseconds(1), of: epoll)
            state.alarm = inbox.alarm
            var wakeups = epoll.wait(milliseconds: -1).wakeups
            #expect(wakeups == .timer)
            state.take(&inbox, after: wakeups)
            #expect(inbox.isSignalled && inbox.alarm == nil && state.alarm == nil)
            epoll.wakeUp()
            wakeups = epoll.wait(milliseconds: -1).wakeups
            #expect(wakeups == .event)
            state.take(&inbox, after: wakeups)
            #expect(!inbox.isSignalled)
        }

        @Test func laterWorkRunsOnTheSharedLoop() async throws {
            let loop = EventLoop.forTest("later")
            await turns(of: loop)  // the thread has its name now
            loop.shutdown()
            await until { threadCount(named: "later") == 0 }
            let ran = Record<Bool>()
            loop.execute { ran.append(EventLoop.shared.isCurrent) }
            loop.schedule(at: .now) { ran.append(EventLoop.shared.isCurrent) }
            loop.schedule(at: .now + .seconds(86400)) {}.cancel()
            await until { ran.values.count == 2 }
            #expect(ran.values == [true, true])
            #expect(await Task(executorPreference: loop) { EventLoop.shared.isCurrent }.value)

            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned, loop: loop)
            #expect(await point.readByte() == .woken(.failed(ESHUTDOWN)))
            #expect(await onThread { point.blockForByte(until: .now) } == .woken(.timedOut))
            point.close()
        }

        @Test func itsActorsStayIsolated() async {
            let loop = EventLoop.forTest("actors")
            let counter = LoopCounter(loop)
            #expect(await counter.add() == 1)
            loop.shutdown()
            await until { threadCount(named: "actors") == 0 }
            #expect(await counter.add() == 2)
            #expect(await counter.addTwice() == 4)
        }

        /// While the loop ends, descriptors are registered, timers set and jobs submitted: each is done, refused or forwarded.
        @Test func shutdownRacesWithEverything() async throws {
            let before = try await settledDescriptorCount()
            for round in 0..<300 {
                let loop = EventLoop.forTest("race")
                let pair = try SocketPair()
                let point = WaitPoint(descriptor: pair.near, ownership: .owned, loop: loop)
                let ran = Counter()
                let work = Task.detached {
                    loop.execute { ran.add() }
                    loop.schedule(at: .now) { ran.add() }
                    let outcome = await point.readByte(until: .now + failureLimit)
                    point.close()
                    return outcome
                }
                let task = Task(executorPreference: loop) { ran.add() }
                if round % 2 == 0 { await Task.yield() }
                loop.shutdown()
                SocketPair.send(1, to: pair.far)
                await task.value
                let outcome = await work.value
                #expect(outcome == .byte(1) || outcome == .woken(.failed(ESHUTDOWN)))
                await until { ran.value == 3 }
            }
            await until { threadCount(named: "race") == 0 }
            await until { (try? descriptorCount()) == before }
        }

        @Test func theSharedLoopCannotBeShutDown() async {
            EventLoop.shared.shutdown()
            await turns(of: .shared)
            let isCurrent = await withCheckedContinuation { continuation in
                EventLoop.shared.execute { continuation.resume(returning: EventLoop.shared.isCurrent) }
            }
            #expect(isCurrent)
        }
    }
}
