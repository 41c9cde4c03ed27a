import Testing

@testable import HTTPStream

struct LendingTests {
    /// Each state, and the states after a thread borrows the connection and returns it, after another waiter arrives, after the request
    /// was sent, and after time has passed since.
    @Test(arguments: [
        (Lending.none, Lending.lent, Lending.none, Lending.awaited, Lending.justSent, Lending.none),
        (.justSent, .lent, .justSent, .awaited, .justSent, .none),
        (.lent, .lent, .none, .lentAndAwaited, .lent, .lent),
        (.lentAndAwaited, .lentAndAwaited, .awaited, .lentAndAwaited, .lentAndAwaited, .lentAndAwaited),
        (.awaited, .lentAndAwaited, .awaited, .awaited, .awaited, .awaited),
    ])
    func transitions(
        _ state: Lending, _ lent: Lending, _ returned: Lending, _ awaited: Lending, _ sent: Lending, _ passed: Lending
    ) {
        func after(_ event: (inout Lending) -> Void) -> Lending {
            var next = state
            event(&next)
            return next
        }
        #expect(after { $0.begin() } == lent)
        #expect(after { $0.end() } == returned)
        #expect(after { $0.addWaiter() } == awaited)
        #expect(after { $0.noteSent() } == sent)
        #expect(after { $0.noteTime() } == passed)
        #expect(state.isLent == [.lent, .lentAndAwaited].contains(state))
        #expect(state.isAwaited == [.lentAndAwaited, .awaited].contains(state))
    }
}
