@_spi(Packages) import EventLoops
import Foundation
import Glibc
import RunLoopDelivery
import Synchronization
import Testing

@testable import EventLoops

extension EventLoopsTests {
    /// A point whose descriptor a poller watches, instead of the loop.
    @Suite struct DescriptorPollerTests {
        private let loop = EventLoop.forTest("unused")
        private let poller: DescriptorPoller
        private let pair: SocketPair
        private let point: WaitPoint

        init() throws {
            poller = try #require(DescriptorPoller())
            pair = try SocketPair()
            point = WaitPoint(descriptor: pair.near, ownership: .owned, loop: loop)
        }

        private func finish() {
            point.close()
            loop.shutdown()
        }

        private func isReadable(_ descriptor: CInt) -> Bool {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return Glibc.poll(&entry, 1, 0) == 1
        }

        /// Registering reports what is ready already: that the socket is writable.
        private func settle() { poller.poll() }

        private var isPolled: Bool { point.watching.isByPoller }

        @Test func aWatcherFiresInPollAndNotBefore() async {
            defer { finish() }
            let watcher = CountingWatcher()
            #expect(point.watch(.reader, for: .readable, with: watcher, by: poller) == nil)
            settle()
            #expect(!isReadable(poller.descriptor))
            SocketPair.send(1, to: pair.far)
            #expect(isReadable(poller.descriptor))
            await turns(of: loop)
            #expect(watcher.count == 0, "the loop watches the descriptor, too")
            poller.poll()
            #expect(watcher.count == 1)
            #expect(!isReadable(poller.descriptor))
        }

        @Test func whatIsReadyBeforeTheWatchIsReported() {
            defer { finish() }
            SocketPair.send(1, to: pair.far)
            let watcher = CountingWatcher()
            #expect(point.watch(.reader, for: .readable, with: watcher, by: poller) == nil)
            poller.poll()
            #expect(watcher.count == 1)
        }

        @Test func aWaitThatBeginsLaterHasTheLoopTakeOver() async {
            defer { finish() }
            let watcher = CountingWatcher()
            #expect(point.watch(.reader, for: .readable, with: watcher, by: poller) == nil)
            async let reading = point.readByte()
            await until { point.isReaderParked }
            #expect(!isPolled)
            SocketPair.send(7, to: pair.far)
            #expect(await reading == .byte(7))
            await until { watcher.count == 1 }
            #expect(point.watch(.reader, for: .readable, with: CountingWatcher(), by: poller) != .busy)
            #expect(!isPolled, "the loop keeps the descriptor")
        }

        @Test func aWaitInProgressKeepsTheDescriptorAtTheLoop() async {
            defer { finish() }
            async let reading = point.readByte()
            await until { point.isReaderParked }
            let watcher = CountingWatcher()
            while point.watch(.reader, for: .readable, with: watcher, by: poller) == .ready {}
            #expect(!isPolled)
            SocketPair.send(7, to: pair.far)
            #expect(await reading == .byte(7))
            await until { watcher.count == 1 }
        }

        @Test func anObserverWithoutAPollerHasTheLoopTakeOver() async {
            defer { finish() }
            let (polled, other) = (CountingWatcher(), CountingWatcher())
            #expect(point.watch(.reader, for: .readable, with: polled, by: poller) == nil)
            while point.watch(.writer, for: .readable, with: other) == .ready {}
            #expect(!isPolled)
            SocketPair.send(1, to: pair.far)
            await until { polled.count == 1 && other.count == 1 }
        }

        @Test func theLoopServesObserversOfTwoPollers() async throws {
            defer { finish() }
            let other = try #require(DescriptorPoller())
            let (first, second) = (CountingWatcher(), CountingWatcher())
            #expect(point.watch(.reader, for: .readable, with: first, by: poller) == nil)
            while point.watch(.writer, for: .readable, with: second, by: other) == .ready {}
            #expect(!isPolled)
            SocketPair.send(1, to: pair.far)
            await until { first.count == 1 && second.count == 1 }
        }

        @Test func aSecondPollerTakesOverWhenNoObserverWaits() throws {
            defer { finish() }
            let other = try #require(DescriptorPoller())
            let (first, second) = (CountingWatcher(), CountingWatcher())
            #expect(point.watch(.reader, for: .readable, with: first, by: poller) == nil)
            point.unwatch(.reader, first)
            #expect(point.watch(.reader, for: .readable, with: second, by: other) == nil)
            SocketPair.send(1, to: pair.far)
            poller.poll()
            #expect(second.count == 0)
            other.poll()
            #expect(second.count == 1 && first.count == 0)
        }

        @Test func theHalvesShareAPoller() {
            defer { finish() }
            let (reader, writer) = (CountingWatcher(), CountingWatcher())
            pair.fillNear()
            #expect(point.watch(.reader, for: .readable, with: reader, by: poller) == nil)
            #expect(point.watch(.writer, for: .writable, with: writer, by: poller) == nil)
            #expect(isPolled)
            pair.drainFar()
            poller.poll()
            #expect(reader.count == 0 && writer.count == 1)
        }

        @Test func twoPointsWithOneDescriptorAreBothWatched() {
            defer { finish() }
            let other = WaitPoint(descriptor: pair.near, ownership: .borrowed, loop: loop)
            defer { other.close() }
            let (first, second) = (CountingWatcher(), CountingWatcher())
            #expect(point.watch(.reader, for: .readable, with: first, by: poller) == nil)
            #expect(other.watch(.reader, for: .readable, with: second, by: poller) == nil)
            SocketPair.send(1, to: pair.far)
            poller.poll()
            #expect(first.count == 1 && second.count == 1)
        }

        @Test func closingEndsTheRegistrationAndReleasesThePoint() throws {
            weak var released: WaitPoint?
            do {
                let pair = try SocketPair()
                defer { close(pair.near) }
                let point = WaitPoint(descriptor: pair.near, ownership: .borrowed, loop: loop)
                released = point
                let watcher = CountingWatcher()
                #expect(point.watch(.reader, for: .readable, with: watcher, by: poller) == nil)
                point.close()
                #expect(watcher.count == 1)
                SocketPair.send(1, to: pair.far)
                #expect(!isReadable(poller.descriptor))
                poller.poll()
            }
            #expect(released == nil)
            finish()
        }

        /// The event has been received, and its point is closed by the watcher of another event of the same poll.
        @Test func aPointThatIsClosedDuringAPollLivesUntilItsEnd() throws {
            defer { finish() }
            final class Closing: Watcher, @unchecked Sendable {
                let victim: Locked<WaitPoint?>
                init(_ victim: WaitPoint) { self.victim = Locked(victim) }
                override func fire() { victim.withLock { $0.take() }?.close() }
            }
            let second = try SocketPair()
            weak var released: WaitPoint?
            do {
                let victim = WaitPoint(descriptor: second.near, ownership: .owned, loop: loop)
                released = victim
                #expect(point.watch(.reader, for: .readable, with: Closing(victim), by: poller) == nil)
                #expect(victim.watch(.reader, for: .readable, with: CountingWatcher(), by: poller) == nil)
            }
            settle()
            SocketPair.send(1, to: pair.far)
            SocketPair.send(1, to: second.far)
            poller.poll()
            #expect(released == nil)
        }

        @Test func moreDescriptorsThanOneCallOfEpollReturns() throws {
            defer { finish() }
            let others = try (0..<200).map { _ in try SocketPair() }
            let points = others.map { WaitPoint(descriptor: $0.near, ownership: .owned, loop: loop) }
            defer { for point in points { point.close() } }
            let watcher = points.map { _ in CountingWatcher() }
            for (point, watcher) in zip(points, watcher) {
                #expect(point.watch(.reader, for: .readable, with: watcher, by: poller) == nil)
            }
            settle()
            for other in others { SocketPair.send(1, to: other.far) }
            poller.poll()
            #expect(watcher.allSatisfy { $0.count == 1 })
        }

        @Test func workOfOneWatcherRunsAfterThePoll() {
            defer { finish() }
            final class Adding: Watcher, @unchecked Sendable {
                let poller: DescriptorPoller
                let steps = Record<String>()
                init(_ poller: DescriptorPoller) { self.poller = poller }
                override func fire() {
                    guard poller.isPolling else { return }
                    for _ in 0..<2 {
                        let isTaken = poller.runAfterPoll { [steps] in steps.append("work") }
                        steps.append(isTaken ? "edge" : "refused")
                    }
                }
            }
            let watcher = Adding(poller)
            #expect(point.watch(.reader, for: .readable, with: watcher, by: poller) == nil)
            settle()
            SocketPair.send(1, to: pair.far)
            poller.poll()
            #expect(watcher.steps.values == ["edge", "refused", "work"])
            #expect(!poller.isPolling)
        }

        @Test func pollingEndsUnlessAnObserverWaits() {
            defer { finish() }
            let (reader, writer) = (CountingWatcher(), CountingWatcher())
            pair.fillNear()
            #expect(point.watch(.reader, for: .readable, with: reader, by: poller) == nil)
            #expect(point.watch(.writer, for: .writable, with: writer, by: poller) == nil)
            for (half, watcher) in [(WaitPoint.Half.reader, reader), (.writer, writer)] {
                point.endPolling()
                #expect(isPolled)
                point.unwatch(half, watcher)
            }
            point.endPolling()
            #expect(!isPolled && !point.isWatched)
            #expect(point.mustAskAgain(by: poller), "an observer that was about to park")
            #expect(!point.mustAskAgain(by: nil))
            settle()
            SocketPair.send(1, to: pair.far)
            #expect(!isReadable(poller.descriptor))
            #expect(point.watch(.reader, for: .readable, with: reader, by: poller) == nil)
            poller.poll()
            #expect(reader.count == 1)
        }

        @Test func endingLeavesTheDescriptorToTheLoop() async {
            defer { finish() }
            async let reading = point.readByte()
            await until { point.isReaderParked }
            point.endPolling()
            #expect(point.isWatched)
            SocketPair.send(7, to: pair.far)
            #expect(await reading == .byte(7))
        }

        /// One thread ends the polling again and again, between the registration of an observer and its parking.
        @Test func noEdgeIsLostWhenPollingEndsMeanwhile() async throws {
            let (point, pair, poller) = (point, pair, poller)
            let isDone = Flag()
            async let ended: Void = onThread { while !isDone.isSet { point.endPolling() } }
            for _ in 0..<20_000 {
                let watcher = CountingWatcher()
                while point.watch(.reader, for: .readable, with: watcher, by: poller) == .ready {}
                SocketPair.send(1, to: pair.far)
                poller.poll()
                #expect(watcher.count == 1)
                _ = SocketPair.tryRead(pair.near)
                if watcher.count != 1 { break }
            }
            isDone.set()
            await ended
            finish()
        }

        /// Two observers of two pollers, each on its thread, and a descriptor that changes hands between them: whichever waits is
        /// reached, by its own poller or by the loop.
        @Test func noEdgeIsLostBetweenTwoPollers() async throws {
            let rounds = 2000
            let other = try #require(DescriptorPoller())
            let (point, pair) = (point, pair)
            let isDone = Flag()
            let loops = [poller, other].map { poller in
                Task.detached { @concurrent in
                    while !isDone.isSet {
                        poller.poll()
                        await Task.yield()
                    }
                }
            }
            for round in 0..<rounds {
                let watcher = CountingWatcher()
                while let wake = point.watch(
                    .reader, for: .readable, with: watcher, by: round % 2 == 0 ? poller : other)
                {
                    if wake != .ready { break }
                }
                SocketPair.send(1, to: pair.far)
                await until { watcher.count == 1 }
                _ = SocketPair.tryRead(pair.near)
                if watcher.count != 1 { break }
            }
            isDone.set()
            for loop in loops { await loop.value }
            finish()
        }

        // MARK: Points that represent work

        /// A point that represents reading from another one.
        private final class Work: WaitPoint, @unchecked Sendable {
            // Unchecked only because the superclass is: the source is watched under the lock.
            private let source: WaitPoint
            private let lock = Lock()

            init(_ source: WaitPoint) {
                self.source = source
                super.init(loop: source.loop)
            }

            override func callerWillWait(watchedBy poller: DescriptorPoller?) {
                let wake = lock.withLock {
                    source.unwatch(.reader, self)
                    return source.watch(.reader, for: .readable, with: self, by: poller)
                }
                if wake != nil { signal([.readable, .writable]) }
            }

            nonisolated(nonsending) func readByteOfSource() async -> Reading {
                guard enter(.reader) == .entered else { return .woken(.busy) }
                defer { leave(.reader) }
                while true {
                    if case .byte(let byte) = SocketPair.tryRead(source.descriptor) { return .byte(byte) }
                    let wake = await readerWait(for: .readable, until: .now + .seconds(20))
                    if wake != .ready { return .woken(wake) }
                }
            }
        }

        @Test func theWorkOfAPointIsPolledUntilACallWaits() async {
            defer { finish() }
            let work = Work(point)
            defer { work.close() }
            let (first, second) = (CountingWatcher(), CountingWatcher())
            #expect(work.watch(.reader, for: .readable, with: first, by: poller) == nil)
            settle()
            #expect(isPolled)
            SocketPair.send(1, to: pair.far)
            await turns(of: loop)
            #expect(first.count == 0)
            poller.poll()
            #expect(first.count == 1)
            #expect(work.watch(.reader, for: .readable, with: second, by: poller) == nil)
            #expect(await work.readByteOfSource() == .byte(1))
            async let reading = work.readByteOfSource()
            await until { work.isReaderParked }
            #expect(!isPolled)
            SocketPair.send(7, to: pair.far)
            #expect(await reading == .byte(7))
            await until { second.count == 1 }
        }

        @Test func theWorkOfAPointIsNotPolledForAnObserverThatHasWithdrawn() {
            defer { finish() }
            let work = Work(point)
            defer { work.close() }
            let watcher = CountingWatcher()
            #expect(work.watch(.reader, for: .readable, with: watcher, by: poller) == nil)
            #expect(isPolled)
            work.unwatch(.reader, watcher)
            work.endPolling()
            settle()
            #expect(!isPolled)
            SocketPair.send(1, to: pair.far)
            #expect(!isReadable(poller.descriptor))
        }

        /// Nothing polls, so a call whose source went to the poller would wait in vain.
        @Test func aCallIsReachedWhileObserversGiveItsWorkToAPoller() async throws {
            let poller = poller
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        for round in 0..<500 {
                            let pair = try SocketPair()
                            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
                            let work = Work(point)
                            async let reading = work.readByteOfSource()
                            if round % 2 == 0 { await Task.yield() }
                            _ = work.watch(.reader, for: .readable, with: CountingWatcher(), by: poller)
                            SocketPair.send(UInt8(round & 0xFF), to: pair.far)
                            let result = await reading
                            work.close()
                            point.close()
                            #expect(result == .byte(UInt8(round & 0xFF)))
                            if result != .byte(UInt8(round & 0xFF)) { return }
                        }
                    }
                }
            }
            finish()
        }

        /// A thread polls while tasks wait and observers come and go: no edge is lost, whatever the order.
        @Test func noByteIsLostWhileTheDescriptorChangesHands() async throws {
            let poller = poller
            let isDone = Flag()
            let polls = Task.detached { @concurrent in
                while !isDone.isSet {
                    poller.poll()
                    await Task.yield()
                }
            }
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        for round in 0..<500 {
                            let pair = try SocketPair()
                            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
                            defer { point.close() }
                            _ = point.watch(.reader, for: .readable, with: CountingWatcher(), by: poller)
                            async let reading = point.readByte()
                            if round % 2 == 0 { await Task.yield() }
                            _ = point.watch(.writer, for: .writable, with: CountingWatcher(), by: poller)
                            SocketPair.send(UInt8(round & 0xFF), to: pair.far)
                            #expect(await reading == .byte(UInt8(round & 0xFF)))
                        }
                    }
                }
            }
            isDone.set()
            await polls.value
            finish()
        }
    }
}
