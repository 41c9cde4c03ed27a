import Testing

@testable import HTTP2

struct EventQueueTests {
    @Test func keepsTheOrder() {
        var queue = EventQueue()
        var (appended, taken) = (UInt32(0), UInt32(0))
        for _ in 0..<10_000 {
            // The program never takes the last event.
            for _ in 0..<2 where appended < taken + 20 {
                queue.append(.readable(StreamID(appended)))
                appended += 1
            }
            #expect(queue.take() == .readable(StreamID(taken)))
            taken += 1
            #expect(queue.count == Int(appended - taken))
        }
    }

    @Test func repetitionsTakeThePlaceOfWhatTheyRepeat() {
        var queue = EventQueue()
        let goAways = [5, 3].map { HTTP2GoAway(lastStream: StreamID($0), code: .noError, debugData: []) }
        for _ in 0..<100 {
            queue.replace(with: .settings)
            queue.append(.readable(StreamID(1)))
            for goAway in goAways { queue.replace(with: .goAway(goAway)) }
            #expect(queue.take() != nil)
        }
        #expect(queue.count == 3)
        var rest: [HTTP2Event] = []
        while let event = queue.take() { rest.append(event) }
        #expect(rest.last == .goAway(goAways[1]))
    }
}
