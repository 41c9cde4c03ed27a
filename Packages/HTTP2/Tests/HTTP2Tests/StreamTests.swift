import Testing

@testable import HTTP2

struct ReceiveWindowTests {
    @Test func sumNeverChanges() {
        var window = ReceiveWindow(size: 1000)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<10_000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: _ = window.receive(Int.random(in: 0...400, using: &random))
            case 1: window.consume(Int64.random(in: 0...window.unread, using: &random))
            case 2: window.grow(by: 10)
            case 3: if window.size > 500 { window.shrink(by: 10) }
            default: _ = window.takeCredit(threshold: window.size / 2)
            }
            #expect(window.available + window.unread + window.pending == window.size)
            #expect(window.available >= 0 && window.unread >= 0)
        }
    }

    @Test func creditComesAtHalfAWindow() {
        var window = ReceiveWindow(size: 1000)
        #expect(window.receive(1000) == true)
        #expect(window.receive(1) == false)
        window.consume(499)
        #expect(window.takeCredit(threshold: 500) == nil)
        window.consume(1)
        #expect(window.takeCredit(threshold: 500) == 500)
        #expect(window.takeCredit(threshold: 500) == nil)
        #expect(window.available == 500 && window.unread == 500)
    }

    @Test func whatAShrunkWindowOwesIsNotGivenBack() {
        var window = ReceiveWindow(size: 1000)
        window.shrink(by: 400)
        #expect(window.receive(800) == true)
        window.consume(800)
        #expect(window.takeCredit(threshold: 1) == 400)
        #expect(window.available == 600 && window.size == 600)
    }
}

struct SendWindowTests {
    @Test func limit() {
        var window = SendWindow(size: 65_535)
        #expect(window.add(SendWindow.maximum - 65_535) == true)
        #expect(window.add(1) == false)
        #expect(window.available == SendWindow.maximum)
    }

    @Test func isNegativeAfterSettings() {
        var window = SendWindow(size: 100)
        window.spend(80)
        #expect(window.add(-100) == true)
        #expect(window.available == -80)
        #expect(window.add(90) == true)
        #expect(window.available == 10)
    }

    @Test func aWindowThatWasNeverLargeIsNotExhausted() {
        #expect(!SendWindow(size: 5).isNearlyExhausted)
        var window = SendWindow(size: 2000)
        window.spend(1500)
        #expect(window.isNearlyExhausted)
        #expect(window.add(600) == true)
        #expect(!window.isNearlyExhausted)
    }
}

struct BodyRingTests {
    @Test func isAQueue() {
        var ring = BodyRing()
        var expected: [UInt8] = []
        var read: [UInt8] = []
        var next: UInt8 = 0
        for round in 0..<2000 {
            let bytes = (0..<(round * 37 % 300)).map { _ -> UInt8 in
                next &+= 1
                return next
            }
            ring.append(bytes.span.bytes, limit: 1_000_000)
            expected += bytes
            var buffer = [UInt8](repeating: 0, count: round * 53 % 290)
            var span = buffer.mutableSpan
            var target = span.mutableBytes
            let count = ring.read(into: &target)
            read += buffer[..<count]
            #expect(ring.count == expected.count - read.count)
        }
        while ring.count > 0 {
            var buffer = [UInt8](repeating: 0, count: 100)
            var span = buffer.mutableSpan
            var target = span.mutableBytes
            let count = ring.read(into: &target)
            read += buffer[..<count]
        }
        #expect(read == expected)
    }

    @Test func trimmingKeepsTheBytes() {
        var ring = BodyRing()
        let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
        ring.append(bytes.span.bytes, limit: 100_000)
        var memory = [UInt8](repeating: 0, count: 50_000)
        var span = memory.mutableSpan
        var target = span.mutableBytes
        #expect(ring.read(into: &target) == 50_000)
        // They go around the end of the memory.
        ring.append(bytes.span.bytes.extracting(0..<40_000), limit: 80_000)
        ring.trim()
        #expect(ring.count == 60_000 && ring.capacity == 60_000)
        var rest = [UInt8](repeating: 0, count: 60_000)
        var restSpan = rest.mutableSpan
        var restTarget = restSpan.mutableBytes
        #expect(ring.read(into: &restTarget) == 60_000)
        #expect(rest == Array(bytes[50_000...]) + bytes[..<40_000])
        ring.trim()
        #expect(ring.capacity == 0)
    }

    @Test func keepsLittleMemory() {
        var ring = BodyRing()
        ring.append([UInt8](repeating: 1, count: 70_000).span.bytes, limit: 100_000)
        ring.append([UInt8](repeating: 1, count: 30_000).span.bytes, limit: 100_000)
        #expect(ring.capacity == 100_000)
        ring.removeAll()
        #expect(ring.capacity == 0 && ring.count == 0)
        ring.append([1, 2, 3].span.bytes, limit: 100_000)
        ring.removeAll()
        #expect(ring.capacity > 0 && ring.capacity <= BodyRing.keptCapacity)
    }
}

struct StreamTableTests {
    @Test func findsWhatIsThere() {
        var table = StreamTable()
        var model: Set<UInt32> = []
        var next: UInt32 = 1
        for round in 0..<5000 {
            if round % 3 != 2 || model.isEmpty {
                let place = table.insert(next)
                #expect(table[place].id == StreamID(next))
                model.insert(next)
                next += 2
            } else if let id = model.randomElement(), let place = table.place(of: StreamID(id)) {
                table.remove(place)
                model.remove(id)
                #expect(table.place(of: StreamID(id)) == nil)
            }
            if model.count > 120 {
                for id in model.prefix(100) {
                    if let place = table.place(of: StreamID(id)) { table.remove(place) }
                    model.remove(id)
                }
            }
            #expect(table.count == model.count)
            if round % 50 == 0 {
                for id in stride(from: UInt32(1), to: next, by: 2) {
                    let place = table.place(of: StreamID(id))
                    #expect((place != nil) == model.contains(id))
                    if let place { #expect(table[place].id == StreamID(id)) }
                }
                #expect(Set(table.occupied.map { table[$0].id.rawValue }) == model)
            }
        }
    }
}

struct StreamIndexTests {
    /// A client chooses its identifiers: those that differ in their high bits alone spread as well.
    @Test(arguments: [2, 4, 512, 16_384, 65_536] as [UInt32]) func identifiersSpread(step: UInt32) {
        var index = StreamIndex()
        let streams = (0..<200 as Range<UInt32>).map { StreamID(1 + step * $0) }
        for (place, stream) in streams.enumerated() { index.insert(stream, place: place) }
        #expect(Set(streams.map { index.firstSlot(of: $0) }).count >= 100)
        for (place, stream) in streams.enumerated() { #expect(index.place(of: stream) == place) }
    }
}

extension StreamTable {
    fileprivate mutating func insert(_ id: UInt32) -> Int {
        insert(
            StreamID(id), ReceiveWindow(size: 1), SendWindow(size: 1), incoming: .tunnel, outgoing: .tunnel, now: .zero)
    }
}

struct SendOrderTests {
    private let all: (StreamID) -> Bool = { _ in true }

    @Test func byUrgencyThenByArrival() {
        var order = SendOrder()
        order.add(StreamID(1), HTTP2Priority(urgency: 3))
        order.add(StreamID(3), HTTP2Priority(urgency: 1))
        order.add(StreamID(5), HTTP2Priority(urgency: 3))
        order.add(StreamID(7), HTTP2Priority(urgency: 7))
        order.add(StreamID(1), HTTP2Priority(urgency: 0))
        #expect(order.streams.map(\.rawValue) == [3, 1, 5, 7])
        #expect(order.first(where: { $0 != StreamID(3) }) == StreamID(1))
        order.setPriority(StreamID(7), HTTP2Priority(urgency: 0))
        #expect(order.streams.map(\.rawValue) == [7, 3, 1, 5])
    }

    @Test func incrementalStreamsTakeTurnsAndOthersGoOn() {
        for isIncremental in [true, false] {
            var order = SendOrder()
            let priority = HTTP2Priority(isIncremental: isIncremental)
            order.add(StreamID(1), priority)
            order.add(StreamID(3), priority)
            order.remove(StreamID(1))
            order.add(StreamID(1), priority, goesOn: true)
            #expect(order.first(where: all) == StreamID(isIncremental ? 3 : 1))
        }
    }

    @Test func aStreamThatCannotSendDelaysNoOther() {
        var order = SendOrder()
        order.add(StreamID(1), HTTP2Priority(urgency: 0))
        #expect(!order.isTurn(of: StreamID(3), HTTP2Priority(), canSend: all))
        #expect(order.isTurn(of: StreamID(3), HTTP2Priority(), canSend: { $0 != StreamID(1) }))
        #expect(order.isTurn(of: StreamID(1), HTTP2Priority(urgency: 0), canSend: all))
    }
}

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
        #expect(queue.count <= 16)
        var rest: [HTTP2Event] = []
        while let event = queue.take() { rest.append(event) }
        #expect(rest.last == .goAway(goAways[1]))
    }
}

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
