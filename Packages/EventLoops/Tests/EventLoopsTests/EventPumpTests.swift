import Dispatch
import Testing

@testable import EventLoops

extension EventLoopsTests {
    /// The invariants of ``EventPump``, with targets that run when the test calls them.
    @Suite struct EventPumpTests {
        /// The object is always active, as a socket; or idle between its events, as a service of Bonjour.
        enum Style: CaseIterable, Sendable { case active, idling }

        /// The other thread's target runs during a call: it leaves the rest to the first thread.
        @Test(arguments: Style.allCases) func oneThreadDeliversAtATime(style: Style) async {
            let (source, one, other) = (EventSource(style), SteppedTarget(), SteppedTarget())
            for target in [one, other] { source.schedule(on: target) }
            let inside = Locked<[Int]>([])
            source.during(1) {
                onAnotherThread {
                    source.post(3)
                    other.run()
                }
                inside.withLock { $0 = source.calls }
            }
            source.post(1, 2)
            one.run()
            #expect(inside.withLock { $0 } == [1])
            #expect(source.calls == [1, 2, 3])
        }

        /// The other thread arrives after the first has found no further event.
        @Test(arguments: Style.allCases) func noEventIsLost(style: Style) {
            let (source, one, other) = (EventSource(style), SteppedTarget(), SteppedTarget())
            for target in [one, other] { source.schedule(on: target) }
            source.during(-1) {
                onAnotherThread {
                    source.post(2)
                    other.run()
                }
            }
            source.post(1)
            one.run()
            #expect(source.calls == [1, 2])
        }

        /// An event arrives after the object was found idle: the signals are not removed.
        @Test func eventsWhileBecomingIdleAreDelivered() {
            let (source, target) = (EventSource(.idling), SteppedTarget())
            source.schedule(on: target)
            source.during(-1) { source.post(2) }
            source.post(1)
            target.run()
            #expect(source.calls == [1, 2])
            #expect(target.signals == 0)
            // And again after it has become idle.
            source.post(3)
            #expect(target.signals == 1)
            target.run()
            #expect(source.calls == [1, 2, 3])
            #expect(target.signals == 0)
        }

        /// An active object keeps its signals, so that its run loops do not end.
        @Test func anActiveObjectKeepsItsSignals() {
            let (source, target) = (EventSource(.active), SteppedTarget())
            source.schedule(on: target)
            #expect(target.signals == 1)
            source.post(1)
            target.run()
            #expect(target.signals == 1)
            source.unschedule(from: target)
            #expect(target.signals == 0)
        }

        /// A client that runs its target in a call gets the rest there, if the pump is reentrant; otherwise after the call.
        @Test(arguments: [false, true]) func aClientMayRunTheTarget(isReentrant: Bool) {
            let (source, target) = (EventSource(.active, isReentrant: isReentrant), SteppedTarget())
            source.schedule(on: target)
            let inside = Locked<[Int]>([])
            source.during(1) {
                source.post(3)
                target.run()
                inside.withLock { $0 = source.calls }
            }
            source.post(1, 2)
            target.run()
            #expect(inside.withLock { $0 } == (isReentrant ? [1, 2, 3] : [1]))
            #expect(source.calls == [1, 2, 3])
        }

        /// A target that is removed during its delivery gets no further events; the others do.
        @Test(arguments: Style.allCases) func aRemovedTargetHandsOver(style: Style) {
            let (source, one, other) = (EventSource(style), SteppedTarget(), SteppedTarget())
            for target in [one, other] { source.schedule(on: target) }
            source.during(1) { onAnotherThread { source.unschedule(from: one) } }
            source.post(1, 2)
            one.run()
            #expect(source.calls == [1])
            other.run()
            #expect(source.calls == [1, 2])
            // Without any target, events wait.
            source.during(3) { source.unschedule(from: other) }
            source.post(3, 4)
            other.run()
            #expect(source.calls == [1, 2, 3])
            #expect(!source.isScheduled)
            source.schedule(on: one)
            one.run()
            #expect(source.calls == [1, 2, 3, 4])
        }

        /// A flood of events lets other work of the target run in between.
        // Parity: SD-036
        @Test(arguments: Style.allCases) func oneTurnDeliversABoundedNumberOfEvents(style: Style) {
            let (source, target) = (EventSource(style), SteppedTarget())
            source.schedule(on: target)
            let most = EventPump.eventsPerTurn
            source.post(Array(0..<(2 * most + 1)))
            for turn in 1...2 {
                #expect(target.run() == 1)
                #expect(source.calls.count == turn * most)
            }
            target.run()
            #expect(source.calls == Array(0..<(2 * most + 1)))
            #expect(target.run() == 0)
        }

        @Test func eachTargetIsAddedOnce() {
            let (source, target) = (EventSource(.active), SteppedTarget())
            #expect(source.schedule(on: target))
            #expect(!source.schedule(on: target))
            #expect(source.targets.count == 1)
            #expect(source.unschedule(from: target))
            #expect(!source.unschedule(from: target))
            #expect(source.targets.isEmpty && target.signals == 0)
        }

        /// Stopping releases the closures, and with them what they keep alive, and refuses later targets.
        @Test func stoppingReleasesEverything() {
            final class Owner: Sendable {
                let pump = EventPump()
            }
            weak var weakly: Owner?
            let target = SteppedTarget()
            do {
                let owner = Owner()
                weakly = owner
                owner.pump.schedule(on: target) { withExtendedLifetime(owner) {} }  // a cycle, as a socket makes it
            }
            #expect(weakly != nil)
            weakly?.pump.stop()
            #expect(weakly == nil && target.signals == 0)
            let source = EventSource(.active)
            source.pump.stop()
            #expect(!source.schedule(on: target) && target.signals == 0)
        }

        /// A pump that is released takes its signals from their run loops.
        @Test func aReleasedPumpCancelsItsSignals() {
            let target = SteppedTarget()
            do {
                let source = EventSource(.active)
                source.schedule(on: target)
                #expect(target.signals == 1)
            }
            #expect(target.signals == 0)
        }

        /// Events may come while the signal of a new target is being made.
        @Test(arguments: Style.allCases) func aSignalBeforeTheTargetHasItsOwnIsRepeated(style: Style) {
            let source = EventSource(style)
            let target = SteppedTarget { source.post(1) }
            source.schedule(on: target)
            if style == .idling { source.pump.signal() }
            target.run()
            #expect(source.calls == [1])
        }

        /// Many threads signal and run targets: every event is delivered once and in order.
        @Test(arguments: Style.allCases) func threadsNeitherLoseNorReorderEvents(style: Style) async {
            let source = EventSource(style, isReentrant: style == .idling)
            let queues = (0..<3).map { DispatchQueue(label: "EventPumpTests \($0)") }
            for queue in queues { source.schedule(on: .queue(queue)) }
            let count = 3000
            await onThread {
                for number in 0..<count {
                    source.post(number)
                    if number % 7 == 0 {
                        let target = QueueTarget(queues[number % 3])
                        source.unschedule(from: target)
                        source.schedule(on: target)
                    }
                }
                source.pump.signal()
            }
            await until { source.calls.count == count }
            #expect(source.calls == Array(0..<count))
            source.pump.stop()
        }
    }
}

/// An object with a queue of events.
private final class EventSource: Sendable {
    let pump: EventPump
    private let style: EventLoopsTests.EventPumpTests.Style
    private let queue = Locked<[Int]>([])
    private let delivered = Locked<[Int]>([])
    private let meanwhile = Locked<[Int: @Sendable () -> Void]>([:])

    init(_ style: EventLoopsTests.EventPumpTests.Style, isReentrant: Bool = false) {
        self.style = style
        pump = EventPump(isIdle: style == .idling, isReentrant: isReentrant)
    }

    var calls: [Int] { delivered.withLock { $0 } }

    @discardableResult
    func schedule(on target: any DeliveryTarget) -> Bool {
        pump.schedule(on: target) { [weak self] in
            if let self { self.pump.deliver(on: target) { self.step() } }
        }
    }

    @discardableResult
    func unschedule(from target: any DeliveryTarget) -> Bool { pump.unschedule(from: target) }

    var isScheduled: Bool { pump.isScheduled }

    var targets: [any DeliveryTarget] { pump.targets }

    func post(_ numbers: Int...) { post(numbers) }

    /// Adds all events with one signal.
    func post(_ numbers: [Int]) {
        queue.withLock { $0 += numbers }
        pump.signal()
    }

    /// Calls `body` while `number` is delivered; -1 stands for a step that finds no event.
    func during(_ number: Int, _ body: @escaping @Sendable () -> Void) {
        meanwhile.withLock { $0[number] = body }
    }

    private func step() -> EventPump.Step {
        let number = queue.withLock { $0.isEmpty ? -1 : $0.removeFirst() }
        if number >= 0 { delivered.withLock { $0.append(number) } }
        meanwhile.withLock { $0.removeValue(forKey: number) }?()
        return number < 0 ? (style == .idling ? .idle : .nothing) : .delivered
    }
}

/// A target that the test runs.
private final class SteppedTarget: DeliveryTarget {
    private final class Signal: DeliverySignal {
        private let perform: Locked<(@Sendable () -> Void)?>
        private let target: SteppedTarget

        init(_ perform: @escaping @Sendable () -> Void, _ target: SteppedTarget) {
            self.perform = Locked(perform)
            self.target = target
            target.count.withLock { $0 += 1 }
        }

        func signal() {
            target.signalled.withLock { signalled in
                if !signalled.contains(where: { $0 === self }) { signalled.append(self) }
            }
        }

        func cancel() {
            let cancelled = perform.withLock { $0.take() }
            if cancelled != nil { target.count.withLock { $0 -= 1 } }
        }

        func run() { perform.withLock { $0 }?() }
    }

    private let signalled = Locked<[Signal]>([])
    private let count = Locked(0)
    private let whileMaking: Locked<(@Sendable () -> Void)?>

    /// - Parameter whileMaking: runs once, while the first signal is made.
    init(whileMaking: (@Sendable () -> Void)? = nil) {
        self.whileMaking = Locked(whileMaking)
    }

    /// The signals that have not been cancelled.
    var signals: Int { count.withLock { $0 } }

    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        whileMaking.withLock { $0.take() }?()
        return Signal(perform, self)
    }

    func isSame(as other: any DeliveryTarget) -> Bool { self === other as? SteppedTarget }

    /// Performs the signalled closures; returns their number.
    @discardableResult
    func run() -> Int {
        let signals = signalled.withLock { signalled in
            defer { signalled = [] }
            return signalled
        }
        for signal in signals { signal.run() }
        return signals.count
    }
}

/// Runs `body` on another thread, and waits for its end.
private func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue(label: "EventPumpTests").async {
        body()
        done.signal()
    }
    done.wait()
}
