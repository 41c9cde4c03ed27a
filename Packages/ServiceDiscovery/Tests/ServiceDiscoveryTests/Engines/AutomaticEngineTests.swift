import EventLoops
import HostResolver
import Testing

@testable import ServiceDiscovery

@Suite struct AutomaticEngineTests {
    private let type = try! ServiceType("_http._tcp")
    private let unavailable = ServiceDiscoveryError(.daemonUnavailable)

    private func publish(_ engine: AutomaticEngine) throws(ServiceDiscoveryError) -> PublicationRunner {
        try PublicationRunner(ServiceAdvertisement(name: "Web", type: type, port: 80), backend: engine)
    }

    private func instance(_ name: String) throws -> ServiceInstance {
        try ServiceInstance(name: name, type: type)
    }

    @Test func prefersTheDaemon() throws {
        let (daemon, embedded) = (ScriptedBackend(), ScriptedBackend())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.tell(.published(try instance("Web")))
        #expect(try publication.take().element == (try instance("Web")))
        try publication.update(try TXTRecord(["k": "v"]))
        publication.stop()
        #expect(daemon.calls == ["publish Web", "update k=v", "end"])
        #expect(embedded.calls.isEmpty)
    }

    @Test func doesWithoutADaemonThatRefusesAtOnce() throws {
        let (daemon, embedded) = (ScriptedBackend(refusing: unavailable), ScriptedBackend())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        embedded.tell(.published(try instance("Web")))
        #expect(try publication.take().element?.name == "Web")
        try publication.update(TXTRecord())
        publication.stop()
        #expect(embedded.calls == ["publish Web", "update ", "end"])
    }

    @Test func doesWithoutADaemonThatRefusesLater() throws {
        let (daemon, embedded) = (ScriptedBackend(), ScriptedBackend())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.tell(.failed(unavailable))
        #expect(embedded.calls == ["publish Web"])
        #expect(try publication.take() == .nothing)
        embedded.tell(.published(try instance("Web")))
        #expect(try publication.take().element?.name == "Web")
        publication.stop()
        #expect(embedded.running.isEmpty)
    }

    @Test func failsWithADaemonThatHadBegun() throws {
        let (daemon, embedded) = (ScriptedBackend(), ScriptedBackend())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.tell(.published(try instance("Web")))
        daemon.tell(.failed(unavailable))
        _ = try publication.take()
        #expect(throws: unavailable) { _ = try publication.take() }
        #expect(embedded.calls.isEmpty)
    }

    @Test func aCollisionIsNoReasonToTryAgain() throws {
        let (daemon, embedded) = (ScriptedBackend(), ScriptedBackend())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.tell(.failed(ServiceDiscoveryError(.collision)))
        #expect(throws: ServiceDiscoveryError(.collision)) { _ = try publication.take() }
        #expect(embedded.calls.isEmpty)
    }

    @Test func saysWhatTheLastEngineSays() throws {
        let refusal = ServiceDiscoveryError(.tooMuch, detail: "of it")
        let engine = AutomaticEngine(ScriptedBackend(refusing: unavailable), or: ScriptedBackend(refusing: refusal))
        #expect(throws: refusal) { _ = try publish(engine) }
    }

    @Test func looksForThingsLikewise() throws {
        let (daemon, embedded) = (ScriptedBackend(), ScriptedBackend())
        let engine = AutomaticEngine(daemon, or: embedded)
        let name = try #require(DNSName("_http._tcp.local"))
        let machine = PointerMachine<ServiceInstance>([name]) { ServiceInstance(fullName: $0) }
        let runner = try FeedRunner(machine, backend: engine, interface: nil)
        daemon.tell(.failed(unavailable))
        embedded.tell(.added(DNSRecord(name, timeToLive: 9, .ptr(try instance("Web").fullName)), interface: 1))
        #expect(try runner.take().element?.value.name == "Web")
        runner.stop()
        #expect(daemon.calls == ["ask \(DNSRecordType.ptr)"])
        #expect(embedded.calls == ["ask \(DNSRecordType.ptr)", "end"])
    }

    /// A daemon that has failed, and made the next engine begin, before it has said under which number it had begun.
    @Test func aFailureWhileBeginningLeavesNothingPublished() throws {
        let (unavailable, instance) = (unavailable, try instance("Web"))
        let daemon = ScriptedBackend { daemon, _ in
            daemon.tell(.failed(unavailable))
            // What it still has to say concerns nobody any more.
            daemon.tell(.published(instance))
        }
        let embedded = ScriptedBackend()
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        #expect(embedded.calls == ["publish Web"])
        #expect(try publication.take() == .nothing)
        embedded.tell(.published(instance))
        #expect(try publication.take().element == instance)
        try publication.update(try TXTRecord(["k": "v"]))
        publication.stop()
        #expect(embedded.calls == ["publish Web", "update k=v", "end"])
        #expect(daemon.calls == ["publish Web", "end"])
        #expect(embedded.running.isEmpty && daemon.running.isEmpty)
    }

    @Test func whatEndsWhileItBeginsIsEnded() throws {
        let stopper = Locked<PublicationRunner?>(nil)
        let daemon = ScriptedBackend()
        let embedded = ScriptedBackend { _, _ in stopper.withLock { $0 }?.stop() }
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        stopper.withLock { $0 = publication }
        daemon.tell(.failed(unavailable))
        #expect(embedded.calls == ["publish Web", "end"] && embedded.running.isEmpty)
        stopper.withLock { $0 = nil }
    }

    /// An update is announced by whichever engine publishes in the end, even if it comes while none has begun.
    @Test func anUpdateWhileBeginningIsAnnounced() throws {
        let relays = Locked<EngineRelay?>(nil)
        let (advertisement, unavailable) = (ServiceAdvertisement(name: "Web", type: type, port: 80), unavailable)
        let record = try TXTRecord(["k": "v"])
        let daemon = ScriptedBackend { daemon, _ in
            #expect(throws: Never.self) { try relays.withLock { $0 }?.update(record) }
        }
        let embedded = ScriptedBackend()
        final class Sink: DiscoverySink {
            func put(_ event: DiscoveryEvent, of operation: Int) {}
            func ring() {}
        }
        let sink = Sink()
        let start: EngineRelay.Start = { backend, sink throws(ServiceDiscoveryError) in
            try backend.publish(advertisement, sink: sink)
        }
        let relay = EngineRelay(1, sink: sink, start: start, backends: [daemon, embedded])
        relays.withLock { $0 = relay }
        try relay.begin()
        #expect(daemon.calls == ["publish Web", "update k=v"])
        daemon.tell(.failed(unavailable))
        #expect(embedded.calls == ["publish Web", "update k=v"])
        // One that is refused is not handed on.
        embedded.refuse(ServiceDiscoveryError(.invalidRecord))
        #expect(throws: ServiceDiscoveryError(.invalidRecord)) { try relay.update(TXTRecord()) }
        relay.end()
        #expect(embedded.running.isEmpty)
        relays.withLock { $0 = nil }
    }

    /// SD-058: the embedded engine asks in the place of Avahi's, which is told if nobody answers.
    @Test(arguments: [false, true]) func doubtsForADaemonThatCannot(isThere: Bool) async throws {
        let (daemon, embedded) = (ScriptedBackend(refusing: ServiceDiscoveryError(.unsupported)), ScriptedBackend())
        let engine = AutomaticEngine(daemon, or: embedded, doubtTime: .zero)
        let name = try #require(DNSName("_http._tcp.local"))
        let web = DNSRecord(name, timeToLive: 9, .ptr(try instance("Web").fullName))
        if isThere { embedded.set([web]) }
        try engine.reconfirm(web.key, web.data)
        let expected = ["reconfirm", "ask PTR", "end"] + (isThere ? [] : ["gone \(name)"])
        while embedded.calls.count < expected.count { await Task.yield() }
        #expect(embedded.calls == expected && embedded.running.isEmpty)
    }

    @Test func doubtsWhereItCan() throws {
        let (daemon, embedded) = (ScriptedBackend(refusing: unavailable), ScriptedBackend())
        let name = try #require(DNSName("_http._tcp.local"))
        try AutomaticEngine(daemon, or: embedded).reconfirm(RecordKey(name, .ptr), .ptr(name))
        #expect(embedded.calls == ["reconfirm"])
    }
}
