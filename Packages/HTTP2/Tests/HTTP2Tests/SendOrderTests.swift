import Testing

@testable import HTTP2

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
