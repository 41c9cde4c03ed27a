import Testing

@testable import HTTPStream

/// The waits that a slow body may cause, without a clock.
@Suite struct BodyPaceTests {
    @Test func aSlowBodyEndsSoon() {
        var pace = BodyPace(limit: .seconds(20), rate: 500)
        for _ in 0..<20 {
            #expect(pace.allowance >= .seconds(1))
            pace.note(1, after: .seconds(1))
        }
        #expect(pace.allowance == .milliseconds(40))  // what the bytes have earned
    }

    @Test func theRateIsEnough() {
        var pace = BodyPace(limit: .seconds(20), rate: 500)
        for _ in 0..<100_000 {
            #expect(pace.allowance > .seconds(1))
            pace.note(500, after: .seconds(1))
        }
    }

    @Test func aFastClientMayPause() {
        var pace = BodyPace(limit: .seconds(20), rate: 500)
        pace.note(10_000, after: .zero)
        pace.note(1, after: .seconds(20))
        #expect(pace.allowance > .seconds(19))
        // But no single wait is longer than the limit.
        pace.note(1_000_000, after: .zero)
        #expect(pace.allowance == .seconds(20))
    }

    @Test func aClientThatPausesIsBehindUntilItsBytesHaveEarnedThePause() {
        var pace = BodyPace(limit: .seconds(20), rate: 500)
        var isBehind = [pace.isBehind]
        for (count, wait) in [(1, 1.0), (498, 0), (1, 0), (500, 1.0), (1, 0.5)] {
            pace.note(count, after: .seconds(wait))
            isBehind.append(pace.isBehind)
        }
        #expect(isBehind == [false, true, true, false, false, true])
    }

    @Test func anyRate() {
        var pace = BodyPace(limit: .seconds(20), rate: 0)
        pace.note(1, after: .seconds(1_000_000))
        #expect(pace.allowance == .seconds(20) && !pace.isBehind)
    }
}
