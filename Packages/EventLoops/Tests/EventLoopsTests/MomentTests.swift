import EventLoops
import Testing

@Suite struct MomentTests {
    @Test func timeAdvances() {
        let first = Moment.now
        let second = Moment.now
        #expect(first <= second)
        #expect(first.duration(to: second) >= .zero)
        #expect(second.duration(to: first) <= .zero)
    }

    @Test(arguments: [Duration.zero, .nanoseconds(1), .milliseconds(1500), .seconds(-3), .nanoseconds(-1)])
    func adding(_ duration: Duration) {
        let start = Moment.now
        #expect(start.duration(to: start + duration) == duration)
    }

    /// Any duration of a caller can be added.
    @Test func sumsAreLimited() {
        let start = Moment.now
        #expect(start + .seconds(Int64.max) > start + .seconds(1_000_000_000))
        #expect(start + .seconds(Int64.min) < start)
        #expect(start.duration(to: start + .seconds(Int64.max)) > .seconds(1_000_000_000))
    }
}
