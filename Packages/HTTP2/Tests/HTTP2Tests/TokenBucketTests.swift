import Testing

@testable import HTTP2

struct TokenBucketTests {
    @Test func burstAndRate() {
        var bucket = TokenBucket(HTTP2Rate(burst: 3, perSecond: 2))
        for _ in 0..<3 { #expect(bucket.take(now: .seconds(10)) == true) }
        #expect(bucket.take(now: .seconds(10)) == false)
        #expect(bucket.take(now: .seconds(10) + .milliseconds(499)) == false)
        #expect(bucket.take(now: .seconds(10) + .milliseconds(500)) == true)
        #expect(bucket.take(now: .seconds(10) + .milliseconds(500)) == false)
        for _ in 0..<3 { #expect(bucket.take(now: .seconds(1_000_000_000_000)) == true) }
        #expect(bucket.take(now: .seconds(1_000_000_000_000)) == false)
    }

    @Test func manySmallStepsFillAsMuchAsALargeOne() {
        var bucket = TokenBucket(HTTP2Rate(burst: 1, perSecond: 10))
        #expect(bucket.take(now: .zero) == true)
        var taken = 0
        for step in 1...100_000 where bucket.take(now: .microseconds(step * 10)) { taken += 1 }
        #expect(taken == 10)
    }

    @Test func aClockThatGoesBackGivesNothing() {
        var bucket = TokenBucket(HTTP2Rate(burst: 1, perSecond: 1))
        #expect(bucket.take(now: .seconds(100)) == true)
        #expect(bucket.take(now: .seconds(50)) == false)
    }

    @Test func extremeRates() {
        var none = TokenBucket(HTTP2Rate(burst: 0, perSecond: 0))
        #expect(none.take(now: .zero) == false)
        for rate in [
            HTTP2Rate(burst: 1_000_000_000, perSecond: .max), HTTP2Rate(burst: .max, perSecond: .max),
            HTTP2Rate(burst: .max, perSecond: 0), HTTP2Rate(burst: .max, perSecond: 1_000_000),
        ] {
            var all = TokenBucket(rate)
            for step in 0..<100 {
                #expect(all.take(now: .seconds(step * 1_000_000)) == true)
                all.putBack()
            }
        }
        var negative = TokenBucket(HTTP2Rate(burst: .min, perSecond: .min))
        for step in 0..<3 { #expect(negative.take(now: .seconds(step * 1_000_000)) == false) }
    }
}
