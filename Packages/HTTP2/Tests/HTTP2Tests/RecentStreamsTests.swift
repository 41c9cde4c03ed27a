import Testing

@testable import HTTP2

struct RecentStreamsTests {
    @Test func eachIsNotedOnce() throws {
        var limits = HTTP2Limits()
        limits.maximumConcurrentStreams = 200
        var recent = RecentStreams(limits)
        for id in 0..<400 as Range<UInt32> {
            recent.insert(StreamID(1 + 2 * id), wasResetHere: true)
            recent.insert(StreamID(1 + 2 * id), wasResetHere: false)
        }
        #expect(recent.wasResetHere(StreamID(1)) && recent.wasResetHere(StreamID(799)))
        recent.insert(StreamID(801), wasResetHere: false)
        #expect(!recent.contains(StreamID(1)) && recent.contains(StreamID(3)) && !recent.wasResetHere(StreamID(801)))
    }
}
