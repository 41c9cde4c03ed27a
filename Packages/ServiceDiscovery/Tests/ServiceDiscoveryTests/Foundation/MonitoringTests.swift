import EventLoops
import Foundation
import HostResolver
import Testing

@testable import ServiceDiscovery
@testable import ServiceDiscoveryFoundation

/// Monitoring of a ``NetService`` goes on when the daemon is started anew, or says why not.
@Suite struct MonitoringTests {
    private let backend = ScriptedBackend()
    private let delegate = RecordingDelegate()
    private let name = try! ServiceInstance(name: "Web", type: ServiceType("_http._tcp")).fullName

    private func service(type: String = "_http._tcp.") -> NetService {
        let service = NetService(
            domain: "local.", type: type, name: "Web", port: -1, engine: DiscoveryEngine(backend))
        service.delegate = delegate
        return service
    }

    private func text(_ text: String) -> DNSRecord {
        DNSRecord(name, timeToLive: 9, .txt([Array(text.utf8)]))
    }

    @Test func monitoringOutlivesTheDaemon() {
        let service = service()
        service.startMonitoring()
        backend.set([text("n=1")])
        delegate.run(until: 1)
        // The daemon has gone, and come back with another record.
        backend.set([text("n=1")], isThere: false)
        backend.set([text("n=2")])
        delegate.run(until: 2)
        backend.tell(.failed(ServiceDiscoveryError(.daemonUnavailable)))
        delegate.run { backend.calls.count { $0 == "ask TXT" } == 2 }
        backend.set([text("n=2")], isThere: false)
        backend.set([text("n=3")])
        delegate.run(until: 3)
        #expect(delegate.calls == ["didUpdate n=1", "didUpdate n=2", "didUpdate n=3"])
        #expect(backend.running.count == 1)
        service.stopMonitoring()
        #expect(backend.running.isEmpty)
        service.startMonitoring()
        delegate.run(until: 4)
        #expect(delegate.calls.last == "didUpdate n=3")
        service.stopMonitoring()
    }

    @Test func aFailureThatStaysIsToldAndCanBeStartedAgain() {
        let wrong = service(type: "http")
        wrong.startMonitoring()
        delegate.run(until: 1)
        let service = service()
        service.startMonitoring()
        backend.tell(.failed(ServiceDiscoveryError(.unsupported)))
        delegate.run(until: 2)
        #expect(delegate.calls == ["didNotMonitor -72004 of 10", "didNotMonitor -72000 of 10"])
        #expect(backend.running.isEmpty)
        backend.set([text("n=1")])
        service.startMonitoring()
        delegate.run(until: 3)
        #expect(delegate.calls.last == "didUpdate n=1")
        service.stopMonitoring()
    }

    @Test func failuresInARowAreFurtherApart() {
        var monitoring = MonitoringState(number: 1)
        let gone = ServiceDiscoveryError(.daemonUnavailable)
        let pauses = (0..<10).map { _ in monitoring.noteFailure(gone) }
        #expect(pauses == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
        #expect(monitoring.note(TXTRecord()) && !monitoring.note(TXTRecord()))
        #expect(monitoring.noteFailure(gone) == .zero)
        #expect(monitoring.noteFailure(ServiceDiscoveryError(.badArgument)) == nil)
    }

    /// What is set while publishing begins is published.
    @Test func aRecordSetWhilePublishingBeginsIsAnnounced() {
        let (first, second) = (
            NetService.data(fromTXTRecord: ["n": Data("1".utf8)]), NetService.data(fromTXTRecord: ["n": Data("2".utf8)])
        )
        let setter = Locked<(@Sendable () -> Void)?>(nil)
        let backend = ScriptedBackend { _, _ in setter.withLock { $0.take() }?() }
        let service = NetService(
            domain: "local.", type: "_http._tcp", name: "Web", port: 80, engine: DiscoveryEngine(backend))
        #expect(service.setTXTRecord(first))
        setter.withLock { $0 = { _ = service.setTXTRecord(second) } }
        service.publish()
        #expect(backend.calls == ["publish Web", "update n=2"])
        service.stop()
    }

    /// What is stopped while it begins is not published, and what begins in its place is not ended with it.
    @Test func whatIsStoppedWhileItBeginsEndsAlone() {
        let restart = Locked<(@Sendable () -> Void)?>(nil)
        let backend = ScriptedBackend { _, _ in restart.withLock { $0.take() }?() }
        let service = NetService(
            domain: "local.", type: "_http._tcp", name: "Web", port: 80, engine: DiscoveryEngine(backend))
        service.delegate = delegate
        restart.withLock {
            $0 = {
                service.stop()
                service.publish()
            }
        }
        service.publish()
        #expect(backend.running.count == 1)
        delegate.run(until: 2)
        #expect(delegate.calls == ["didStop", "willPublish"])
        service.stop()
        #expect(backend.running.isEmpty)
    }

    /// A link that comes back is not a second publication.
    @Test func visibleAgainUnderTheSameNameIsNotTold() throws {
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        let service = NetService(
            domain: "local.", type: "_http._tcp", name: "Web", port: 80, engine: DiscoveryEngine(backend))
        service.delegate = delegate
        service.publish()
        backend.tell(.published(web))
        delegate.run(until: 2)
        backend.tell(.hidden)
        backend.tell(.published(web))
        service.stop()
        delegate.run(until: 3)
        #expect(delegate.calls == ["willPublish", "didPublish Web", "didStop"])
    }

    /// The service comes back under its name and publishing fails, both before the run loop looks: the failure is told.
    @Test func aFailureBehindWhatIsKnownEndsPublishing() throws {
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        let service = NetService(
            domain: "local.", type: "_http._tcp", name: "Web", port: 80, engine: DiscoveryEngine(backend))
        service.delegate = delegate
        service.publish()
        backend.tell(.published(web))
        delegate.run(until: 2)
        backend.tell(.hidden)
        backend.tell(.published(web))
        backend.tell(.failed(ServiceDiscoveryError(.unsupported)))
        delegate.run(until: 3)
        #expect(delegate.calls == ["willPublish", "didPublish Web", "didNotPublish -72000 of 10"])
    }

    /// The same of a record that is known from before the daemon was started anew.
    @Test func aFailureBehindWhatIsKnownEndsMonitoring() {
        let known = text("n=1")
        let backend = ScriptedBackend { backend, sink in
            guard backend.calls.count(where: { $0 == "ask TXT" }) == 2 else { return }
            for event in [DiscoveryEvent.added(known, interface: 1), .failed(ServiceDiscoveryError(.unsupported))] {
                sink.put(event, of: ScriptedBackend.firstID + 1)
            }
        }
        let service = NetService(
            domain: "local.", type: "_http._tcp.", name: "Web", port: -1, engine: DiscoveryEngine(backend))
        service.delegate = delegate
        service.startMonitoring()
        backend.set([known])
        delegate.run(until: 1)
        backend.tell(.failed(ServiceDiscoveryError(.daemonUnavailable)))
        delegate.run(until: 2)
        #expect(delegate.calls == ["didUpdate n=1", "didNotMonitor -72000 of 10"])
    }
}
