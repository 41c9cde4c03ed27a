import DNSWire
import Foundation
import ServiceDiscoveryFoundation
import Testing

@testable import ServiceDiscovery

@Suite struct NetServiceBrowserTests {
    private let engine = ScriptedEngine()
    private let delegate = RecordingDelegate()
    private let browser: NetServiceBrowser

    init() {
        browser = NetServiceBrowser(engine: DiscoveryEngine(engine))
        browser.delegate = delegate
    }

    private func pointers(_ names: String...) throws -> [DNSRecord] {
        let type = try ServiceType("_http._tcp")
        return try names.map { name in
            let target = try ServiceInstance(name: name, type: type).fullName
            return DNSRecord(try #require(DNSName("_http._tcp.local")), timeToLive: 9, .ptr(target))
        }
    }

    // Parity: SD-033, SD-034, SD-035, SD-036
    @Test func reportsFoundAndRemovedServices() throws {
        engine.set(try pointers("A", "B.", "Ü"))
        browser.searchForServices(ofType: "_http._tcp.", inDomain: "")
        delegate.run(until: 4)
        // The last of the known services has `moreComing` false.
        #expect(
            delegate.calls == [
                "willSearch", "found A _http._tcp. local. true", "found B. _http._tcp. local. true",
                "found Ü _http._tcp. local. false",
            ])
        engine.set(try pointers("C"))
        delegate.run(until: 5)
        engine.set(try pointers("A", "C"), isPresent: false)
        delegate.run(until: 7)
        #expect(
            delegate.calls.dropFirst(4) == [
                "found C _http._tcp. local. false", "removed A true", "removed C false",
            ])
        #expect(delegate.found.map(\.name) == ["B.", "Ü"])
        browser.stop()
        delegate.run(until: 8)
        #expect(delegate.calls.last == "didStopSearch")
        #expect(engine.running.isEmpty)
        // The services found can still be resolved, and the browser can search again.
        #expect(delegate.found.first?.port == -1)
        browser.searchForServices(ofType: "_http._tcp", inDomain: "local")
        delegate.run(until: 11)
        #expect(delegate.calls.suffix(2) == ["found B. _http._tcp. local. true", "found Ü _http._tcp. local. false"])
    }

    // Parity: SD-031, SD-039
    @Test func performsOneSearchAtATime() {
        browser.searchForServices(ofType: "_http._tcp", inDomain: "")
        browser.searchForBrowsableDomains()
        delegate.run(until: 2)
        #expect(delegate.calls == ["willSearch", "didNotSearch -72003 of 10"])
        browser.stop()
        browser.stop()
        browser.searchForBrowsableDomains()
        delegate.run(until: 5)
        #expect(delegate.calls.dropFirst(2) == ["didStopSearch", "willSearch", "found local. false"])
    }

    @Test(arguments: [("http", "", -72004), ("_http._tcp", "a..b", -72004)])
    func refusesInvalidNames(_ type: String, _ domain: String, _ code: Int) {
        browser.searchForServices(ofType: type, inDomain: domain)
        delegate.run(until: 1)
        #expect(delegate.calls == ["didNotSearch \(code) of 10"])
    }

    /// There are no name servers.
    @Test func failsWithoutNameServers() {
        browser.searchForServices(ofType: "_http._tcp", inDomain: "example.org")
        delegate.run(until: 2)
        #expect(delegate.calls == ["willSearch", "didNotSearch -72000 of 10"])
        #expect(engine.calls.isEmpty)
    }

    // Parity: SD-113
    @Test func findsTypes() throws {
        browser.searchForServices(ofType: "_services._dns-sd._udp.", inDomain: "")
        let list = try #require(DNSName("_services._dns-sd._udp.local"))
        engine.set([DNSRecord(list, timeToLive: 9, .ptr(try #require(DNSName("_ipp._tcp.local"))))])
        delegate.run(until: 2)
        #expect(delegate.calls == ["willSearch", "found _ipp _tcp. local. false"])
    }

    // Parity: SD-047
    @Test func findsDomains() throws {
        browser.searchForRegistrationDomains()
        let list = try #require(DNSName("r._dns-sd._udp.local"))
        let domain = DNSRecord(list, timeToLive: 9, .ptr(try #require(DNSName("Example.org"))))
        engine.set([domain])
        delegate.run(until: 3)
        engine.set([domain], isPresent: false)
        delegate.run(until: 4)
        #expect(
            delegate.calls == [
                "willSearch", "found local. true", "found Example.org. false", "removed Example.org. false",
            ])
    }

    // Parity: SD-038
    @Test func reportsFailures() {
        browser.searchForServices(ofType: "_http._tcp", inDomain: "")
        engine.report(.failed(ServiceDiscoveryError(.daemonUnavailable)))
        delegate.run(until: 2)
        #expect(delegate.calls == ["willSearch", "didNotSearch -72000 of 10"])
        #expect(engine.running.isEmpty)
    }

    // Parity: SD-030
    @Test func callsOnTheLoopOfAnotherThread() {
        // The other thread owns the box until it ends.
        final class Box: @unchecked Sendable {
            let browser: NetServiceBrowser
            let delegate: RecordingDelegate
            var thread: Thread?
            init(_ browser: NetServiceBrowser, _ delegate: RecordingDelegate) {
                (self.browser, self.delegate) = (browser, delegate)
            }
        }
        let box = Box(browser, delegate)
        browser.remove(from: .current, forMode: .default)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            box.browser.schedule(in: .current, forMode: .default)
            box.browser.searchForServices(ofType: "_http._tcp", inDomain: "")
            box.delegate.run(until: 1)
            done.signal()
        }
        done.wait()
        #expect(delegate.calls == ["willSearch"])
    }
}
