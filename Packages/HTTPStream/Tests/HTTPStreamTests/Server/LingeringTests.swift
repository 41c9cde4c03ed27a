import EventLoops
import StreamKit
import Testing

@testable import HTTPStream

/// How long a server waits for a client after the last response.
@Suite struct LingeringTests {
    private let start = Moment.now

    private func lingering() -> Lingering {
        var configuration = HTTPServer.Configuration()
        configuration.lingerTimeout = .seconds(2)
        configuration.writeTimeout = .seconds(30)
        return Lingering(configuration, now: start)
    }

    @Test func aClientThatHasReceivedEverythingHasAFixedTime() {
        var lingering = lingering()
        #expect(lingering.nextWait(unsent: 0, now: start) == .seconds(2))
        lingering.note(10)
        #expect(lingering.nextWait(unsent: 0, now: start + .milliseconds(1500)) == .milliseconds(500))
        #expect(lingering.nextWait(unsent: 0, now: start + .seconds(2)) == nil)
    }

    @Test func aClientThatGoesOnReceivingIsWaitedFor() {
        var lingering = lingering()
        var now = start
        for left in stride(from: 1000, to: 0, by: -100) {
            #expect(lingering.nextWait(unsent: left, now: now) == .seconds(2))
            now = now + .seconds(20)
        }
        #expect(lingering.nextWait(unsent: 0, now: now) == nil)
    }

    @Test func aClientThatReceivesNothingMoreHasTheTimeOfAWrite() {
        var lingering = lingering()
        #expect(lingering.nextWait(unsent: 1000, now: start) == .seconds(2))
        #expect(lingering.nextWait(unsent: 1000, now: start + .seconds(29)) == .seconds(1))
        #expect(lingering.nextWait(unsent: 1000, now: start + .seconds(30)) == nil)
    }

    @Test func aClientThatSendsWithoutEndIsNotReadForEver() {
        var lingering = lingering()
        lingering.note(512 * 1024)
        #expect(lingering.nextWait(unsent: 0, now: start) == nil)
    }
}
