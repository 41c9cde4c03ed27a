import Testing

@testable import ServiceDiscovery

/// RFC 6762 §5.2, §10.4: when a question is sent.
@Suite struct LinkQuestionTests {
    private let start = DiscoveryTime.now

    /// The times in milliseconds at which a question is sent that is disturbed in every millisecond.
    private func sent(_ question: LinkQuestion, until end: Int, _ disturb: (inout LinkQuestion, DiscoveryTime) -> Void)
        -> [Int]
    {
        var question = question
        var times: [Int] = []
        for millisecond in 0..<end {
            let now = start + .milliseconds(millisecond)
            disturb(&question, now)
            guard question.isDue(now) else { continue }
            times.append(millisecond)
            question.noteSent(now)
        }
        return times
    }

    private var scheduled: LinkQuestion {
        var question = LinkQuestion()
        question.restart(at: start)
        return question
    }

    @Test func theScheduleDoublesItsIntervals() {
        #expect(sent(scheduled, until: 16_000) { _, _ in } == [0, 1000, 3000, 7000, 15_000])
    }

    @Test func verificationsAreASecondApart() {
        #expect(sent(scheduled, until: 4500) { question, now in question.verify(now) } == [0, 1000, 2000, 3000, 4000])
        #expect(
            sent(scheduled, until: 4500) { question, now in question.expedite(now) } == [0, 1000, 2000, 3000, 4000])
    }

    @Test func aVerificationQueriesTwice() {
        var question = LinkQuestion()
        question.verify(start)
        #expect(sent(question, until: 60_000) { _, _ in } == [0, 2000])
    }

    @Test func restartingDoesNotShortenTheInterval() {
        #expect(sent(scheduled, until: 3000) { question, now in question.restart(at: now) } == [0, 1000, 2000])
    }

    @Test func budgetsAreRenewedPerPeriod() {
        var budget = Budget(3, in: .seconds(1))
        #expect(!budget.isSpent(start))
        #expect(budget.take(2, now: start) == 2)
        #expect(budget.take(2, now: start) == 1)
        #expect(budget.isSpent(start + .milliseconds(999)))
        #expect(budget.take(1, now: start + .milliseconds(999)) == 0)
        #expect(!budget.isSpent(start + .seconds(1)))
        #expect(budget.take(9, now: start + .seconds(1)) == 3)
    }

    /// However often deadlines arrive, all of them are examined only at this interval.
    @Test func alarmsPauseBetweenSearches() {
        var alarm = Alarm(pause: .milliseconds(10))
        alarm.note(start)
        #expect(alarm.isDue(start))
        alarm.reset(start)
        #expect(alarm.earliest == nil)
        alarm.note(start + .milliseconds(1))
        #expect(alarm.earliest == start + .milliseconds(10))
        alarm.reset(start + .milliseconds(10))
        alarm.note(start + .milliseconds(50))
        #expect(alarm.earliest == start + .milliseconds(50))
    }
}
