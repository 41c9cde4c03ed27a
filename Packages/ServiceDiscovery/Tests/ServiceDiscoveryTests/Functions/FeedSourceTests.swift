import EventLoops
import Testing

@testable import class DNSServiceEngine.FeedSource
@testable import ServiceDiscovery

/// The end of an operation while it begins on another thread.
@Suite struct FeedSourceTests {
    /// Always has an element.
    private final class Driver: FeedDriver {
        let condition = Condition()
        let isStopped = Locked(false)
        /// How often the observer was called.
        let calls = Locked(0)

        func take() -> Result<Int?, ServiceDiscoveryError>? { .success(7) }
        func receive(_ event: DiscoveryEvent, of operation: Int) {}
        func notify() {}
        func stop() { isStopped.withLock { $0 = true } }
        func call() { calls.withLock { $0 += 1 } }
        var callCount: Int { calls.withLock { $0 } }
    }

    private let driver = Driver()

    private func makeSource() -> FeedSource<Int> { FeedSource(DiscoveryFeed(driver)) { _ in { _ in } } }

    @Test func aFeedThatHasElementsCallsAgain() {
        let source = makeSource()
        source.begin { [driver] in driver.call() }
        #expect(driver.callCount == 1)
        driver.condition.notify()
        #expect(driver.callCount == 2 && source.next() != nil)
        source.stop()
        driver.condition.notify()
        #expect(driver.callCount == 2 && source.next() == nil && driver.isStopped.withLock { $0 })
    }

    /// What the callback holds.
    private final class Held: Sendable {}

    /// The timer and the subscription that are made when the operation has ended are cancelled: nothing holds the callback.
    @Test(arguments: [nil, .seconds(3600)] as [Duration?])
    func anOperationThatEndsWhileItBegins(timeout: Duration?) {
        for endsBefore in [false, true] {
            let source = makeSource()
            if endsBefore { source.stop() }
            let before = driver.callCount
            weak var held: Held?
            do {
                let object = Held()
                held = object
                source.begin(timeout: timeout) { [driver, weak source] in
                    withExtendedLifetime(object) { driver.call() }
                    source?.stop()
                }
            }
            #expect(driver.callCount == before + 1 && held == nil)
            driver.condition.notify()
            #expect(driver.callCount == before + 1 && source.next() == nil)
        }
    }
}
