import EventLoops
import Testing

@_spi(Packages) @testable import StreamKit

/// The state of a transport that works in steps.
@Suite struct StepStateTests {
    private static func place(_ point: WaitPoint, _ interest: Interest = .readable) -> WaitPoint.Readiness {
        WaitPoint.Readiness(point, .reader, for: interest)
    }

    // MARK: The end of the work

    @Test func aFailureEndsEveryLaterStep() throws {
        var state = StepState()
        try state.begin()
        state.fail(.timedOut)
        #expect(!state.isWorking && !state.isClosed)
        #expect(throws: StreamError.timedOut) { try state.begin() }
        let isFirst = state.close()
        #expect(isFirst && state.isClosed && !state.isWorking)
        #expect(throws: StreamError.closed) { try state.begin() }
    }

    @Test func closingIsFinal() {
        var state = StepState()
        let results = [state.close(), state.close()]
        #expect(results == [true, false])
        state.fail(.timedOut)
        #expect(throws: StreamError.closed) { try state.begin() }
    }

    // MARK: Where it is blocked

    @Test func anEdgeAtEitherPlaceSignalsThePoint() throws {
        for index in 0..<2 {
            let (own, places) = (WaitPoint(), [WaitPoint(), WaitPoint()])
            var state = StepState()
            let waits = try state.watch((Self.place(places[0]), Self.place(places[1], .writable)), with: own, by: nil)
            #expect(waits)
            #expect(state.watchedPoints.map(ObjectIdentifier.init) == places.map(ObjectIdentifier.init))
            places[index].signal(index == 0 ? .readable : .writable)
            // The edge is latched at the point's own reader.
            let watcher = Counter()
            #expect(own.watch(.reader, for: .readable, with: watcher) == .ready)
            #expect(!places[index].isRegistered(.reader, own) && places[1 - index].isRegistered(.reader, own))
            // That edge has woken the waiters.
            let mustWake = state.withdraw(own)
            #expect(!mustWake && !state.isWatching && !places.contains { $0.isRegistered(.reader, own) })
        }
    }

    @Test func withdrawingTellsWhetherTheWaitersSleep() throws {
        let (own, other) = (WaitPoint(), WaitPoint())
        var state = StepState()
        var waits = try state.watch((Self.place(other), nil), with: own, by: nil)
        // No edge has ended the registration.
        var forgets = state.forgetIfOver(own)
        let mustWake = state.withdraw(own)
        #expect(waits && !forgets && mustWake)
        waits = try state.watch((Self.place(other), nil), with: own, by: nil)
        other.signal(.readable)
        forgets = state.forgetIfOver(own)
        #expect(waits && forgets && !state.isWatching)
    }

    @Test func aRegistrationReplacesTheOneBefore() throws {
        let (own, first, second) = (WaitPoint(), WaitPoint(), WaitPoint())
        var state = StepState()
        for point in [first, second] {
            let waits = try state.watch((Self.place(point), nil), with: own, by: nil)
            #expect(waits)
        }
        #expect(!first.isRegistered(.reader, own) && second.isRegistered(.reader, own))
        state.withdraw(own)
    }

    @Test func nothingStaysRegisteredWithoutAReasonToWait() throws {
        let (own, waiting, ended, early) = (WaitPoint(), WaitPoint(), WaitPoint(), WaitPoint())
        ended.close()
        early.signal(.readable)
        var state = StepState()
        for places in [(nil, nil), (Self.place(waiting), Self.place(ended)), (Self.place(early), nil)] {
            let waits = try state.watch(places, with: own, by: nil)
            #expect(!waits && !state.isWatching)
            #expect(![waiting, ended, early].contains { $0.isRegistered(.reader, own) })
        }
    }

    private final class Counter: Watcher, @unchecked Sendable {
        override func fire() {}
    }
}
