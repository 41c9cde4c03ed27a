import DNSWire
import Testing

@_spi(Packages) @testable import HostResolver

@Suite struct DNSCacheTests {
    private let start = ContinuousClock.now

    private func question(_ name: String) -> DNSQuestion { DNSQuestion(DNSName(name)!, .a) }

    private func answer(_ name: String, _ time: UInt32) -> Result<DNSAnswer, ResolverError> {
        let record = DNSRecord(DNSName(name)!, timeToLive: time, .a(.loopback))
        return .success(DNSAnswer(records: [record], canonicalName: DNSName(name)!, timeToLive: time))
    }

    private func look(
        _ cache: inout DNSCache, _ name: String, _ now: ContinuousClock.Instant
    ) -> Result<DNSAnswer, ResolverError>? {
        cache.answer(to: question(name), now: now)
    }

    @Test func reducesTimesAndExpires() throws {
        var cache = DNSCache(limit: 10)
        cache.store(answer("a.example", 30), negativeTime: nil, to: question("a.example"), now: start)
        let known = cache.answer(to: question("A.EXAMPLE"), now: start + .seconds(10))
        let later = try #require(known).get()
        #expect(later.timeToLive == 20 && later.records[0].timeToLive == 20)
        #expect(look(&cache, "a.example", start + .seconds(30)) == nil)
        #expect(cache.statistics == DNSCache.Statistics(hits: 1, misses: 1, count: 0))
    }

    @Test func cachesNegativeAnswersForTheZonesTime() {
        var cache = DNSCache(limit: 10)
        let failure: Result<DNSAnswer, ResolverError> = .failure(ResolverError(.hostNotFound))
        cache.store(failure, negativeTime: nil, to: question("a.example"), now: start)
        cache.store(failure, negativeTime: 5, to: question("b.example"), now: start)
        cache.store(failure, negativeTime: .max, to: question("c.example"), now: start)
        cache.store(.failure(ResolverError(.timedOut)), negativeTime: 5, to: question("d.example"), now: start)
        #expect(look(&cache, "a.example", start) == nil)
        #expect(look(&cache, "b.example", start + .seconds(4)) == failure)
        #expect(look(&cache, "b.example", start + .seconds(5)) == nil)
        #expect(look(&cache, "c.example", start + DNSCache.maximumNegativeTime) == nil)
        #expect(look(&cache, "d.example", start) == nil)
    }

    @Test func isBounded() {
        var cache = DNSCache(limit: 3)
        for index in 0..<10 {
            let name = "n\(index).example"
            cache.store(answer(name, UInt32(100 + index)), negativeTime: nil, to: question(name), now: start)
        }
        #expect(cache.statistics.count == 3)
        #expect(look(&cache, "n9.example", start) != nil)
        #expect(look(&cache, "n0.example", start) == nil)
        cache.flush()
        #expect(cache.statistics.count == 0)
    }

    @Test func boundsTimesAndCachesNothingForZero() {
        var cache = DNSCache(limit: 3)
        cache.store(answer("a.example", .max), negativeTime: nil, to: question("a.example"), now: start)
        #expect(look(&cache, "a.example", start + DNSCache.maximumTime) == nil)
        cache.store(answer("b.example", 0), negativeTime: nil, to: question("b.example"), now: start)
        #expect(look(&cache, "b.example", start) == nil)
        var none = DNSCache(limit: 0)
        none.store(answer("a.example", 9), negativeTime: nil, to: question("a.example"), now: start)
        #expect(look(&none, "a.example", start) == nil)
    }
}
