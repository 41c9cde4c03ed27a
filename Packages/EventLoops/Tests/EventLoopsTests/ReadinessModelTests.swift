import Synchronization
import Testing

@testable import EventLoops

extension EventLoopsTests {
    /// What a wait point promises to whoever reads at it: no wake-up is lost, in whatever order a read, a look, an observer, the
    /// kernel and the loop come. A model of a socket and of epoll, and every order of five operations after a short read.
    @Suite struct ReadinessModelTests {
        enum Operation: CaseIterable {
            /// Two bytes arrive in the kernel.
            case arrive
            /// The loop looks at its descriptors.
            case harvest
            /// A task reads all there is, waiting if there is nothing.
            case read
            /// A task waits until there is something, and takes nothing.
            case wait
            /// A call that never waits takes one byte.
            case takeOne
            /// The task that waits is cancelled, whether or not an edge has just woken it.
            case cancel
            /// An observer looks, and parks if there is nothing.
            case observe
            /// The observer is taken back.
            case withdraw
        }

        /// One point, with a socket that is made up.
        private final class Scene {
            enum Call { case read, wait }

            let point = WaitPoint()
            var bytes = 0
            /// Epoll has the descriptor on its list.
            var isListed = false
            var call: Call?
            var isCancelled = false
            let caller = CountingWatcher()
            let observer = CountingWatcher()
            var callerFired = 0

            func perform(_ operation: Operation) {
                switch operation {
                case .arrive:
                    bytes += 2
                    isListed = true
                case .harvest: harvest()
                case .read: if call == nil { read(sparingDoomed: true) }
                case .wait: if call == nil { waitForBytes() }
                case .takeOne: if call == nil, bytes > 0 { bytes -= 1 }
                case .cancel:
                    guard call != nil else { break }
                    isCancelled = true
                    harvest()
                    point.wake(.reader)
                    resume()
                case .observe: observe()
                case .withdraw: point.unwatch(.reader, observer)
                }
            }

            /// Edge-triggered: what is listed is told of once, if it is still so.
            func harvest() {
                if isListed, bytes > 0 { point.signal(.readable) }
                isListed = false
                resume()
            }

            func read(sparingDoomed spares: Bool) {
                call = nil
                if !(spares && point.isDrained), bytes > 0 {
                    bytes = 0
                    return point.noteDrained()
                }
                park(.read)
            }

            func waitForBytes() {
                call = nil
                if bytes == 0 { park(.wait) }
            }

            func park(_ kind: Call) {
                switch point.park(caller, .reader, for: .readable) {
                case .parked: call = kind
                case .ready: if kind == .read { read(sparingDoomed: false) } else { waitForBytes() }
                case .busy: Issue.record("only one call at a time")
                }
            }

            /// What the call does that was woken.
            func resume() {
                guard caller.count > callerFired, let kind = call else { return }
                callerFired = caller.count
                call = nil
                if isCancelled {
                    isCancelled = false
                } else if kind == .read {
                    read(sparingDoomed: false)
                } else {
                    waitForBytes()
                }
            }

            func observe() {
                while bytes == 0, point.watch(.reader, for: .readable, with: observer) == .ready {}
            }

            /// Bytes that nothing will ever tell a waiting call or observer of.
            var hasLostWakeUp: Bool {
                guard bytes > 0, !isListed else { return false }
                return point.reader.isParked || point.readerWatch.isParked
            }
        }

        private func run(_ operations: [Operation], on scene: Scene) {
            for operation in operations {
                scene.perform(operation)
                if scene.hasLostWakeUp { Issue.record("\(operations): lost at \(operation)") }
            }
            // Whatever came before, a read gets what is there.
            scene.harvest()
            if scene.call == nil {
                scene.perform(.read)
                if scene.hasLostWakeUp { Issue.record("\(operations): lost at the end") }
            }
        }

        @Test func noWakeUpIsLostInAnyOrder() {
            let all = Operation.allCases
            let count = (0..<5).reduce(1) { product, _ in product * all.count }
            for number in 0..<count {
                var operations: [Operation] = []
                var rest = number
                for _ in 0..<5 {
                    operations.append(all[rest % all.count])
                    rest /= all.count
                }
                let scene = Scene()
                scene.perform(.arrive)
                scene.perform(.harvest)
                scene.perform(.read)
                _ = scene.point.park(scene.caller, .reader, for: .readable)  // takes the latch
                _ = scene.point.unpark(scene.caller, .reader)
                scene.point.noteDrained()
                run(operations, on: scene)
            }
        }

        @Test func anEdgeGoesToTheCallAndToTheObserver() {
            let point = WaitPoint()
            let (caller, observer) = (CountingWatcher(), CountingWatcher())
            #expect(point.park(caller, .reader, for: .readable) == .parked)
            #expect(point.watch(.reader, for: .readable, with: observer) == nil)
            point.signal(.readable)
            #expect(caller.count == 1 && observer.count == 1)
            // An edge that the observer takes is latched for a call that has not parked yet.
            #expect(point.watch(.reader, for: .readable, with: observer) == nil)
            point.signal(.readable)
            #expect(observer.count == 2)
            #expect(point.park(caller, .reader, for: .readable) == .ready)
        }

        @Test func whatIsSignalledForTheNextTurnComesAfterWhatIsQueued() async {
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

        @Test func aTurnIsSpentAfterSoManyTransfersAndOnTheLoopOnly() async {
            let loop = EventLoop.forTest("budget")
            defer { loop.shutdown() }
            @Sendable func spent(_ point: WaitPoint) -> [Int] {
                (1...2 * WaitPoint.transfersPerTurn).filter { _ in point.isTurnSpent(.reader) }
            }
            #expect(spent(WaitPoint(loop: loop)).isEmpty)
            let onLoop = await withCheckedContinuation { (continuation: CheckedContinuation<[Int], Never>) in
                loop.execute {
                    let point = WaitPoint(loop: loop)
                    point.beginTurn(.reader)
                    continuation.resume(returning: spent(point))
                }
            }
            #expect(onLoop == [WaitPoint.transfersPerTurn, 2 * WaitPoint.transfersPerTurn])
        }
    }
}
