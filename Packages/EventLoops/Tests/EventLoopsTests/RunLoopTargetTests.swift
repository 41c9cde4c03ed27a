import CoreFoundation
import EventLoops
import Foundation
@_spi(CoreFoundation) import RunLoopDelivery
import Testing

extension EventLoopsTests {
    /// Each test runs run loops on its own thread, because the threads of Swift Testing belong to the pool.
    @Suite struct RunLoopTargetTests {
        private static let privateMode = RunLoop.Mode("netkit.tests.private")

        /// Runs the thread's run loop once; true if a source was performed.
        @available(*, noasync)
        private static func runOnce(_ mode: RunLoop.Mode = .default) -> Bool {
            RunLoop.current.run(mode: mode, before: Date(timeIntervalSinceNow: 60))
        }

        /// Signals the targets of several objects at one edge.
        private final class Signalling: Watcher, @unchecked Sendable {
            // Unchecked only because the superclass is: the property is a constant.
            private let signals: [any DeliverySignal]
            init(_ signals: [any DeliverySignal]) { self.signals = signals }
            override func fire() { for signal in signals { signal.signal() } }
        }

        /// Passes a target to another thread.
        private final class Handover: Sendable {
            let target = Locked<RunLoopTarget?>(nil)
        }

        @Test func wakesALoopThatIsBlocked() async {
            let count = Counter()
            let isScheduled = Flag()
            let signal = Locked<(any DeliverySignal)?>(nil)
            async let wasPerformed = onThread {
                signal.withLock { $0 = RunLoopTarget.current().makeSignal { count.add() } }
                isScheduled.set()
                return Self.runOnce()
            }
            await until { isScheduled.isSet }
            signal.withLock { $0?.signal() }
            #expect(await wasPerformed)
            #expect(count.value == 1)
            signal.withLock { $0 }?.cancel()
        }

        /// Without a descriptor, the run loop does not poll itself; what is signalled is delivered all the same.
        @Test func deliversWithoutADescriptor() async {
            await #expect(processExitsWith: .success) {
                let status = await onThread { () -> CInt in
                    _ = RunLoop.current.run(mode: .default, before: .now)
                    let count = Counter()
                    let signal = RunLoopTarget.current().makeSignal { count.add() }
                    defer { signal.cancel() }
                    guard let table = DescriptorTable() else { return 2 }
                    table.limit(to: 0)
                    let hadPoller = signal.poller != nil
                    signal.signal()
                    let wasPerformed = Self.runOnce()
                    table.restore()
                    if hadPoller || !wasPerformed || count.value != 1 { return 3 }
                    return signal.poller == nil ? 4 : 0
                }
                exit(status)
            }
        }

        @Test func signalsBetweenRunsAreCombinedAndNotLost() async {
            let outcome = await onThread {
                let count = Counter()
                let signal = RunLoopTarget.current().makeSignal { count.add() }
                defer { signal.cancel() }
                for _ in 0..<5 { signal.signal() }
                let isInside = count.value != 0
                let wasPerformed = Self.runOnce()
                let first = count.value
                signal.signal()
                return (isInside, wasPerformed, first, Self.runOnce(), count.value)
            }
            #expect(outcome == (false, true, 1, true, 2))
        }

        @Test func theStackDoesNotGrowWithTheNumberOfSignals() async {
            let positions = await onThread {
                let positions = Locked<[UInt]>([])
                let signal = RunLoopTarget.current().makeSignal { positions.withLock { $0.append(stackPosition()) } }
                defer { signal.cancel() }
                for _ in 0..<100 {
                    signal.signal()
                    _ = Self.runOnce()
                }
                return positions.withLock { $0 }
            }
            #expect(positions.count == 100)
            #expect(Set(positions).count == 1)
        }

        @Test func cancellingEmptiesTheLoopSoThatItReturns() async {
            let signal = Locked<(any DeliverySignal)?>(nil)
            let isScheduled = Flag()
            let hasReturned = Flag()
            async let ran: Void = onThread {
                signal.withLock { $0 = RunLoopTarget.current().makeSignal {} }
                let first = RunLoopTarget.current().makeSignal { isScheduled.set() }
                first.signal()
                _ = Self.runOnce()
                first.cancel()
                RunLoop.current.run()
                hasReturned.set()
            }
            await until { isScheduled.isSet }
            #expect(!hasReturned.isSet, "the source keeps the loop from being empty")
            signal.withLock { $0 }?.cancel()
            await ran
            #expect(hasReturned.isSet)
        }

        @Test func theSignalsOfALoopAndModeShareAPollerThatEndsWithThem() async {
            await onThread {
                weak var released: DescriptorPoller?
                do {
                    let signals = [.default, .default, Self.privateMode].map { mode in
                        RunLoopTarget.current(mode: mode).makeSignal {}
                    }
                    released = signals[0].poller
                    #expect(released != nil && signals[0].poller === signals[1].poller)
                    #expect(signals[2].poller != nil && signals[2].poller !== signals[0].poller)
                    signals[0].cancel()
                    #expect(signals[0].poller == nil && signals[1].poller === released)
                    for signal in signals { signal.cancel() }
                }
                #expect(!Self.runOnce(), "the loop is empty again")
                #expect(released == nil)
            }
        }

        @Test func theSignalsOfAPollAreCombinedAndNoneFollowsCancelling() async throws {
            let pair = try SocketPair()
            let counts = await onThread {
                let (first, second) = (Counter(), Counter())
                let victim = RunLoopTarget.current().makeSignal { second.add() }
                let signal = RunLoopTarget.current().makeSignal {
                    first.add()
                    victim.cancel()
                }
                let point = WaitPoint(descriptor: pair.near, ownership: .owned)
                #expect(victim.poller === signal.poller)
                let watcher = Signalling([signal, signal, victim])
                #expect(point.watch(.reader, for: .readable, with: watcher, by: signal.poller) == nil)
                SocketPair.send(1, to: pair.far)
                while first.value == 0 { guard Self.runOnce() else { break } }
                _ = RunLoop.current.run(mode: .default, before: Date())
                signal.cancel()
                point.close()
                return (first.value, second.value)
            }
            #expect(counts == (1, 0))
        }

        /// A client that runs the loop inside its call, to wait for another stream.
        @Test func aNestedRunPerformsTheOtherSignalsOfThePoll() async throws {
            let pair = try SocketPair()
            let outcome = await onThread {
                let nested = Locked<Int?>(nil)
                let others = Counter()
                let rest = (0..<2).map { _ in RunLoopTarget.current().makeSignal { others.add() } }
                let first = RunLoopTarget.current().makeSignal {
                    for _ in 0..<10 where others.value < 2 {
                        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.5))
                    }
                    nested.withLock { $0 = others.value }
                }
                let signals = [first] + rest
                let poller = first.poller
                for signal in rest { #expect(signal.poller === poller) }
                let point = WaitPoint(descriptor: pair.near, ownership: .owned)
                #expect(point.watch(.reader, for: .readable, with: Signalling(signals), by: poller) == nil)
                SocketPair.send(1, to: pair.far)
                while nested.withLock({ $0 }) == nil { guard Self.runOnce() else { break } }
                for signal in signals { signal.cancel() }
                point.close()
                return nested.withLock { $0 }
            }
            #expect(outcome == 2)
        }

        @Test func releasingTheSignalCancelsIt() async {
            final class Held: Sendable {}
            let isAlive = await onThread {
                weak var weakly: Held?
                do {
                    let held = Held()
                    weakly = held
                    _ = RunLoopTarget.current().makeSignal { _ = held }
                }
                return (Self.runOnce(), weakly != nil)
            }
            #expect(isAlive == (false, false))
        }

        @Test func cancellingReleasesTheClosure() async {
            final class Client: Sendable { let signal = Locked<(any DeliverySignal)?>(nil) }
            let isAlive = await onThread {
                weak var weakly: Client?
                do {
                    let client = Client()
                    weakly = client
                    let signal = RunLoopTarget.current().makeSignal { _ = client }
                    client.signal.withLock { $0 = signal }  // a cycle, as clients make it
                    signal.cancel()
                }
                return weakly != nil
            }
            #expect(!isAlive)
        }

        @Test func noCallFollowsCancellingOnTheLoop() async {
            let outcome = await onThread {
                let count = Counter()
                let signals = Locked<[any DeliverySignal]>([])
                let target = RunLoopTarget.current()
                // The one that is performed first cancels both.
                for _ in 0..<2 {
                    let signal = target.makeSignal {
                        count.add()
                        for signal in signals.withLock({ $0 }) { signal.cancel() }
                    }
                    signals.withLock { $0.append(signal) }
                    signal.signal()
                }
                return (Self.runOnce(), Self.runOnce(), count.value)
            }
            #expect(outcome == (true, false, 1))
        }

        @Test func aSignalOfAnotherModeWaitsUntilThatModeRuns() async {
            let outcome = await onThread {
                let count = Counter()
                let signal = RunLoopTarget.current(mode: Self.privateMode).makeSignal { count.add() }
                defer { signal.cancel() }
                signal.signal()
                return (Self.runOnce(), count.value, Self.runOnce(Self.privateMode), count.value)
            }
            #expect(outcome == (false, 0, true, 1))
        }

        @Test func eachModeHasASignalOfItsOwn() async {
            let outcome = await onThread {
                let inDefault = Counter()
                let inPrivate = Counter()
                let inCommon = Counter()
                let signals = [
                    RunLoopTarget.current().makeSignal { inDefault.add() },
                    RunLoopTarget.current(mode: Self.privateMode).makeSignal { inPrivate.add() },
                    RunLoopTarget.current(mode: .common).makeSignal { inCommon.add() },
                ]
                defer { for signal in signals { signal.cancel() } }
                for signal in signals { signal.signal() }
                while inDefault.value == 0 || inCommon.value == 0 { if !Self.runOnce() { break } }
                let before = inPrivate.value
                return (before, Self.runOnce(Self.privateMode), inDefault.value, inPrivate.value, inCommon.value)
            }
            #expect(outcome == (0, true, 1, 1, 1))
        }

        @Test func aNestedRunInAPrivateModeIsWoken() async {
            let isNested = Flag()
            let inner = Locked<(any DeliverySignal)?>(nil)
            async let outcome = onThread {
                let count = Counter()
                let nested = Locked<Bool?>(nil)
                inner.withLock { $0 = RunLoopTarget.current(mode: Self.privateMode).makeSignal { count.add() } }
                let outer = RunLoopTarget.current().makeSignal {
                    isNested.set()
                    let wasPerformed = Self.runOnce(Self.privateMode)
                    nested.withLock { $0 = wasPerformed && RunLoop.current.currentMode == .default }
                }
                defer { outer.cancel() }
                outer.signal()
                return (Self.runOnce(), nested.withLock { $0 }, count.value)
            }
            await until { isNested.isSet }
            inner.withLock { $0?.signal() }
            #expect(await outcome == (true, true, 1))
            inner.withLock { $0 }?.cancel()
        }

        @Test func anotherThreadMayScheduleOnALoopThatIsBlocked() async {
            let handover = Handover()
            let isReady = Flag()
            let count = Counter()
            async let outcome = onThread {
                let keeper = RunLoopTarget.current().makeSignal {}
                defer { keeper.cancel() }
                handover.target.withLock { $0 = .current() }
                isReady.set()
                return Self.runOnce()
            }
            await until { isReady.isSet }
            let signal = handover.target.withLock { $0 }?.makeSignal { count.add() }
            signal?.signal()
            #expect(await outcome)
            #expect(count.value == 1)
            signal?.cancel()
        }

        /// Passes a run loop to another thread, which makes a target of it.
        private final class LoopHandover: @unchecked Sendable {
            private let lock = NSLock()
            private var loop: RunLoop?
            func pass(_ loop: RunLoop) { lock.withLock { self.loop = loop } }
            func target(mode: RunLoop.Mode) -> RunLoopTarget? {
                lock.withLock { loop }.map { RunLoopTarget($0, mode: mode) }
            }
        }

        @Test(arguments: [RunLoop.Mode.default, .common, privateMode])
        func anotherThreadMayMakeATargetOfALoop(_ mode: RunLoop.Mode) async {
            let handover = LoopHandover()
            let isReady = Flag()
            let isDone = Flag()
            let count = Counter()
            let kept = Counter()
            async let outcome = onThread {
                let runs = mode == .common ? RunLoop.Mode.default : mode
                let keeper = RunLoopTarget.current(mode: runs).makeSignal {}
                defer { keeper.cancel() }
                handover.pass(.current)
                let isSame = handover.target(mode: mode)?.isSame(as: .currentRunLoop(mode: mode)) == true
                isReady.set()
                while !isDone.isSet { _ = Self.runOnce(runs) }
                return isSame
            }
            await until { isReady.isSet }
            let target = handover.target(mode: mode)
            let cancelled = target?.makeSignal { kept.add() }
            cancelled?.signal()
            cancelled?.cancel()
            let signal = target?.makeSignal {
                count.add()
                if count.value == 2 { isDone.set() }
            }
            signal?.signal()  // before the source is on the loop
            await until { count.value == 1 }
            signal?.signal()
            #expect(await outcome)
            #expect(count.value == 2)
            #expect(kept.value <= 1)
            signal?.cancel()
        }

        @Test func noSignalOfAnyThreadIsLost() async {
            let made = Counter()
            let seen = Counter()
            let isReady = Flag()
            let isDone = Flag()
            let signal = Locked<(any DeliverySignal)?>(nil)
            async let ran: Void = onThread {
                signal.withLock {
                    $0 = RunLoopTarget.current().makeSignal { while seen.value < made.value { seen.add() } }
                }
                isReady.set()
                while !isDone.isSet, Self.runOnce() {}
            }
            await until { isReady.isSet }
            let sender = signal.withLock { $0 }
            await withTaskGroup { group in
                for _ in 0..<2 {
                    group.addTask {
                        await onThread {
                            for _ in 0..<2000 {
                                made.add()
                                sender?.signal()
                            }
                        }
                    }
                }
            }
            await until { seen.value == 4000 }
            isDone.set()
            sender?.cancel()
            await ran
        }

        @Test func equalTargetsAreRecognized() async {
            let handover = Handover()
            let own = await onThread {
                let target = RunLoopTarget.current()
                handover.target.withLock { $0 = target }
                return target.isSame(as: .currentRunLoop)
                    && target.isSame(as: .currentRunLoop(mode: RunLoop.Mode(RunLoop.Mode.default.rawValue)))
                    && !target.isSame(as: .currentRunLoop(mode: Self.privateMode))
                    && RunLoopTarget.current(mode: Self.privateMode).isSame(as: .currentRunLoop(mode: Self.privateMode))
                    && !target.isSame(as: .mainRunLoop) && !target.isSame(as: .loop(.shared))
            }
            #expect(own)
            let other = await onThread {
                handover.target.withLock { $0 }.map { RunLoopTarget.current().isSame(as: $0) }
            }
            #expect(other == false)
            #expect(RunLoopTarget.main().isSame(as: .mainRunLoop))
            let main = Unmanaged.passUnretained(CFRunLoopGetMain() as AnyObject).toOpaque()
            let named = RunLoopTarget(coreFoundation: main, mode: .default)
            #expect(named.isSame(as: .mainRunLoop) && RunLoopTarget.main().isSame(as: named))
            #expect(!named.isSame(as: RunLoopTarget(coreFoundation: main, mode: Self.privateMode)))
        }
    }
}
