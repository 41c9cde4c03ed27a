import Glibc
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    /// Threads that block at several places at once.
    @Suite(.timeLimit(.minutes(5))) struct ThreadParkerTests {
        private let here = WaitPoint()
        private let others = [WaitPoint(), WaitPoint()]

        /// Blocks at the reader of `here` and at the readers of the others.
        private func block(until deadline: Moment? = nil) async -> BlockedWake {
            await onThread { [here, others] in
                here.block(
                    .reader, for: .readable, until: deadline,
                    minding: others.map { WaitPoint.Readiness($0, .reader, for: .readable) })
            }
        }

        private func untilParked() async {
            await until { here.isReaderParked && others.allSatisfy(\.isReaderParked) }
        }

        private var isAnyParked: Bool { here.isReaderParked || others.contains(where: \.isReaderParked) }

        /// A thread that blocks needs a descriptor: without one the wait fails, and a later one succeeds.
        @Test func aThreadCannotBlockWithoutADescriptor() async {
            await #expect(processExitsWith: .success) {
                guard let table = DescriptorTable() else { exit(2) }
                let point = WaitPoint()
                table.limit(to: 0)
                let wakes = (0..<2).map { _ in Self.blockAtOnce(point) }
                table.restore()
                if wakes != [.here(.failed(EMFILE)), .here(.failed(EMFILE))] { exit(3) }
                if Self.blockAtOnce(point) != .here(.timedOut) { exit(4) }
            }
        }

        /// Nothing may suspend while there is no descriptor.
        private static func blockAtOnce(_ point: WaitPoint) -> BlockedWake {
            point.block(.reader, for: .readable, until: .now, minding: [])
        }

        @Test(arguments: [BlockedWake.here(.ready), .elsewhere(0, .ready), .elsewhere(1, .ready)])
        func reportsTheSignalledPoint(_ expected: BlockedWake) async {
            let point =
                switch expected {
                case .here: here
                case .elsewhere(let index, _): others[index]
                }
            async let wake = block()
            await untilParked()
            point.signal(.readable)
            #expect(await wake == expected)
            point.signal(.readable)
            #expect(await block() == expected)
            #expect(!isAnyParked)
        }

        @Test(arguments: [0, 1]) func reportsClosing(_ index: Int) async {
            async let wake = block()
            await untilParked()
            others[index].close()
            #expect(await wake == .elsewhere(index, .closed))
            #expect(await block() == .elsewhere(index, .closed))
            here.close()
            #expect(await block() == .here(.closed))
        }

        @Test func furtherSignalsAreReportedByTheNextWaits() async {
            for _ in 0..<200 {
                async let wake = block()
                await untilParked()
                let points = [here] + others
                for point in points { point.signal(.readable) }
                var reported = Set([await wake])
                for _ in 0..<2 { reported.insert(await block()) }
                #expect(reported == [.here(.ready), .elsewhere(0, .ready), .elsewhere(1, .ready)])
                // A parker that is fired late may end one more wait, which is allowed; then nothing is left to report.
                while case let wake = await block(until: .now), wake != .here(.timedOut) {
                    #expect(wake == .here(.ready))
                }
            }
        }

        @Test func aPlaceWithAnotherWaiterIsBusy() async {
            let watcher = CountingWatcher()
            #expect(others[1].park(watcher, .reader, for: .readable) == .parked)
            #expect(await block() == .elsewhere(1, .busy))
            #expect(others[1].unpark(watcher, .reader) && !isAnyParked)
        }

        @Test func waitsForDescriptors() async throws {
            let pair = try SocketPair()
            others[1].attach(pair.near, ownership: .owned)
            _ = await block()  // attaching signals the point
            async let wake = block()
            await untilParked()
            SocketPair.send(1, to: pair.far)
            #expect(await wake == .elsewhere(1, .ready))
            others[1].close()
        }

        @Test func theWorkLearnsOfTasksAndCallbacks() async {
            final class Work: WaitPoint, @unchecked Sendable {
                // Immutable.
                let awaited = Counter()
                override func callerWillWait(watchedBy poller: DescriptorPoller?) { awaited.add() }
            }
            let work = Work()
            let task = Task { await work.readerWait(for: .readable, until: nil) }
            await until { work.isReaderParked }
            #expect(work.awaited.value == 1)
            work.signal(.readable)
            #expect(await task.value == .ready)
            let watcher = CountingWatcher()
            #expect(work.watch(.writer, for: .writable, with: watcher) == nil && work.unwatch(.writer, watcher))
            #expect(work.awaited.value == 2)
            #expect(await onThread { work.block(.reader, for: .readable, until: .now) } == .timedOut)
            #expect(work.awaited.value == 2)
        }
    }
}
