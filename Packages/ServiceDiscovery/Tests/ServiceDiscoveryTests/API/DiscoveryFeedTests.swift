import EventLoops
import Testing

@testable import ServiceDiscovery

/// The last element, and the failure that ends a search, are not taken for its end.
@Suite struct DiscoveryFeedTests {
    /// Has nothing when it is first asked; what comes, comes right after that, with the end.
    private final class Source: DiscoveryFeedSource {
        let point = WaitPoint()
        private let steps: Locked<[Result<DiscoveryStep<Int>, ServiceDiscoveryError>]>

        init(_ steps: [Result<DiscoveryStep<Int>, ServiceDiscoveryError>]) {
            self.steps = Locked(steps)
        }

        func take() throws(ServiceDiscoveryError) -> DiscoveryStep<Int> {
            point.signal(.readable)
            return try steps.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }.get()
        }

        func deliver(to signal: any DeliverySignal) {}
        func stop() {}
    }

    @Test func theLastElementIsNotTheEnd() async throws {
        let feed = DiscoveryFeed(Source([.success(.nothing), .success(.element(7)), .success(.over)]))
        #expect(try await feed.next() == 7)
        #expect(try await feed.next() == nil)
    }

    @Test func aFailureIsNotTheEnd() async throws {
        let failure = ServiceDiscoveryError(.daemonUnavailable)
        let feed = DiscoveryFeed(Source([.success(.nothing), .failure(failure), .success(.over)]))
        await #expect(throws: failure) { try await feed.next() }
        #expect(try await feed.next() == nil)
    }

    @Test func blockingCallsDoTheSame() throws {
        let failure = ServiceDiscoveryError(.daemonUnavailable)
        let feed = DiscoveryFeed(
            Source([.success(.nothing), .success(.element(7)), .success(.nothing), .failure(failure), .success(.over)]))
        #expect(try feed.next() == 7)
        #expect(throws: failure) { try feed.next() }
        #expect(try feed.next() == nil)
    }

    /// Both runners: what was found, then why it ended, then the end.
    @Test func aSearchEndsWithItsFailure() throws {
        let (backend, failure) = (ScriptedBackend(), ServiceDiscoveryError(.daemonUnavailable))
        let browser = ServiceBrowser(try ServiceType("_http._tcp"), engine: DiscoveryEngine(backend))
        let feed = try browser.start()
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        backend.tell(.added(DNSRecord(.http, timeToLive: 9, .ptr(web.fullName)), interface: 1))
        backend.tell(.failed(failure))
        #expect(try feed.next()?.value == web)
        #expect(throws: failure) { try feed.next() }
        #expect(try feed.next() == nil)
        let publisher = try ServicePublisher(.http("Web"), engine: DiscoveryEngine(backend))
        backend.tell(.published(web))
        backend.tell(.failed(failure))
        #expect(try publisher.names.next() == web)
        #expect(throws: failure) { try publisher.names.next() }
    }

    /// A search that has failed can be begun again.
    @Test func aMonitorCanBeStartedAgainAfterTheDaemonHasGone() throws {
        let (backend, failure) = (ScriptedBackend(), ServiceDiscoveryError(.daemonUnavailable))
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        let monitor = ServiceMonitor(web, engine: DiscoveryEngine(backend))
        let feed = try monitor.start()
        backend.tell(.failed(failure))
        #expect(throws: failure) { try feed.next() }
        feed.stop()
        backend.set([DNSRecord(web.fullName, timeToLive: 9, .txt([Array("k=v".utf8)]))])
        #expect(try monitor.start().next()?.string("k") == "v")
    }
}
