import Testing

@testable import HTTP2

struct StreamTests {
    private static func stream(
        _ incoming: IncomingMessage = .content(remaining: nil), _ outgoing: OutgoingMessage = .content(remaining: nil),
        sendWindow: Int64 = 65_535
    ) -> HTTP2.Stream {
        Stream(
            id: StreamID(1), receiveWindow: ReceiveWindow(size: 1000), sendWindow: SendWindow(size: sendWindow),
            incoming: incoming, outgoing: outgoing, now: .seconds(7))
    }

    private static let incoming: [IncomingMessage] = [
        .head(after: .none), .content(remaining: nil), .content(remaining: 0), .noContent, .tunnel, .ended,
    ]

    private static let outgoing: [OutgoingMessage] = [
        .head, .content(remaining: nil), .content(remaining: 0), .noContent, .tunnel, .ended,
    ]

    /// The state is that of the two messages: each side closes its half with the end of its message.
    @Test func theStateIsThatOfItsMessages() {
        for incoming in Self.incoming {
            for outgoing in Self.outgoing {
                let expected: StreamState =
                    incoming == .ended
                    ? outgoing == .ended ? .closed : .halfClosedRemote : outgoing == .ended ? .halfClosedLocal : .open
                #expect(Self.stream(incoming, outgoing).state == expected)
            }
        }
    }

    /// A stream that enters a state has it, and a half that is open stays what it is.
    @Test func enteringAState() {
        for state in [StreamState.open, .halfClosedLocal, .halfClosedRemote, .closed] {
            var stream = Self.stream(.content(remaining: 5), .content(remaining: 6))
            stream.unsent = .data
            stream.creditWait = CreditWait.next(nil, SendWindow(size: 0), now: .zero)
            stream.enter(state)
            #expect(stream.state == state)
            let endsIncoming = state == .halfClosedRemote || state == .closed
            let endsOutgoing = state == .halfClosedLocal || state == .closed
            #expect(stream.incoming == (endsIncoming ? .ended : .content(remaining: 5)))
            #expect(stream.outgoing == (endsOutgoing ? .ended : .content(remaining: 6)))
            // Nothing waits behind the end.
            #expect(stream.unsent == (endsOutgoing ? .nothing : .data))
            #expect((stream.creditWait == nil) == endsOutgoing)
        }
    }

    @Test func sentDataIsAccounted() {
        var stream = Self.stream(.ended, .content(remaining: 3000), sendWindow: 2000)
        (stream.hold, stream.creditWait) = (.waiting, CreditWait.next(nil, SendWindow(size: 0), now: .zero))
        stream.didSend(1000)
        #expect(stream.sendWindow.available == 1000 && stream.outgoing == .content(remaining: 2000))
        #expect(stream.hold == .free && stream.creditWait != nil, "1,000 bytes are less than the smallest window")
        stream.didSend(24)
        #expect(stream.outgoing == .content(remaining: 1976) && stream.creditWait == nil, "1,024 bytes are not")
        for message in [OutgoingMessage.content(remaining: nil), .tunnel] {
            var stream = Self.stream(.ended, message)
            stream.didSend(1000)
            #expect(stream.outgoing == message && stream.sendWindow.available == 64_535)
        }
    }

    /// The element of the table is free, and keeps little memory for the next stream.
    @Test func clearing() {
        for (count, kept) in [(BodyRing.keptCapacity, BodyRing.keptCapacity), (BodyRing.keptCapacity + 1, 0)] {
            var stream = Self.stream()
            stream.body.append([UInt8](repeating: 1, count: count).span.bytes, limit: count)
            stream.failure = HTTP2StreamFailure(code: .cancel, cause: .peer, processing: .unknown)
            stream.clear()
            #expect(stream.id == .connection && stream.failure == nil)
            #expect(stream.body.count == 0 && stream.body.capacity == kept)
            #expect(stream.takeBody().capacity == kept && stream.body.capacity == 0)
        }
    }

    @Test func whatIsKnownAtTheBeginning() {
        var stream = Self.stream()
        #expect(stream.lastArrival == .seconds(7) && stream.lastCredit == nil && stream.creditWait == nil)
        #expect(stream.unsent == .nothing && stream.hold == .free && stream.failure == nil)
        #expect(stream.requestKind == .ordinary && stream.priority == HTTP2Priority())
        stream.setRequest(.head, HTTP2Priority(urgency: 1))
        #expect(stream.requestKind == .head && stream.priority == HTTP2Priority(urgency: 1))
    }
}
