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
        #expect(try publication.take() == (try instance("Web")))
        try publication.update(try TXTRecord(["k": "v"]))
        publication.stop()
        #expect(daemon.calls == ["publish Web", "update k=v", "end"])
        #expect(embedded.calls.isEmpty)
    }

    @Test func doesWithoutADaemonThatRefusesAtOnce() throws {
        let (daemon, embedded) = (ScriptedBackend(refusing: unavailable), ScriptedBackend())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        embedded.tell(.published(try instance("Web")))
        #expect(try publication.take()?.name == "Web")
        try publication.update(TXTRecord())
        publication.stop()
        #expect(embedded.calls == ["publish Web", "update ", "end"])
    }

    @Test func doesWithoutADaemonThatRefusesLater() throws {
        let (daemon, embedded) = (ScriptedBackend(), ScriptedBackend())
        let publication = try publish(AutomaticEngine(daemon, or: embedded))
        daemon.tell(.failed(unavailable))
        #expect(embedded.calls == ["publish Web"])
        #expect(try publication.take() == nil)
        embedded.tell(.published(try instance("Web")))
        #expect(try publication.take()?.name == "Web")
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
        #expect(try runner.take()?.value.name == "Web")
        runner.stop()
        #expect(daemon.calls == ["ask \(DNSRecordType.ptr)"])
        #expect(embedded.calls == ["ask \(DNSRecordType.ptr)", "end"])
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
