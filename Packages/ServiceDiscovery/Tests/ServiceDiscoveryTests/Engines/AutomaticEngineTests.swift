import DNSWire
import EventLoops
import HostResolver
import Testing

@testable import ServiceDiscovery

@Suite struct AutomaticEngineTests {
    private let type = try! ServiceType("_http._tcp")
    private let unavailable = ServiceDiscoveryError(.daemonUnavailable)

    private func publish(_ engine: AutomaticEngine) throws(ServiceDiscoveryError) -> PublicationDriver<ServiceInstance>
    {
        try PublicationDriver(ServiceAdvertisement(name: "Web", type: type, port: 80), engine: engine)
    }

    private func instance(_ name: String) throws -> ServiceInstance {
        try ServiceInstance(name: name, type: type)
    }

    @Test func prefersTheDaemon() throws {
        let (daemon, embedded) = (ScriptedEngine(), ScriptedEngine())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.report(.published(try instance("Web")))
        #expect(try publication.take()?.get() == (try instance("Web")))
        try publication.update(try TXTRecord(["k": "v"]))
        publication.stop()
        #expect(daemon.calls == ["publish Web", "update k=v", "end"])
        #expect(embedded.calls.isEmpty)
    }

    @Test func fallsBackIfTheDaemonRefuses() throws {
        let (daemon, embedded) = (ScriptedEngine(refusing: unavailable), ScriptedEngine())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        embedded.report(.published(try instance("Web")))
        #expect(try publication.take()?.get()?.name == "Web")
        try publication.update(TXTRecord())
        publication.stop()
        #expect(embedded.calls == ["publish Web", "update ", "end"])
    }

    @Test func fallsBackIfTheDaemonRefusesLater() throws {
        let (daemon, embedded) = (ScriptedEngine(), ScriptedEngine())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.report(.failed(unavailable))
        #expect(embedded.calls == ["publish Web"])
        #expect(publication.take() == nil)
        embedded.report(.published(try instance("Web")))
        #expect(try publication.take()?.get()?.name == "Web")
        publication.stop()
        #expect(embedded.running.isEmpty)
    }

    @Test func failsWithTheDaemonAfterItHasBegun() throws {
        let (daemon, embedded) = (ScriptedEngine(), ScriptedEngine())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.report(.published(try instance("Web")))
        daemon.report(.failed(unavailable))
        _ = publication.take()
        #expect(throws: unavailable) { _ = try publication.take()?.get() }
        #expect(embedded.calls.isEmpty)
    }

    @Test func aCollisionDoesNotFallBack() throws {
        let (daemon, embedded) = (ScriptedEngine(), ScriptedEngine())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.report(.failed(ServiceDiscoveryError(.collision)))
        #expect(throws: ServiceDiscoveryError(.collision)) { _ = try publication.take()?.get() }
        #expect(embedded.calls.isEmpty)
    }

    @Test func throwsTheLastEnginesError() throws {
        let refusal = ServiceDiscoveryError(.limitReached, detail: "of it")
        let engine = AutomaticEngine(ScriptedEngine(refusing: unavailable), or: ScriptedEngine(refusing: refusal))
        #expect(throws: refusal) { _ = try publish(engine) }
    }

    @Test func queriesFallBack() throws {
        let (daemon, embedded) = (ScriptedEngine(), ScriptedEngine())
        let engine = AutomaticEngine(daemon, or: embedded)
        let name = try #require(DNSName("_http._tcp.local"))
        let machine = PointerMachine<ServiceInstance>([name]) { ServiceInstance(fullName: $0) }
        let runner = try SearchDriver(machine, engine: engine, interface: nil)
        daemon.report(.failed(unavailable))
        embedded.report(
            .added(DNSRecord(name, timeToLive: 9, .ptr(try instance("Web").fullName)), interface: 1, named: nil))
        #expect(try runner.take()?.get()?.value.name == "Web")
        runner.stop()
        #expect(daemon.calls == ["query \(DNSRecordType.ptr)"])
        #expect(embedded.calls == ["query \(DNSRecordType.ptr)", "end"])
    }

    /// The daemon fails, and the next engine begins, before the daemon's call has returned its operation.
    @Test func aFailureWhileBeginningLeavesNothingPublished() throws {
        let (unavailable, instance) = (unavailable, try instance("Web"))
        let daemon = ScriptedEngine { daemon, _, _ in
            daemon.report(.failed(unavailable))
            // A late event of the daemon has no effect.
            daemon.report(.published(instance))
        }
        let embedded = ScriptedEngine()
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        #expect(embedded.calls == ["publish Web"])
        #expect(publication.take() == nil)
        embedded.report(.published(instance))
        #expect(try publication.take()?.get() == instance)
        try publication.update(try TXTRecord(["k": "v"]))
        publication.stop()
        #expect(embedded.calls == ["publish Web", "update k=v", "end"])
        #expect(daemon.calls == ["publish Web", "end"])
        #expect(embedded.running.isEmpty && daemon.running.isEmpty)
    }

    @Test func anOperationStoppedWhileBeginningIsEnded() throws {
        let stopper = Locked<PublicationDriver<ServiceInstance>?>(nil)
        let daemon = ScriptedEngine()
        let embedded = ScriptedEngine { _, _, _ in stopper.withLock { $0 }?.stop() }
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        stopper.withLock { $0 = publication }
        daemon.report(.failed(unavailable))
        #expect(embedded.calls == ["publish Web", "end"] && embedded.running.isEmpty)
        stopper.withLock { $0 = nil }
    }

    /// An update that arrives before any engine has begun is announced by the engine that publishes in the end.
    @Test func anUpdateWhileBeginningIsAnnounced() throws {
        let current = Locked<FallbackOperation?>(nil)
        let (advertisement, unavailable) = (ServiceAdvertisement(name: "Web", type: type, port: 80), unavailable)
        let record = try TXTRecord(["k": "v"])
        let daemon = ScriptedEngine { daemon, _, _ in
            #expect(throws: Never.self) { try current.withLock { $0 }?.update(record) }
        }
        let embedded = ScriptedEngine()
        final class Sink: EventSink {
            func receive(_ event: DiscoveryEvent, of operation: Int) {}
            func notify() {}
        }
        let sink = Sink()
        let start: FallbackOperation.Start = { engine, sink throws(ServiceDiscoveryError) in
            try engine.publish(advertisement, as: 1, sink: sink)
        }
        let operation = FallbackOperation(1, sink: sink, start: start, engines: [daemon, embedded])
        current.withLock { $0 = operation }
        try operation.begin()
        #expect(daemon.calls == ["publish Web", "update k=v"])
        daemon.report(.failed(unavailable))
        #expect(embedded.calls == ["publish Web", "update k=v"])
        // An update that is rejected is not repeated.
        embedded.refuse(ServiceDiscoveryError(.invalidRecord))
        #expect(throws: ServiceDiscoveryError(.invalidRecord)) { try operation.update(TXTRecord()) }
        operation.end()
        #expect(embedded.running.isEmpty)
        current.withLock { $0 = nil }
    }

    /// SD-058: the embedded engine verifies for Avahi, which gets a goodbye if no answer arrives.
    // Parity: SD-058
    @Test(arguments: [false, true]) func verifiesForAvahi(isPresent: Bool) async throws {
        let (daemon, embedded) = (ScriptedEngine(refusing: ServiceDiscoveryError(.unsupported)), ScriptedEngine())
        let engine = AutomaticEngine(daemon, or: embedded, verificationTime: .zero)
        let name = try #require(DNSName("_http._tcp.local"))
        let web = DNSRecord(name, timeToLive: 9, .ptr(try instance("Web").fullName))
        if isPresent { embedded.set([web]) }
        try engine.reconfirm(web.key, web.data, interface: nil)
        let expected = ["reconfirm", "query PTR", "end"] + (isPresent ? [] : ["gone \(name)"])
        while embedded.calls.count < expected.count, !Task.isCancelled { await Task.yield() }
        #expect(embedded.calls == expected && embedded.running.isEmpty)
    }

    /// Records of other names are published by the embedded engine. Those beside a service are too, if the daemon has refused that.
    @Test func publishesRecords() throws {
        let host = try #require(DNSName("desk.local"))
        let record = OwnRecord(.a(IPv4Address(192, 0, 2, 7)))
        let advertisement = RecordAdvertisement(name: host, record: record, isUnique: true)
        let (daemon, embedded) = (ScriptedEngine(), ScriptedEngine())
        let engine = AutomaticEngine(daemon, or: embedded)
        let sink = RecordingSink()
        let operation = try engine.publish(advertisement, sink: sink)
        try engine.update(operation, records: [record])
        let text = "A [192, 0, 2, 7] 120"
        #expect(embedded.calls == ["publish unique desk.local. \(text)", #"records ["\#(text)"]"#])
        #expect(daemon.calls.isEmpty)
        engine.end(operation)

        daemon.refuse(unavailable)
        let service = ServiceAdvertisement(name: "Web", type: type, port: 80)
        let fallen = try engine.publish(service, sink: sink)
        try engine.update(fallen, records: [record])
        #expect(embedded.calls.suffix(2) == ["publish Web", #"records ["\#(text)"]"#])
        engine.end(fallen)
    }

    /// A daemon publishes no further records: that is an error, also while it has not answered yet.
    @Test func theDaemonRefusesFurtherRecords() throws {
        let (record, type) = (OwnRecord(.a(IPv4Address(192, 0, 2, 7))), type)
        let current = Locked<FallbackOperation?>(nil)
        let daemon = ScriptedEngine { daemon, _, _ in
            let operation = current.withLock { $0 }
            #expect { try operation?.update([record]) } throws: { ($0 as? ServiceDiscoveryError)?.code == .unsupported }
            daemon.refuse(ServiceDiscoveryError(.unsupported))
        }
        let start: FallbackOperation.Start = { engine, sink throws(ServiceDiscoveryError) in
            try engine.publish(ServiceAdvertisement(name: "Web", type: type, port: 80), as: 1, sink: sink)
        }
        let sink = RecordingSink()
        let operation = FallbackOperation(1, sink: sink, start: start, engines: [daemon, ScriptedEngine()])
        current.withLock { $0 = operation }
        try operation.begin()
        #expect(throws: ServiceDiscoveryError(.unsupported)) { try operation.update([record]) }
        #expect(daemon.calls.first == "publish Web")
        operation.end()
        current.withLock { $0 = nil }
    }

    @Test func reconfirmsWithoutADaemon() throws {
        let (daemon, embedded) = (ScriptedEngine(refusing: unavailable), ScriptedEngine())
        let name = try #require(DNSName("_http._tcp.local"))
        try AutomaticEngine(daemon, or: embedded).reconfirm(
            RecordKey(name, .ptr), .ptr(name), interface: "lo")
        #expect(embedded.calls == ["reconfirm on lo"])
    }
}
