import Foundation
import Glibc
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct WaitPointClosingTests {
        @Test func oneCallAtATimeOnEachHalf() {
            let point = WaitPoint()
            #expect(point.enter(.reader) == .entered && point.isInside(.reader) && !point.isInside(.writer))
            #expect(point.enter(.reader) == .busy)
            #expect(point.enter(.writer) == .entered)
            point.leave(.reader)
            #expect(!point.isInside(.reader) && point.isInside(.writer))
            #expect(point.enter(.reader) == .entered)
            point.close(.reader)
            #expect(point.enter(.reader) == .closed && point.isClosed(.reader) && !point.isClosed(.writer))
            #expect(point.enter(.writer) == .busy)
            point.leave(.writer)
            point.leave(.reader)
            #expect(point.enter(.writer) == .entered)
        }

        @Test(arguments: [.reader, .writer] as [WaitPoint.Half])
        func aPointForOneHalf(half: WaitPoint.Half) throws {
            let point = WaitPoint(only: half)
            let other = half.other
            #expect(point.enter(other) == .closed && point.isClosed(other))
            #expect(point.enter(half) == .entered && !point.isClosed(half))
            let pair = try SocketPair()
            point.attach(pair.near, ownership: .owned)
            point.close(half)
            #expect(fcntl(pair.near, F_GETFD) >= 0)
            point.leave(half)
            #expect(SocketPair.tryRead(pair.far) == .end)
        }

        /// Each combination of calls inside and order of closing: the last call to leave closes the descriptor.
        @Test(arguments: [[], [.reader], [.writer], [.reader, .writer]] as [[WaitPoint.Half]])
        func theLastCallToLeaveClosesTheDescriptor(inside: [WaitPoint.Half]) throws {
            for closing in [[.reader, .writer], [.writer, .reader], [nil]] as [[WaitPoint.Half?]] {
                let pair = try SocketPair()
                let point = WaitPoint(descriptor: pair.near, ownership: .owned)
                for half in inside { #expect(point.enter(half) == .entered) }
                for half in closing {
                    #expect(fcntl(pair.near, F_GETFD) >= 0)
                    if let half { point.close(half) } else { point.close() }
                    point.close(half ?? .reader)  // a second time is harmless
                }
                for half in inside {
                    #expect(fcntl(pair.near, F_GETFD) >= 0)
                    #expect(point.withDescriptor { $0 } == nil && point.whileOpen {} == nil)
                    point.leave(half)
                }
                #expect(fcntl(pair.near, F_GETFD) < 0)
                #expect(SocketPair.tryRead(pair.far) == .end)
            }
        }

        @Test func anIndependentUserKeepsTheDescriptorOpen() throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            point.withDescriptor { descriptor in
                point.close()
                #expect(fcntl(descriptor, F_GETFD) >= 0)
            }
            #expect(fcntl(pair.near, F_GETFD) < 0)
            #expect(WaitPoint().withDescriptor { $0 } == nil)
            #expect(WaitPoint().whileOpen { 1 } == 1)
        }

        @Test func closingOneHalfLeavesTheOther() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            async let reading = point.readByte()
            await until { point.isReaderParked }
            point.close(.writer)
            #expect(point.isReaderParked)
            SocketPair.send(9, to: pair.far)
            #expect(await reading == .byte(9))
            point.close(.reader)
            #expect(SocketPair.tryRead(pair.far) == .end)
        }

        @Test func wakesATaskThatWaits() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            async let reading = point.readByte()
            await until { point.isReaderParked }
            point.close(.reader)
            #expect(await reading == .woken(.closed))
            point.close()
            #expect(SocketPair.tryRead(pair.far) == .end)
        }

        @Test(arguments: [DescriptorOwnership.owned, .borrowed])
        func wakesAThreadThatPolls(ownership: DescriptorOwnership) async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: ownership)
            async let reading = onThread { point.blockForByte() }
            await until { point.isReaderParked }
            point.close()
            // An owned socket is shut down first, so the thread may see the end before it sees that the half is closed.
            let outcome = await reading
            #expect(outcome == .woken(.closed) || (ownership == .owned && outcome == .end))
            #expect((fcntl(pair.near, F_GETFD) >= 0) == (ownership == .borrowed))
            if ownership == .borrowed { close(pair.near) }
        }

        @Test func wakesAThreadThatIsInsideTheKernel() async throws {
            for _ in 0..<100 {
                let pair = try SocketPair()
                let point = WaitPoint(descriptor: pair.near, ownership: .owned)
                async let reading = onThread { point.receiveByte() }
                await until { point.isInside(.reader) }
                point.close()
                #expect(await reading == .woken(.closed))
                #expect(SocketPair.tryRead(pair.far) == .end)
            }
        }

        @Test func aBorrowedDescriptorIsNeitherShutDownNorClosed() async throws {
            let pair = try SocketPair()
            defer { close(pair.near) }
            let point = WaitPoint(descriptor: pair.near, ownership: .borrowed)
            async let reading = point.readByte()
            await until { point.isReaderParked }
            point.close()
            #expect(await reading == .woken(.closed))
            #expect(SocketPair.tryRead(pair.far) == .nothing)
            #expect(SocketPair.send(1, to: pair.near) && SocketPair.tryRead(pair.far) == .byte(1))
            #expect(SocketPair.send(2, to: pair.far) && SocketPair.tryRead(pair.near) == .byte(2))
        }

        @Test(.timeLimit(.minutes(5)))
        func theNumberOfABorrowedDescriptorMayBeReusedAtOnce() async throws {
            let borrowed = try SocketPair()
            let old = WaitPoint(descriptor: borrowed.near, ownership: .borrowed)
            #expect(old.watch(.reader, for: .readable, with: CountingWatcher()) == nil)
            #expect(old.enter(.writer) == .entered)  // a call that has not quite ended
            old.close()

            let next = try SocketPair()
            #expect(dup2(next.near, borrowed.near) == borrowed.near)
            close(next.near)
            let new = WaitPoint(descriptor: borrowed.near, ownership: .owned)
            let watcher = CountingWatcher()
            #expect(new.watch(.reader, for: .readable, with: watcher) == nil)
            old.leave(.writer)
            SocketPair.send(1, to: next.far)
            await until { watcher.count == 1 }
            new.close()
        }

        /// A call that is still inside begins to wait. Its owner may have closed the descriptor by now.
        @Test func aWaitThatBeginsAfterClosingRegistersNothing() async throws {
            let pair = try SocketPair()
            defer { close(pair.near) }
            let point = WaitPoint(descriptor: pair.near, ownership: .borrowed)
            #expect(point.enter(.reader) == .entered)
            point.close()
            #expect(await point.readerWait(for: .readable, until: nil) == .closed)
            #expect(point.watch(.reader, for: .readable, with: CountingWatcher()) == .closed)
            #expect(point.isUnwatched)
            point.leave(.reader)
        }

        @Test func theLoopReleasesAClosedPoint() async throws {
            let pair = try SocketPair()
            weak var point: WaitPoint?
            do {
                let strong = WaitPoint(descriptor: pair.near, ownership: .owned)
                point = strong
                #expect(await strong.readByte(until: .now) == .woken(.timedOut))
                strong.close()
            }
            await until { point == nil }

            do {  // also if the loop's own thread closes it
                let pair = try SocketPair()
                await withNetworkExecutor {
                    let strong = WaitPoint(descriptor: pair.near, ownership: .owned)
                    _ = await strong.readByte(until: .now)
                    strong.close()
                }
            }
            await turns(of: .shared)
        }

        /// A user that enters too late is the last one to leave, a second time; only one of them may finish. (Otherwise the loop's
        /// reference to the point would be released twice.)
        @Test func usingTheDescriptorRacesWithClosing() async throws {
            for _ in 0..<1000 {
                let pair = try SocketPair()
                let point = WaitPoint(descriptor: pair.near, ownership: .owned)
                while point.watch(.reader, for: .readable, with: CountingWatcher()) == .ready {}
                let isRunning = Flag()
                async let user = Task.detached {
                    var wrong = 0
                    isRunning.set()
                    while let code = point.withDescriptor({ fcntl($0, F_GETFD) }) { wrong += code < 0 ? 1 : 0 }
                    for _ in 0..<200 { wrong += point.whileOpen {} == nil ? 0 : 1 }
                    return wrong
                }.value
                while !isRunning.isSet, !Task.isCancelled { await Task.yield() }
                point.close(.writer)
                point.close(.reader)
                #expect(await user == 0)
                #expect(SocketPair.tryRead(pair.far) == .end)
            }
            await turns(of: .shared)
        }

        /// A call waits while the point closes, and the descriptor's number is reused at once: no call may read the other socket's
        /// byte, and its descriptor must stay open.
        @Test(arguments: 0..<3) func closesOnceWhileACallIsInside(style: Int) async throws {
            let before = try await settledDescriptorCount()
            for round in 0..<1500 {
                let pair = try SocketPair()
                let point = WaitPoint(descriptor: pair.near, ownership: .owned)
                async let reading: Reading = {
                    switch style {
                    case 0: await point.readByte()
                    case 1: await onThread { point.blockForByte() }
                    default: await onThread { point.receiveByte() }
                    }
                }()
                if round % 3 == 0 { await until { point.isInside(.reader) } }
                if round % 3 == 1 { await Task.yield() }
                async let closing: Void = Task.detached { point.close(.reader) }.value
                point.close()
                let other = try SocketPair()
                SocketPair.send(99, to: other.far)
                let outcome = await reading
                await closing
                #expect(outcome == .woken(.closed) || outcome == .end)
                #expect(SocketPair.tryRead(other.near) == .byte(99))
                #expect(SocketPair.tryRead(pair.far) == .end)
                #expect(Glibc.close(other.near) == 0)
            }
            // Eventfds of the pool of parkers: one for each thread that ever blocked at the same time.
            #expect(try descriptorCount() <= before + 2)
        }

        /// A file may end slowly, as a terminal does that first sends its output: a thread for files closes it.
        @Test(arguments: [true, false])
        func aFileIsNotClosedByALoopOrATask(onLoop: Bool) async throws {
            var ends: [CInt] = [-1, -1]
            #expect(pipe(&ends) == 0)
            let (reader, writer) = (ends[0], ends[1])
            defer { close(reader) }
            let hasWriter = {
                var entry = pollfd(fd: reader, events: 0, revents: 0)
                return poll(&entry, 1, 0) == 0
            }
            let threads = BlockingThreads.files(of: writer)
            let mayReturn = Flag()
            let held = (0..<BlockingThreads.maximumFileThreadsPerDevice).map { _ in
                Task { try await threads.value { mayReturn.wait() } }
            }
            await until { threads.threadCount == held.count && threads.queueCount == 0 }
            let point = WaitPoint(descriptor: writer, ownership: .owned)
            if onLoop {
                await withCheckedContinuation { done in
                    EventLoop.shared.execute {
                        point.close()
                        done.resume()
                    }
                }
            } else {
                point.close()
            }
            #expect(hasWriter())
            mayReturn.set()
            for task in held { #expect(try await task.value) }
            await until { !hasWriter() }
        }

        /// The point is closed after the registration has checked it and before it calls epoll. Afterwards the owner may close the
        /// descriptor, so it must not remain registered.
        @Test func closingDuringARegistrationRemovesIt() async throws {
            let loop = EventLoop.forTest("lender")
            defer { loop.shutdown() }
            let pair = try SocketPair()
            defer { close(pair.near) }
            let point = WaitPoint(descriptor: pair.near, ownership: .borrowed, loop: loop)
            let hasClosed = Flag()
            let failure = loop.registering.withLock { _ in
                // Like a registration that has just found the point open.
                Thread.detachNewThread {
                    point.close()
                    hasClosed.set()
                }
                while !point.isClosed(.reader) { sched_yield() }
                let failure = loop.register(point, descriptor: pair.near)
                point.watching.number.store(pair.near, ordering: .releasing)
                return failure
            }
            #expect(failure == nil)
            await until { hasClosed.isSet }
            let other = WaitPoint(descriptor: pair.near, ownership: .borrowed, loop: loop)
            #expect(await other.readByte(until: .now) == .woken(.timedOut))
            let number = other.watching.numberInLoop
            #expect(number == pair.near, "its number can be registered again")
            other.close()
        }
    }
}
