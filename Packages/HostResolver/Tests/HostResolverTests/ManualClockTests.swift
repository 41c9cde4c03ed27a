import HostResolverTesting
import Testing

/// Tasks that sleep on a clock that tests advance.
struct ManualClockTests {
    private let clock = ManualClock()

    @Test func aTaskSleepsUntilTheClockReachesItsTime() async throws {
        let hour = clock.now + .seconds(3600)
        async let slept: Void = clock.sleep(until: hour, tolerance: nil)
        while clock.appointmentCount == 0, !Task.isCancelled { await Task.yield() }
        clock.advance(by: .seconds(3599))
        #expect(clock.appointmentCount == 1)
        clock.advance(by: .seconds(1))
        #expect(clock.appointmentCount == 0)
        try await slept
    }

    @Test(arguments: [true, false]) func cancellingATaskEndsItsSleep(_ isAsleep: Bool) async {
        let task = Task {
            if !isAsleep { withUnsafeCurrentTask { $0?.cancel() } }
            try await clock.sleep(until: clock.now + .seconds(3600), tolerance: nil)
        }
        if isAsleep {
            while clock.appointmentCount == 0, !Task.isCancelled { await Task.yield() }
            task.cancel()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.appointmentCount == 0)
    }
}
