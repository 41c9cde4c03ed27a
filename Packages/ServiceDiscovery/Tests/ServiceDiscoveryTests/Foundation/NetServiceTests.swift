import DNSWire
import Foundation
import HostResolver
import ServiceDiscoveryFoundation
import Testing

@testable import ServiceDiscovery

@Suite struct NetServiceTests {
    private let engine = ScriptedEngine()
    private let delegate = RecordingDelegate()
    private let instance = try! ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))

    private func service(
        _ name: String = "Web", type: String = "_http._tcp.", domain: String = "local.", port: Int32 = -1
    ) -> NetService {
        let service = NetService(
            domain: domain, type: type, name: name, port: port, engine: DiscoveryEngine(engine))
        service.delegate = delegate
        return service
    }

    private var location: DNSRecord {
        DNSRecord(
            instance.fullName, timeToLive: 9, .srv(priority: 0, weight: 0, port: 80, target: DNSName("h.local")!))
    }

    private func address(_ last: UInt8) -> DNSRecord {
        DNSRecord(DNSName("h.local")!, timeToLive: 9, .a(IPv4Address(10, 0, 0, last)))
    }

    private func text(_ text: String) -> DNSRecord {
        DNSRecord(instance.fullName, timeToLive: 9, .txt([Array(text.utf8)]))
    }

    // MARK: Publishing

    // Parity: SD-001, SD-022
    @Test func reportsItsNames() throws {
        let service = service(port: 80)
        service.publish()
        #expect(delegate.calls.isEmpty)
        delegate.run(until: 1)
        engine.report(.published(try ServiceInstance(name: "Web (2)", type: instance.type)))
        delegate.run(until: 2)
        // A later conflict.
        engine.report(.published(try ServiceInstance(name: "Web (3)", type: instance.type)))
        delegate.run(until: 3)
        service.stop()
        #expect(engine.running.isEmpty)
        delegate.run(until: 4)
        #expect(delegate.calls == ["willPublish", "didPublish Web (2)", "didPublish Web (3)", "didStop"])
        service.publish()
        delegate.run(until: 5)
        #expect(engine.calls == ["publish Web", "end", "publish Web (3)"])
    }

    // Parity: SD-008
    @Test(arguments: [("", "local."), ("local", "local"), ("local.", "local.")])
    func theDefaultDomainIsNamed(_ domain: String, _ published: String) {
        let service = service(domain: domain, port: 80)
        #expect(service.domain == domain)
        service.publish()
        engine.report(.published(instance))
        delegate.run(until: 2)
        #expect(delegate.calls == ["willPublish", "didPublish Web"] && service.domain == published)
        service.stop()
    }

    // Parity: SD-002, SD-103
    @Test(arguments: [
        ("Web", "_http._tcp", "local.", Int32(-1), UInt(0), -72004),
        ("Web", "_http._tcp", "local.", 65_536, 0, -72004),
        ("Web", "http", "local.", 80, 0, -72004),
        ("Web", "_http._tcp", "local..", 80, 0, -72004),
        ("Web", "_http._tcp", "", 80, 4, -72004),
        ("Web", "_http._udp", "", 80, 2, -72004),
        ("Web", "_http._tcp", "example.org", 80, 0, -72000),
        // Without NetKitFoundation there are no streams.
        ("Web", "_http._tcp", "", 80, 2, -72008),
    ]) func refusesToPublish(
        _ name: String, _ type: String, _ domain: String, _ port: Int32, _ options: UInt, _ code: Int
    ) {
        let service = service(name, type: type, domain: domain, port: port)
        service.publish(options: NetService.Options(rawValue: options))
        delegate.run(until: 1)
        #expect(delegate.calls == ["didNotPublish \(code) of 10"])
        #expect(engine.calls.isEmpty)
    }

    // Parity: SD-011, SD-019
    @Test func reportsPublishingFailures() {
        let service = service(port: 80)
        service.publish(options: .noAutoRename)
        engine.report(.failed(ServiceDiscoveryError(.collision)))
        delegate.run(until: 2)
        #expect(delegate.calls == ["willPublish", "didNotPublish -72001 of 10"])
        // Numbers of the daemon are unknown to code for Apple's platforms.
        service.publish()
        engine.report(.failed(ServiceDiscoveryError(.daemonFailed)))
        delegate.run(until: 4)
        #expect(delegate.calls.last == "didNotPublish -72000 of 10")
    }

    // Parity: SD-060
    @Test func performsOneActivityAtATime() {
        let service = service(port: 80)
        service.publish()
        service.publish()
        service.resolve(withTimeout: 0)
        delegate.run(until: 3)
        #expect(
            delegate.calls == ["willPublish", "didNotPublish -72003 of 10", "didNotResolve -72003 of 10"])
    }

    @Test func publishingEndsWithTheObject() {
        var service: NetService? = service(port: 80)
        service?.publish()
        #expect(engine.running.count == 1)
        service = nil
        #expect(engine.running.isEmpty)
    }

    // MARK: Resolving

    // Parity: SD-055
    @Test func reportsEachChange() throws {
        let service = service()
        #expect(service.hostName == nil && service.addresses == nil && service.port == -1)
        service.resolve(withTimeout: 0)
        engine.set([location, address(1)])
        delegate.run(until: 2)
        engine.set([address(2)])
        delegate.run(until: 3)
        engine.set([text("k=v")])
        delegate.run(until: 4)
        service.stop()
        delegate.run(until: 5)
        #expect(
            delegate.calls == [
                "willResolve", "didResolve h.local. 80 1", "didResolve h.local. 80 2", "didResolve h.local. 80 2",
                "didStop",
            ])
        let bytes = try #require(service.addresses?.first)
        let found = try bytes.withUnsafeBytes { try SocketAddress(sockaddr: $0) }
        #expect(found.description == "10.0.0.1:80")
        #expect(service.txtRecordData() == NetService.data(fromTXTRecord: ["k": Data("v".utf8)]))
        #expect(engine.running.isEmpty)
    }

    // Parity: SD-053, SD-056
    @Test func timesOutOnlyIfNothingWasFound() {
        let absent = service()
        absent.resolve(withTimeout: 0.01)
        delegate.run(until: 2)
        #expect(delegate.calls == ["willResolve", "didNotResolve -72007 of 10"])
        engine.set([location, address(1)])
        let present = service()
        present.resolve(withTimeout: 2)
        delegate.run(until: 5)
        #expect(delegate.calls.dropFirst(2) == ["willResolve", "didResolve h.local. 80 1", "didStop"])
        #expect(engine.running.isEmpty)
    }

    // Parity: SD-003
    @Test(arguments: [("", 5.0), ("local..", 5), ("local.", -1)]) func refusesToResolve(
        _ domain: String, _ timeout: TimeInterval
    ) {
        let service = service(domain: domain)
        service.resolve(withTimeout: timeout)
        delegate.run(until: 1)
        #expect(delegate.calls == ["didNotResolve -72004 of 10"])
    }

    @Test func isRetainedWhileItResolves() {
        service().resolve(withTimeout: 0)
        engine.set([location, address(1)])
        delegate.run(until: 2)
        #expect(delegate.calls == ["willResolve", "didResolve h.local. 80 1"])
        engine.report(.failed(ServiceDiscoveryError(.daemonUnavailable)))
        delegate.run(until: 3)
        #expect(delegate.calls.last == "didNotResolve -72000 of 10")
        #expect(engine.running.isEmpty)
    }

    // MARK: TXT records

    // Parity: SD-068, SD-069
    @Test func monitorsTheRecord() {
        let service = service()
        service.startMonitoring()
        for number in 1...3 {
            engine.set([text("n=\(number)")])
            delegate.run(until: number)
        }
        service.stopMonitoring()
        #expect(delegate.calls == ["didUpdate n=1", "didUpdate n=2", "didUpdate n=3"])
        #expect(engine.running.isEmpty)
    }

    // Parity: SD-065
    @Test func setsTheRecord() throws {
        let service = service(port: 80)
        let record = NetService.data(fromTXTRecord: ["k": Data("v".utf8)])
        #expect(service.setTXTRecord(record))
        #expect(service.txtRecordData() == record)
        service.publish()
        #expect(service.setTXTRecord(nil))
        #expect(engine.calls == ["publish Web", "update "])
        // A length beyond the end, a duplicate key, an empty key, no bytes.
        for bytes in [[9, 97], [1, 97, 1, 65], [2, 61, 97], []] as [[UInt8]] {
            #expect(!service.setTXTRecord(Data(bytes)))
        }
        service.stop()
        service.resolve(withTimeout: 0)
        #expect(!service.setTXTRecord(record))
    }

    // Parity: SD-067
    @Test func convertsRecords() {
        let record = NetService.data(fromTXTRecord: ["flag": nil, "empty": Data(), "k": Data([0, 255])])
        #expect(TXTRecord(wire: record).dictionary == ["flag": nil, "empty": [], "k": [0, 255]])
        // A key without a value, which has crashed other implementations.
        let plain = NetService.dictionary(fromTXTRecord: record)
        #expect(plain == ["flag": Data(), "empty": Data(), "k": Data([0, 255])])
        #expect(NetService.data(fromTXTRecord: [:] as [String: Data]) == Data([0]))
        #expect(NetService.data(fromTXTRecord: ["k": Data(count: 253)]).count == 256)
        #expect(NetService.data(fromTXTRecord: ["k": Data(count: 254)]).isEmpty)
        #expect(NetService.data(fromTXTRecord: ["a=": Data()]).isEmpty)
    }

    // MARK: Objects and run loops

    @Test func isEqualByItsNames() {
        #expect(service("Web") == service("web", type: "_HTTP._tcp", domain: "Local"))
        #expect(service("Web").hash == service("web", type: "_HTTP._tcp", domain: "Local").hash)
        #expect(service("Web") != service("Web."))
        #expect(service("Web") != service(domain: "example.org."))
    }

    // Modes of their own, because other tests use this thread and its default mode as well.

    // Parity: SD-015
    @Test func deliversOnlyWhereScheduled() {
        let (mode, other) = (RunLoop.Mode("of its own"), RunLoop.Mode("another"))
        let service = service(port: 80)
        service.remove(from: .current, forMode: .default)
        service.schedule(in: .current, forMode: other)
        service.publish()
        service.remove(from: .current, forMode: other)
        #expect(!RunLoop.current.run(mode: other, before: .distantFuture) && delegate.calls.isEmpty)
        service.schedule(in: .current, forMode: mode)
        delegate.run(until: 1, mode: mode)
        #expect(delegate.calls == ["willPublish"])
    }

    @Test func removesItsSourcesWhenIdle() {
        let mode = RunLoop.Mode("of its own, too")
        let service = service(port: 80)
        service.remove(from: .current, forMode: .default)
        service.schedule(in: .current, forMode: mode)
        #expect(!RunLoop.current.run(mode: mode, before: .distantFuture))
        service.publish()
        delegate.run(until: 1, mode: mode)
        service.stop()
        delegate.run(until: 2, mode: mode)
        #expect(!RunLoop.current.run(mode: mode, before: .distantFuture))
    }

    // Parity: SD-016
    @Test func doesNotRetainItsDelegate() {
        let service = service(port: 80)
        var other: RecordingDelegate? = RecordingDelegate()
        service.delegate = other
        other = nil
        #expect(service.delegate == nil && other == nil)
        service.publish()
        _ = RunLoop.current.run(mode: .default, before: Date() + 0.01)
    }
}
