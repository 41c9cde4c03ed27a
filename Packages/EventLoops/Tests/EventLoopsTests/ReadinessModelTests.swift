import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    /// A wait point loses no wakeup, in whatever order a read, a peek, an observer, the kernel and the loop act.
    ///
    /// Method. A wait point, with a model of a socket, of epoll, of one task and of one observer. The work between two system calls
    /// is a separate step, so that any other step can occur in between. The test explores every reachable state with at most two
    /// bytes in the kernel, and takes every step from each state.
    @Suite struct ReadinessModelTests {
        enum Step: CaseIterable {
            /// A byte arrives in the kernel.
            case arrive
            /// The loop checks its descriptors, and finds the socket readable if there are bytes; with or without room to send.
            case harvest, harvestWithRoom
            /// The loop finds that there is room to send.
            case harvestRoom
            /// The task begins to read up to two bytes, unless the wait point reports that a read cannot succeed.
            case read
            /// The task begins to wait until there are bytes, without reading them.
            case peek
            /// The read was short, and the task records that.
            case note
            /// The task found nothing, and parks.
            case park
            /// The task was woken, or an edge was latched: it tries again.
            case resume
            /// The waiting task is cancelled.
            case cancel
            /// The waiting thread withdraws: its deadline has passed, or `poll` has returned.
            case timeOut
            /// A call that never waits reads one byte.
            case readOne
            /// The observer checks for bytes, and will wait if there are none.
            case observe
            /// The observer parks.
            case watch
            /// The observer is withdrawn.
            case withdraw
        }

        enum Phase: Hashable {
            case idle
            /// A read has just emptied the socket.
            case emptied
            /// There were no bytes.
            case findsNothing
            case parked
            case woken
        }

        /// Everything that determines the possible next steps.
        struct State: Hashable {
            var bytes = 0
            /// The descriptor is on epoll's list: an edge will follow.
            var isListed = false
            var task = Phase.idle
            var takesBytes = false
            var isCancelled = false
            var observer = Phase.idle
            /// The observable state of the slots of the task and of the observer.
            var slots: [Bool] = []
        }

        /// A point with a modelled socket.
        private final class Scene {
            let point = WaitPoint()
            var state = State()
            private let caller = CountingWatcher()
            private let watcher = CountingWatcher()
            private var callerFired = 0
            private var watcherFired = 0

            /// Takes a step; false if it is not possible now.
            func take(_ step: Step) -> Bool {
                let isPossible = perform(step)
                if caller.count > callerFired {
                    callerFired = caller.count
                    state.task = .woken
                }
                if watcher.count > watcherFired {
                    watcherFired = watcher.count
                    state.observer = .idle
                }
                state.slots = [
                    point.sides.reader.call.isParked, point.isDrained, point.sides.reader.call.hasRoom(for: .readable),
                    point.sides.reader.call.hasRoom(for: .writable), point.sides.reader.observer.isParked,
                    point.sides.reader.observer.hasRoom(for: .readable),
                    point.sides.reader.observer.hasRoom(for: .writable),
                ]
                return isPossible
            }

            private func perform(_ step: Step) -> Bool {
                switch (step, state.task) {
                case (.arrive, _):
                    if state.bytes == 2 { return false }
                    state.bytes += 1
                    state.isListed = true
                case (.harvest, _): harvest(.readable)
                case (.harvestWithRoom, _): harvest([.readable, .writable])
                case (.harvestRoom, _): point.signal(.writable)
                case (.read, .idle):
                    state.takesBytes = true
                    if point.isDrained { state.task = .findsNothing } else { receive() }
                case (.peek, .idle):
                    state.takesBytes = false
                    receive()
                case (.note, .emptied):
                    point.noteDrained()
                    state.task = .idle
                case (.park, .findsNothing):
                    switch point.park(caller, .reader, for: .readable) {
                    case .parked: state.task = .parked
                    case .ready: state.task = .woken
                    case .busy: Issue.record("only one call at a time")
                    }
                case (.resume, .woken):
                    if state.isCancelled { state.task = .idle } else { receive() }
                    state.isCancelled = false
                case (.cancel, .findsNothing), (.cancel, .parked), (.cancel, .woken):
                    state.isCancelled = true
                    point.wake(.reader)
                case (.timeOut, .parked): state.task = point.unpark(caller, .reader) ? .idle : .woken
                case (.readOne, .idle):
                    if state.bytes == 0 { return false }
                    state.bytes -= 1
                case (.observe, _):
                    if state.observer != .idle { return false }
                    if state.bytes == 0 { state.observer = .findsNothing }
                case (.watch, _):
                    if state.observer != .findsNothing { return false }
                    state.observer =
                        point.watch(.reader, for: .readable, with: watcher) == nil ? .parked : .idle
                case (.withdraw, _):
                    if state.observer != .parked { return false }
                    point.unwatch(.reader, watcher)
                    state.observer = .idle
                case (.read, _), (.peek, _), (.note, _), (.park, _), (.resume, _), (.cancel, _), (.timeOut, _),
                    (.readOne, _):
                    return false
                }
                return true
            }

            /// Edge-triggered: a listed descriptor is reported once, if it is still ready.
            private func harvest(_ interest: Interest) {
                if state.isListed, state.bytes > 0 { point.signal(interest) }
                state.isListed = false
            }

            /// A system call of the task.
            private func receive() {
                switch (state.bytes, state.takesBytes) {
                case (0, _): state.task = .findsNothing
                case (_, false): state.task = .idle
                case (let count, true):
                    state.bytes = 0
                    state.task = count < 2 ? .emptied : .idle
                }
            }

            /// True if there are bytes that no edge will ever report to a parked task or observer.
            var hasLostWakeup: Bool {
                guard state.bytes > 0, !state.isListed else { return false }
                return point.sides.reader.call.isParked || point.sides.reader.observer.isParked
            }

            /// True if a slot holds a waiter that no longer waits or lacks a waiter that waits, or if the point is drained although
            /// a readable edge is latched.
            var isInconsistent: Bool {
                point.sides.reader.call.isParked != (state.task == .parked)
                    || point.sides.reader.observer.isParked != (state.observer == .parked)
                    || point.isDrained && !point.sides.reader.call.hasRoom(for: .readable)
            }
        }

        @Test func noWakeupIsLostInAnyOrder() {
            var paths: [State: [Step]] = [:]
            var waiting: [[Step]] = [[]]
            while let path = waiting.popLast() {
                for step in Step.allCases {
                    // A wait point cannot be copied, so each state is reached again from the beginning.
                    let scene = Scene()
                    for step in path { _ = scene.take(step) }
                    guard scene.take(step) else { continue }
                    if scene.hasLostWakeup || scene.isInconsistent {
                        Issue.record("\(path + [step]): \(scene.state)")
                        return
                    }
                    guard paths[scene.state] == nil else { continue }
                    paths[scene.state] = path + [step]
                    waiting.insert(path + [step], at: 0)
                }
            }
            // The exploration has reached every phase.
            for phase in [Phase.idle, .emptied, .findsNothing, .parked, .woken] {
                #expect(paths.keys.contains { $0.task == phase && $0.observer == .parked })
                #expect(paths.keys.contains { $0.task == phase && $0.bytes == 2 && $0.isListed })
            }
            #expect(paths.keys.contains { $0.slots[1] && $0.bytes > 0 && $0.isListed })
        }

        @Test func anEdgeReachesTheCallAndTheObserver() {
            let point = WaitPoint()
            let (caller, observer) = (CountingWatcher(), CountingWatcher())
            #expect(point.park(caller, .reader, for: .readable) == .parked)
            #expect(point.watch(.reader, for: .readable, with: observer) == nil)
            point.signal(.readable)
            #expect(caller.count == 1 && observer.count == 1)
            // An edge that the observer consumes is latched for a call that has not parked yet.
            #expect(point.watch(.reader, for: .readable, with: observer) == nil)
            point.signal(.readable)
            #expect(observer.count == 2)
            #expect(point.park(caller, .reader, for: .readable) == .ready)
            // An edge that the call does not wait for still reaches the observer.
            #expect(point.park(caller, .reader, for: .readable) == .parked)
            #expect(point.watch(.reader, for: .writable, with: observer) == nil)
            point.signal(.writable)
            #expect(caller.count == 1 && observer.count == 3)
        }

        @Test func aSignalForTheNextTurnComesAfterTheQueuedWork() async {
            let loop = EventLoop.forTest("next")
            defer { loop.shutdown() }
            let order = await withCheckedContinuation { (continuation: CheckedContinuation<[Int], Never>) in
                loop.execute {
                    let point = WaitPoint(loop: loop)
                    let watcher = CountingWatcher()
                    _ = point.watch(.reader, for: .readable, with: watcher)
                    point.signalNextTurn(.readable)
                    let now = watcher.count
                    loop.execute { continuation.resume(returning: [now, watcher.count]) }
                }
            }
            #expect(order == [0, 1])
        }

        /// A latched edge does not end the wait before the turn ends.
        @Test(arguments: [WaitPoint.Half.reader, .writer])
        func aWaitForTheNextTurnLastsUntilThen(_ half: WaitPoint.Half) async {
            let loop = EventLoop.forTest("later")
            defer { loop.shutdown() }
            let point = WaitPoint(loop: loop)
            let hasRunOther = Locked(false)
            await Task(executorPreference: loop) {
                point.signal([.readable, .writable])
                point.signalNextTurn([.readable, .writable])
                loop.execute { hasRunOther.withLock { $0 = true } }
                let wake = await point.wait(half, for: [.readable, .writable], until: nil)
                #expect(wake == .ready && hasRunOther.withLock { $0 })
            }.value
        }

        @Test func aTurnIsSpentAfterItsTransfersAndOnlyOnTheLoop() async {
            let loop = EventLoop.forTest("budget")
            defer { loop.shutdown() }
            @Sendable func spent(_ point: WaitPoint) -> [Int] {
                (1...2 * WaitPoint.transfersPerTurn).filter { _ in !point.beginTransfer(.reader) }
            }
            #expect(spent(WaitPoint(loop: loop)).isEmpty)
            let onLoop = await withCheckedContinuation { (continuation: CheckedContinuation<[Int], Never>) in
                loop.execute {
                    let point = WaitPoint(loop: loop)
                    point.beginTurn(.reader)
                    continuation.resume(returning: spent(point))
                }
            }
            // Earlier if the test's thread is interrupted for longer than the job's share of the turn.
            #expect(onLoop.count >= 2)
            #expect(zip([0] + onLoop, onLoop).allSatisfy { $1 - $0 <= WaitPoint.transfersPerTurn })
        }

        /// A task that reads and writes alternately suspends once in that many round trips, not once for each half.
        @Test func aSpentTurnCountsForBothHalves() async {
            let loop = EventLoop.forTest("round trips")
            defer { loop.shutdown() }
            @Sendable func spent(_ point: WaitPoint) -> [[Bool]] {
                (1...2 * WaitPoint.transfersPerTurn)
                    .map { _ in [!point.beginTransfer(.writer), !point.beginTransfer(.reader)] }
            }
            #expect(!spent(WaitPoint(loop: loop)).joined().contains(true))
            let onLoop = await withCheckedContinuation { (continuation: CheckedContinuation<[[Bool]], Never>) in
                loop.execute { continuation.resume(returning: spent(WaitPoint(loop: loop))) }
            }
            // Earlier if the test's thread is interrupted for longer than the job's share of the turn.
            let spentTurns = onLoop.indices.filter { onLoop[$0] != [false, false] }
            #expect(spentTurns.count >= 2)
            #expect(zip([-1] + spentTurns, spentTurns).allSatisfy { $1 - $0 <= WaitPoint.transfersPerTurn })
            #expect(onLoop.allSatisfy { $0 != [true, true] })
        }
    }
}
