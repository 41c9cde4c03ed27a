import Testing

@testable import NetDiag

@Suite struct WatchMachineTests {
    /// Runs a watch with a simulated clock. `state` gives the result of a check at a time; `changes` are the times at which the
    /// kernel reports a change.
    private func run(
        for time: Duration, pace: WatchPace = WatchPace(), changes: [Duration] = [],
        state: (Duration) -> FindingCode?
    ) -> (checks: [Duration], reported: [Duration: FindingCode?]) {
        let start = ContinuousClock.now
        var now = start
        var machine = WatchMachine(pace: pace, now: now)
        var changes = changes
        var checks: [Duration] = []
        var reported: [Duration: FindingCode?] = [:]
        var latest: FindingCode?
        while start.duration(to: now) < time {
            switch machine.next(now: now) {
            case .check:
                checks.append(start.duration(to: now))
                latest = state(start.duration(to: now))
                machine.found(latest, now: now)
            case .report: reported[start.duration(to: now)] = .some(latest)
            case .wait(let until):
                if let change = changes.first, start + change <= until {
                    changes.removeFirst()
                    now = max(now, start + change)
                    machine.changed(now: now)
                } else {
                    now = until
                }
            case .waitForCheck: Issue.record("no check is under way")
            }
        }
        return (checks, reported)
    }

    @Test func theFirstResultIsReportedAtOnce() {
        #expect(run(for: .seconds(10)) { _ in .noRoute }.reported == [.zero: .noRoute])
        #expect(run(for: .seconds(10)) { _ in nil }.reported == [.zero: nil])
    }

    /// The checks of a broken network become less frequent, down to one in five minutes.
    @Test func aDeadNetworkIsCheckedRarely() {
        let pace = WatchPace()
        let checks = run(for: .seconds(3600)) { _ in .noAnswer }.checks
        #expect(checks.count <= 6 + 3600 / 300)
        #expect(zip(checks, checks.dropFirst()).allSatisfy { $1 - $0 >= pace.shortest })
        #expect(checks.suffix(2).reduce(.zero) { $1 - $0 } == pace.longest)
    }

    @Test func manyChangesCauseFewChecks() {
        let pace = WatchPace()
        // A change every 100 ms for ten minutes.
        let changes = (0..<6000).map { Duration.milliseconds(100 * $0) }
        let checks = run(for: .seconds(600), changes: changes) { _ in nil }.checks
        #expect(zip(checks, checks.dropFirst()).allSatisfy { $1 - $0 >= pace.shortest })
        #expect(checks.count > 50 && checks.count <= 121)
    }

    @Test func transientFaultsAreNotReported() {
        // Down for three seconds, as when roaming between access points.
        let outage = Duration.seconds(20)..<Duration.seconds(23)
        let result = run(for: .seconds(300), changes: [.seconds(20), .seconds(23)]) {
            outage.contains($0) ? .noCarrier : nil
        }
        #expect(result.reported == [.zero: nil])
    }

    @Test func lastingFaultsAreReportedOnceAndRecoveryAtOnce() {
        let outage = Duration.seconds(20)..<Duration.seconds(100)
        let result = run(for: .seconds(300), changes: [.seconds(20), .seconds(100)]) {
            outage.contains($0) ? .noCarrier : nil
        }
        let times = result.reported.keys.sorted()
        #expect(times.map { result.reported[$0] } == [.some(nil), .noCarrier, .some(nil)])
        // A quiet second, the first check, and the one that confirms the fault.
        #expect(times[1] == .seconds(26))
        #expect(times[2] == .seconds(101))
    }

    @Test func anotherFaultIsReported() {
        let result = run(for: .seconds(200), changes: [.seconds(30)]) { $0 < .seconds(30) ? .noCarrier : .noRoute }
        #expect(result.reported.keys.sorted().map { result.reported[$0] } == [.noCarrier, .noRoute])
    }

    /// A change during a check causes another check.
    @Test func aChangeDuringACheckCounts() {
        let start = ContinuousClock.now
        var machine = WatchMachine(now: start)
        #expect(machine.next(now: start) == .check)
        #expect(machine.next(now: start) == .waitForCheck)
        machine.changed(now: start)
        machine.found(nil, now: start + .seconds(2))
        #expect(machine.next(now: start + .seconds(2)) == .report)
        #expect(machine.next(now: start + .seconds(2)) == .wait(until: start + .seconds(7)))
        #expect(machine.next(now: start + .seconds(7)) == .check)
    }
}
