import Testing

@testable import HTTP2

struct StreamStateTests {
    /// RFC 9113 §5.1 in words, written independently of the table: what an endpoint must do with a frame in a state.
    private func expectation(
        _ state: StreamState, _ event: StreamState.Event, _ side: StreamState.Side
    ) -> StreamState.Transition {
        if event == .pushPromise { return side == .receive ? .connectionError(.protocolError) : .forbidden }
        if event == .priority { return side == .receive ? .ignore : .forbidden }
        let isHeaders = event == .headers || event == .headersEnd
        let isMessage = isHeaders || event == .data || event == .dataEnd
        let ends = event == .headersEnd || event == .dataEnd
        switch (state, side) {
        case (.idle, .receive):
            guard isHeaders else { return .connectionError(.protocolError) }
            return .to(ends ? .halfClosedRemote : .open)
        case (.idle, .send):
            guard isHeaders else { return .forbidden }
            return .to(ends ? .halfClosedLocal : .open)
        case (.closed, .receive):
            if isHeaders { return .connectionError(.streamClosed) }
            return isMessage ? .streamError(.streamClosed) : .ignore
        case (.closed, .send): return .forbidden
        default: break
        }
        if event == .resetStream { return .to(.closed) }
        if event == .windowUpdate { return .to(state) }
        let hasEnded = side == .receive ? state == .halfClosedRemote : state == .halfClosedLocal
        if hasEnded { return side == .receive ? .streamError(.streamClosed) : .forbidden }
        guard ends else { return .to(state) }
        if state == .open { return .to(side == .receive ? .halfClosedRemote : .halfClosedLocal) }
        return .to(.closed)
    }

    @Test func eachCell() {
        var count = 0
        for state in StreamState.allCases {
            for event in StreamState.Event.allCases {
                for side in StreamState.Side.allCases {
                    let (found, expected) = (state.transition(event, side), expectation(state, event, side))
                    #expect(found == expected, "\(state), \(event), \(side)")
                    count += 1
                }
            }
        }
        #expect(count == 80)
    }

    @Test func sidesMirrorEachOther() {
        let mirror: [StreamState: StreamState] = [
            .idle: .idle, .open: .open, .halfClosedLocal: .halfClosedRemote, .halfClosedRemote: .halfClosedLocal,
            .closed: .closed,
        ]
        for state in StreamState.allCases {
            for event in StreamState.Event.allCases {
                guard case .to(let sent) = state.transition(event, .send), let seen = mirror[state] else { continue }
                #expect(seen.transition(event, .receive) == .to(mirror[sent] ?? .idle), "\(state), \(event)")
            }
        }
    }
}
