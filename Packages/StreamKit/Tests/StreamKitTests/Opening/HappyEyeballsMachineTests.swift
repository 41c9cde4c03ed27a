import EventLoops
import HostResolver
import Testing

@testable import StreamKit

@Suite("SK-038: RFC 8305, without a clock") struct HappyEyeballsMachineTests {
    private let start = Moment.now

    private func address(_ text: String) -> SocketAddress { .ip(IPAddress(text)!, port: 80) }

    private func at(_ milliseconds: Int) -> Moment { start + .milliseconds(milliseconds) }

    /// All further attempts, each of which fails at once.
    private func order(_ machine: inout HappyEyeballsMachine) -> [String] {
        var order: [String] = []
        while case .attempt(let number, let address) = machine.next(now: start) {
            order.append("\(address.ipAddress!)")
            machine.attemptFailed(number)
        }
        return order
    }

    @Test(
        "§4: families alternate, beginning with the first one of the lookup",
        arguments: [
            (["::1", "::2", "192.0.2.1", "192.0.2.2"], ["::1", "192.0.2.1", "::2", "192.0.2.2"]),
            (["192.0.2.1", "192.0.2.2", "::1"], ["192.0.2.1", "::1", "192.0.2.2"]),
            (["192.0.2.1", "192.0.2.2"], ["192.0.2.1", "192.0.2.2"]),
            (["::1", "::1", "192.0.2.1"], ["::1", "192.0.2.1"]),
        ])
    func interleaves(_ given: [String], _ tried: [String]) {
        var machine = HappyEyeballsMachine()
        machine.receive(given.map(address), families: .all, now: start)
        machine.lookupEnded()
        #expect(order(&machine) == tried)
        #expect(machine.next(now: start) == .failed)
    }

    @Test("§3: IPv6 gets another 50 ms")
    func waitsForTheOtherFamily() {
        var machine = HappyEyeballsMachine()
        #expect(machine.next(now: start) == .wait(until: nil))
        machine.receive([address("192.0.2.1")], families: .v4, now: start)
        #expect(machine.next(now: at(0)) == .wait(until: at(50)))
        #expect(machine.next(now: at(49)) == .wait(until: at(50)))
        #expect(machine.next(now: at(50)) == .attempt(1, address("192.0.2.1")))
    }

    @Test("§3: IPv6 in time comes first; an empty IPv6 answer or the end of the lookup ends the delay")
    func delayEndsEarly() {
        var machine = HappyEyeballsMachine()
        machine.receive([address("192.0.2.1")], families: .v4, now: start)
        machine.receive([address("::1")], families: .v6, now: at(10))
        guard case .attempt = machine.next(now: at(10)) else {
            Issue.record("still waiting")
            return
        }
        var empty = HappyEyeballsMachine()
        empty.receive([address("192.0.2.1")], families: .v4, now: start)
        empty.receive([], families: .v6, now: at(10))
        #expect(empty.next(now: at(10)) == .attempt(1, address("192.0.2.1")))
        var over = HappyEyeballsMachine()
        over.receive([address("192.0.2.1")], families: .v4, now: start)
        over.lookupEnded()
        #expect(over.next(now: start) == .attempt(1, address("192.0.2.1")))
    }

    @Test("§5: the next attempt begins after the delay, or at once after a failure")
    func staggers() {
        var machine = HappyEyeballsMachine(attemptDelay: .milliseconds(250))
        machine.receive(["::1", "192.0.2.1", "::2"].map(address), families: .all, now: start)
        machine.lookupEnded()
        #expect(machine.next(now: at(0)) == .attempt(1, address("::1")))
        #expect(machine.next(now: at(0)) == .wait(until: at(250)))
        #expect(machine.next(now: at(250)) == .attempt(2, address("192.0.2.1")))
        #expect(machine.next(now: at(300)) == .wait(until: at(500)))
        machine.attemptFailed(1)
        #expect(machine.next(now: at(300)) == .attempt(3, address("::2")))
        #expect(machine.next(now: at(300)) == .wait(until: nil))
        machine.attemptSucceeded(2)
        #expect(machine.next(now: at(301)) == .connected(2))
        machine.attemptSucceeded(3)
        #expect(machine.next(now: at(301)) == .connected(2))
    }

    @Test("late answers are tried; failure is certain only when the lookup has ended")
    func lateAnswers() {
        var machine = HappyEyeballsMachine()
        machine.receive([address("::1")], families: .v6, now: start)
        #expect(machine.next(now: start) == .attempt(1, address("::1")))
        machine.attemptFailed(1)
        #expect(machine.next(now: at(5)) == .wait(until: at(1000)))
        machine.receive([address("192.0.2.1")], families: .v4, now: at(900))
        #expect(machine.next(now: at(900)) == .attempt(2, address("192.0.2.1")))
        machine.attemptFailed(2)
        machine.attemptFailed(2)
        #expect(machine.next(now: at(901)) == .wait(until: at(1000)))
        machine.lookupEnded()
        #expect(machine.next(now: at(902)) == .failed)
    }

    @Test("a family without an answer does not hold a connection whose other addresses have failed")
    func silentFamily() {
        var machine = HappyEyeballsMachine()
        machine.receive([], families: .v6, now: start)
        #expect(machine.next(now: at(0)) == .wait(until: nil))
        machine = HappyEyeballsMachine()
        machine.receive([address("192.0.2.1")], families: .v4, now: start)
        #expect(machine.next(now: at(50)) == .attempt(1, address("192.0.2.1")))
        // An attempt in progress has no such limit.
        #expect(machine.next(now: at(2000)) == .wait(until: nil))
        machine.attemptFailed(1)
        #expect(machine.next(now: at(2000)) == .failed)

        machine = HappyEyeballsMachine()
        machine.receive([address("192.0.2.1")], families: .v4, now: start)
        #expect(machine.next(now: at(50)) == .attempt(1, address("192.0.2.1")))
        machine.attemptFailed(1)
        #expect(machine.next(now: at(999)) == .wait(until: at(1000)))
        #expect(machine.next(now: at(1000)) == .failed)
    }

    @Test("an address that was not tried cannot win") func unknownAttemptsDoNotWin() {
        var machine = HappyEyeballsMachine()
        machine.attemptSucceeded(7)
        machine.lookupEnded()
        #expect(machine.next(now: start) == .failed)
    }
}
