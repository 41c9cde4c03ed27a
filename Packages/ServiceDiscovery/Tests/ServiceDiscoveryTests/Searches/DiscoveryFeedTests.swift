import DNSWire
import EventLoops
import Testing

@testable import ServiceDiscovery

/// The last element, and the failure that ends a search, are not mistaken for its end.
@Suite struct DiscoveryFeedTests {
    /// Has nothing at the first call; the elements and the end arrive right after it.
    private final class Driver: FeedDriver {
        let condition = Condition()
        private let steps: Locked<[Result<Int?, ServiceDiscoveryError>?]>

        init(_ steps: [Result<Int?, ServiceDiscoveryError>?]) {
            self.steps = Locked(steps)
        }

        func take() -> Result<Int?, ServiceDiscoveryError>? {
            condition.notify()
            return steps.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }

        func receive(_ event: DiscoveryEvent, of operation: Int) {}
        func notify() {}
        func stop() {}
    }

    @Test func theLastElementIsNotTheEnd() async throws {
        let feed = DiscoveryFeed(Driver([nil, .success(7), .success(nil)]))
        #expect(try await feed.next() == 7)
        #expect(try await feed.next() == nil)
    }

    @Test func aFailureIsNotTheEnd() async throws {
        let failure = ServiceDiscoveryError(.daemonUnavailable)
        let feed = DiscoveryFeed(Driver([nil, .failure(failure), .success(nil)]))
        await #expect(throws: failure) { try await feed.next() }
        #expect(try await feed.next() == nil)
    }

    @Test func blockingCallsDoTheSame() throws {
        let failure = ServiceDiscoveryError(.daemonUnavailable)
        let feed = DiscoveryFeed(
            Driver([nil, .success(7), nil, .failure(failure), .success(nil)]))
        #expect(try feed.next() == 7)
        #expect(throws: failure) { try feed.next() }
        #expect(try feed.next() == nil)
    }

    /// Both drivers report the elements, then the failure, then the end.
    @Test func aSearchEndsWithItsFailure() throws {
        let (engine, failure) = (ScriptedEngine(), ServiceDiscoveryError(.daemonUnavailable))
        let browser = ServiceBrowser(try ServiceType("_http._tcp"), engine: DiscoveryEngine(engine))
        let feed = try browser.start()
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        engine.report(.added(DNSRecord(.http, timeToLive: 9, .ptr(web.fullName)), interface: 1, named: nil))
        engine.report(.failed(failure))
        #expect(try feed.next()?.value == web)
        #expect(throws: failure) { try feed.next() }
        #expect(try feed.next() == nil)
        let publisher = try ServicePublisher(.http("Web"), engine: DiscoveryEngine(engine))
        engine.report(.published(web))
        engine.report(.failed(failure))
        #expect(try publisher.names.next() == web)
        #expect(throws: failure) { try publisher.names.next() }
    }

    /// A browser does not wait for name servers that do not answer: it ends, and its queries with it. The lists of domains may be read later.
    @Test func aSearchEndsWithoutAnAnswer() throws {
        let failure = ServiceDiscoveryError(.lookupFailed)
        let (engine, other) = (ScriptedEngine(), ScriptedEngine())
        let feed = try ServiceBrowser(try ServiceType("_http._tcp"), engine: DiscoveryEngine(engine)).start()
        let domains = try ServiceDomainBrowser(.browsing, engine: DiscoveryEngine(other)).start()
        #expect(engine.running.count == 1 && other.running.count == 3)
        for engine in [engine, other] { engine.report(.unanswered(failure)) }
        #expect(throws: failure) { try feed.next() }
        #expect(try feed.next() == nil && engine.running.isEmpty)
        #expect(try domains.tryNext()?.value == .local && domains.tryNext() == nil && other.running.count == 3)
        let list = try #require(DNSName("lb._dns-sd._udp.local"))
        other.set([DNSRecord(list, timeToLive: 9, .ptr(DNSName("example.org")!))])
        #expect(try domains.tryNext()?.value.description == "example.org.")
    }

    @Test func aFeedListsTheNamesThatItSkips() throws {
        let engine = ScriptedEngine()
        let services = try ServiceBrowser(ServiceType("_http._tcp"), engine: DiscoveryEngine(engine)).start()
        let types = try ServiceTypeBrowser(engine: DiscoveryEngine(engine)).start()
        let odd = try #require(DNSName(labels: [[0x5F, 0xFF]] + DNSName.http.labels.dropFirst()))
        #expect(services.skipped.isEmpty && types.skipped.isEmpty)
        engine.report(.added(DNSRecord(.http, timeToLive: 9, .ptr(odd)), interface: 1, named: nil))
        #expect(services.skipped == [odd] && types.skipped == [odd])
        #expect(try services.tryNext() == nil && types.tryNext() == nil)
    }

    /// The engine reports the known records while a query begins.
    @Test func aSearchTakesTheEventsOfAQueryThatBegins() throws {
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        let engine = ScriptedEngine { _, operation, sink in
            let pointer = DNSRecord(.http, timeToLive: 9, .ptr(web.fullName))
            sink.receive(.added(pointer, interface: 1, named: nil), of: operation + 1)  // of another search
            sink.receive(.added(pointer, interface: 1, named: nil), of: operation)
        }
        let feed = try ServiceBrowser(web.type, engine: DiscoveryEngine(engine)).start()
        #expect(try feed.tryNext()?.value == web)
        #expect(try feed.tryNext() == nil)
    }

    /// The failure of a query ends the search while the engine still begins the query.
    @Test func aSearchThatEndsWhileAQueryBeginsEndsTheQuery() throws {
        let failure = ServiceDiscoveryError(.daemonUnavailable)
        let engine = ScriptedEngine { _, operation, sink in sink.receive(.failed(failure), of: operation) }
        let type = try ServiceType("_http._tcp")
        let feed = try ServiceBrowser(type, domain: .local, engine: DiscoveryEngine(engine)).start()
        #expect(throws: failure) { try feed.next() }
        feed.stop()
        #expect(engine.calls == ["query PTR", "end"] && engine.running.isEmpty)
    }

    /// A search that has failed can be started again.
    @Test func aMonitorRestartsAfterADaemonFailure() throws {
        let (engine, failure) = (ScriptedEngine(), ServiceDiscoveryError(.daemonUnavailable))
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        let monitor = ServiceMonitor(web, engine: DiscoveryEngine(engine))
        let feed = try monitor.start()
        engine.report(.failed(failure))
        #expect(throws: failure) { try feed.next() }
        feed.stop()
        engine.set([DNSRecord(web.fullName, timeToLive: 9, .txt([Array("k=v".utf8)]))])
        #expect(try monitor.start().next()?.string("k") == "v")
    }
}
