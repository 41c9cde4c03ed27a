import Foundation
import Glibc
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct WaitPointWaitingTests {
        @Test(arguments: [true, false]) func waitsUntilItCanBeRead(onLoop: Bool) async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            let task =
                onLoop
                ? Task(executorPreference: EventLoop.shared) { await point.readByte() }
                : Task { await point.readByte() }
            await until { point.isReaderParked }
            SocketPair.send(5, to: pair.far)
            #expect(await task.value == .byte(5))
            point.close()
        }

        @Test func waitsUntilItCanBeWritten() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            pair.fillNear()
            #expect(point.enter(.writer) == .entered)
            async let wakes = { [point] in
                var wakes = 0
                while !SocketPair.send(1, to: point.descriptor) {
                    #expect(await point.writerWait(for: .writable, until: nil) == .ready)
                    wakes += 1
                }
                return wakes
            }()
            await until { point.isWriterParked }
            pair.drainFar()
            #expect(await wakes > 0)
            point.leave(.writer)
            point.close()
        }

        /// As in a TLS read that must write first.
        @Test func theReaderMayWaitForWritable() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            pair.fillNear()
            #expect(point.enter(.reader) == .entered)
            async let wake: Wake = {
                var wake = Wake.ready
                repeat {
                    wake = await point.readerWait(for: .writable, until: nil)
                } while !SocketPair.send(1, to: point.descriptor)
                return wake
            }()
            await until { point.isReaderParked }
            pair.drainFar()
            #expect(await wake == .ready)
            point.leave(.reader)
            point.close()
        }

        @Test func aSecondWaitOnAHalfIsBusy() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            async let reading = point.readByte()
            await until { point.isReaderParked }
            #expect(await point.readByte() == .woken(.busy))
            #expect(await point.readerWait(for: .readable, until: nil) == .busy)
            #expect(await onThread { point.block(.reader, for: .readable, until: nil) } == .busy)
            SocketPair.send(1, to: pair.far)
            #expect(await reading == .byte(1))
            point.close()
        }

        @Test func cancellingEndsAWaitAndTheNextOneWorks() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            let task = Task { await point.readByte() }
            await until { point.isReaderParked }
            task.cancel()
            #expect(await task.value == .woken(.cancelled))
            let late = Task {
                await until { Task.isCancelled }
                return await point.readByte()
            }
            late.cancel()
            #expect(await late.value == .woken(.cancelled))
            SocketPair.send(3, to: pair.far)
            #expect(await point.readByte() == .byte(3))
            point.close()
        }

        /// 20,000 cancellations race with the byte and with the parking: in any case the byte is read exactly once.
        @Test(arguments: [true, false]) func aCancelledReadConsumesNothing(onLoop: Bool) async throws {
            let before = try await settledDescriptorCount()
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            var cancelled = 0
            for round in 0..<20_000 {
                let byte = UInt8(truncatingIfNeeded: round)
                let task =
                    onLoop
                    ? Task(executorPreference: EventLoop.shared) { await point.readByte() }
                    : Task { await point.readByte() }
                if round % 4 == 1 { await Task.yield() }
                if round % 4 == 2 { await until { point.isReaderParked || task.isCancelled } }
                if round % 2 == 0 {
                    SocketPair.send(byte, to: pair.far)
                    task.cancel()
                } else {
                    task.cancel()
                    SocketPair.send(byte, to: pair.far)
                }
                let outcome = await task.value
                if outcome == .woken(.cancelled) {
                    cancelled += 1
                    #expect(await point.readByte() == .byte(byte))
                } else {
                    #expect(outcome == .byte(byte))
                }
            }
            #expect(cancelled > 0)
            point.close()
            #expect(try descriptorCount() == before + 1, "the far side is still open")
        }

        @Test func aDeadlineEndsAWait() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            let deadline = Moment.now + .milliseconds(5)
            #expect(await point.readByte(until: deadline) == .woken(.timedOut))
            #expect(Moment.now >= deadline)
            #expect(await point.readByte(until: .now - .seconds(1)) == .woken(.timedOut))
            #expect(await onThread { point.blockForByte(until: .now + .milliseconds(5)) } == .woken(.timedOut))
            SocketPair.send(1, to: pair.far)
            #expect(await point.readByte(until: deadline) == .byte(1), "available bytes need no wait")
            point.close()
        }

        @Test func oneTimerServesManyWaitsWithMovingDeadlines() async throws {
            let loop = EventLoop.forTest("moving")
            defer { loop.shutdown() }
            let near = WaitPoint(loop: loop)
            let far = WaitPoint(loop: loop)
            async let echo: Void = {
                for _ in 0..<5000 {
                    _ = await far.readerWait(for: .readable, until: .now + failureLimit)
                    near.signal(.readable)
                }
            }()
            for _ in 0..<5000 {
                far.signal(.readable)
                #expect(await near.readerWait(for: .readable, until: .now + failureLimit) == .ready)
            }
            await echo
            #expect(await timerCount(loop) <= 2)
            near.close()
            far.close()
            #expect(await timerCount(loop) == 0)
        }

        @Test func anEarlierDeadlineComesBeforeAStandingLaterOne() async throws {
            let point = WaitPoint()
            async let long = point.readerWait(for: .readable, until: .now + .seconds(86400))
            await until { point.isReaderParked }
            point.signal(.readable)
            #expect(await long == .ready)
            async let writer = point.writerWait(for: .writable, until: .now + .seconds(86400))
            await until { point.isWriterParked }
            #expect(await point.readerWait(for: .readable, until: .now + .milliseconds(3)) == .timedOut)
            #expect(point.isWriterParked, "each half has a deadline of its own")
            point.close()
            #expect(await writer == .closed)
        }

        /// The timer is set for the first deadline. When it fires, it is set for the second one.
        @Test func aLaterDeadlineOutlivesTheTimerOfAnEarlierOne() async throws {
            let point = WaitPoint()
            async let first = point.readerWait(for: .readable, until: .now + .milliseconds(20))
            await until { point.isReaderParked }
            point.signal(.readable)
            #expect([.ready, .timedOut].contains(await first))
            let deadline = Moment.now + .milliseconds(60)
            var wake = Wake.ready
            while wake == .ready { wake = await point.readerWait(for: .readable, until: deadline) }
            #expect(wake == .timedOut && Moment.now >= deadline)
        }

        @Test func aReleasedPointCancelsItsTimers() async throws {
            let loop = EventLoop.forTest("deadlines")
            defer { loop.shutdown() }
            weak var weakly: WaitPoint?
            do {
                let point = WaitPoint(loop: loop)
                weakly = point
                async let wake = point.readerWait(for: .readable, until: .now + .seconds(86400))
                await until { point.isReaderParked }
                point.signal(.readable)
                #expect(await wake == .ready)
            }
            await until { weakly == nil }
            #expect(await timerCount(loop) == 0)
        }

        @Test func regularFilesAreAlwaysReady() async throws {
            let path = NSTemporaryDirectory() + "waitpoint-\(UUID().uuidString)"
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            defer { try? FileManager.default.removeItem(atPath: path) }
            let point = WaitPoint(descriptor: open(path, O_RDWR | O_CLOEXEC), ownership: .owned)
            for _ in 0..<3 {
                #expect(await point.readerWait(for: .readable, until: nil) == .ready)
                #expect(await point.writerWait(for: .writable, until: nil) == .ready)
                #expect(await onThread { point.block(.reader, for: .readable, until: nil) } == .ready)
                #expect(point.watch(.reader, for: .readable, with: CountingWatcher()) == .ready)
            }
            #expect(await point.readerWait(for: .readable, until: .now) == .timedOut)
            point.close(.reader)
            #expect(await point.readerWait(for: .readable, until: nil) == .closed)
            point.close()
        }

        @Test func aDescriptorThatCannotBeWatchedIsReported() async {
            let point = WaitPoint(descriptor: 1_000_000, ownership: .borrowed)
            #expect(await point.readerWait(for: .readable, until: nil) == .failed(EBADF))
            #expect(await point.writerWait(for: .writable, until: nil) == .failed(EBADF))
            #expect(point.watch(.reader, for: .readable, with: CountingWatcher()) == .failed(EBADF))
        }

        @Test func twoPointsMayWatchOneDescriptor() async throws {
            let before = try await settledDescriptorCount()
            do {
                let pair = try SocketPair()
                defer { close(pair.near) }
                let first = WaitPoint(descriptor: pair.near, ownership: .borrowed)
                let second = WaitPoint(descriptor: pair.near, ownership: .borrowed)
                async let reading = first.readByte()
                await until { first.isReaderParked }
                async let wake = second.readerWait(for: .readable, until: nil)
                await until { second.isReaderParked }
                SocketPair.send(4, to: pair.far)
                #expect(await reading == .byte(4))
                #expect(await wake == .ready)
                first.close()
                SocketPair.send(5, to: pair.far)
                #expect(await second.readByte() == .byte(5), "closing one point does not affect the other")
                second.close()
            }
            #expect(try descriptorCount() == before)
        }

        @Test func aPointAtRestIsNotWatchedUntilTheNextWait() async throws {
            let loop = EventLoop.forTest("rest")
            defer { loop.shutdown() }
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned, loop: loop)
            for round in 0..<3 {
                async let reading = point.readByte(until: .now + failureLimit)
                await until { point.isReaderParked }
                SocketPair.send(1, to: pair.far)
                #expect(await reading == .byte(1))
                point.rest()
                point.rest()
                #expect(await timerCount(loop) == 0)
                let hasRoom = point.sides.reader.call.hasRoom(for: .readable)
                SocketPair.send(2, to: pair.far)
                await turns(of: loop)
                #expect(point.sides.reader.call.hasRoom(for: .readable) == hasRoom, "round \(round)")
                #expect(await point.readByte() == .byte(2))
            }
            point.close()
        }

        @Test func aWatcherFiresOnceAndCanBeWithdrawn() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            let watcher = CountingWatcher()
            #expect(point.watch(.reader, for: .readable, with: watcher) == nil)
            #expect(point.unwatch(.reader, watcher))
            #expect(!point.unwatch(.reader, watcher))
            var wake = point.watch(.reader, for: .readable, with: watcher)
            if wake == .ready { wake = point.watch(.reader, for: .readable, with: watcher) }
            #expect(wake == nil)
            SocketPair.send(1, to: pair.far)
            await until { watcher.count == 1 }
            #expect(SocketPair.tryRead(pair.near) == .byte(1))
            while let wake = point.watch(.reader, for: .readable, with: watcher) { #expect(wake == .ready) }
            point.close()
            #expect(watcher.count == 2)
            #expect(point.watch(.reader, for: .readable, with: watcher) == .closed)
        }

        /// A watcher may register again before the call of its earlier registration has come. Only the point knows whether it is
        /// registered.
        @Test func aLateCallDoesNotEndALaterRegistration() {
            final class HeldWatcher: Watcher, @unchecked Sendable {
                // Unchecked: used by one thread.
                var register: () -> Void = {}
                override func fire() { register() }
            }
            let point = WaitPoint()
            let watcher = HeldWatcher()
            var isRegisteredAtCall: [Bool] = []
            watcher.register = {
                isRegisteredAtCall.append(point.isRegistered(.reader, watcher))
                #expect(point.watch(.reader, for: .readable, with: watcher) == nil)
                isRegisteredAtCall.append(point.isRegistered(.reader, watcher))
            }
            #expect(!point.isRegistered(.reader, watcher))
            #expect(point.watch(.reader, for: .readable, with: watcher) == nil)
            #expect(point.isRegistered(.reader, watcher) && !point.isRegistered(.writer, watcher))
            point.signal(.readable)
            #expect(isRegisteredAtCall == [false, true])
            #expect(point.isRegistered(.reader, watcher) && !point.isRegistered(.reader, HeldWatcher()))
            #expect(point.unwatch(.reader, watcher) && !point.isRegistered(.reader, watcher))
            watcher.register = {}
        }

        /// A watcher has consumed the latched edge of the close; the task must not wait for another edge.
        @Test(.timeLimit(.minutes(5))) func aTaskDoesNotParkOnAClosedHalf() async {
            let point = WaitPoint()
            #expect(point.enter(.reader) == .entered)
            point.close(.reader)
            #expect(point.watch(.reader, for: .readable, with: CountingWatcher()) == .closed)
            #expect(await point.readerWait(for: .readable, until: nil) == .closed)
            #expect(await point.readerWait(for: .readable, until: nil) == .closed)
            #expect(await onThread { point.block(.reader, for: .readable, until: nil) } == .closed)
        }

        @Test(.timeLimit(.minutes(5))) func aWaitForAnEmptyInterestCanBeCancelled() async {
            let point = WaitPoint()
            let task = Task { await point.readerWait(for: [], until: nil) }
            await until { point.isReaderParked }
            task.cancel()
            #expect(await task.value == .cancelled)
        }

        @Test func aBlockedThreadIsWokenBySignalsAndByTheDescriptor() async throws {
            let pair = try SocketPair()
            let point = WaitPoint()
            async let reading = onThread { point.blockForByte() }
            await until { point.isReaderParked }
            point.attach(pair.near, ownership: .owned)
            await until { point.isReaderParked }
            SocketPair.send(8, to: pair.far)
            #expect(await reading == .byte(8))
            point.close()
        }

        private func timerCount(_ loop: EventLoop) async -> Int {
            await turns(of: loop)
            return await withCheckedContinuation { continuation in
                loop.execute { continuation.resume(returning: loop.timerCount) }
            }
        }
    }
}
