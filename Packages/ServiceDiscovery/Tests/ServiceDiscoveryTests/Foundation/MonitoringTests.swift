import DNSWire
import EventLoops
import Foundation
import HostResolver
import Testing

@testable import ServiceDiscovery
@testable import ServiceDiscoveryFoundation

/// Monitoring of a ``NetService`` continues when the daemon is restarted, or reports its failure.
@Suite struct MonitoringTests {
    private let engine = ScriptedEngine()
    private let delegate = RecordingDelegate()
    private let name = try! ServiceInstance(name: "Web", type: ServiceType("_http._tcp")).fullName

    private func service(type: String = "_http._tcp.") -> NetService {
        let service = NetService(
            domain: "local.", type: type, name: "Web", port: -1, engine: DiscoveryEngine(engine))
        service.delegate = delegate
        return service
    }

    private func text(_ text: String) -> DNSRecord {
        DNSRecord(name, timeToLive: 9, .txt([Array(text.utf8)]))
    }

    @Test func monitoringSurvivesADaemonRestart() {
        let service = service()
        service.startMonitoring()
        engine.set([text("n=1")])
        delegate.run(until: 1)
        // The daemon ends and comes back with another record.
        engine.set([text("n=1")], isPresent: false)
        engine.set([text("n=2")])
        delegate.run(until: 2)
        engine.report(.failed(ServiceDiscoveryError(.daemonUnavailable)))
        delegate.run { engine.calls.count { $0 == "query TXT" } == 2 }
        engine.set([text("n=2")], isPresent: false)
        engine.set([text("n=3")])
        delegate.run(until: 3)
        #expect(delegate.calls == ["didUpdate n=1", "didUpdate n=2", "didUpdate n=3"])
        #expect(engine.running.count == 1)
        service.stopMonitoring()
        #expect(engine.running.isEmpty)
        service.startMonitoring()
        delegate.run(until: 4)
        #expect(delegate.calls.last == "didUpdate n=3")
        service.stopMonitoring()
    }

    @Test func permanentFailuresAreReported() {
        let wrong = service(type: "http")
        wrong.startMonitoring()
        delegate.run(until: 1)
        let service = service()
        service.startMonitoring()
        engine.report(.failed(ServiceDiscoveryError(.unsupported)))
        delegate.run(until: 2)
        #expect(delegate.calls == ["didNotMonitor -72004 of 10", "didNotMonitor -72000 of 10"])
        #expect(engine.running.isEmpty)
        engine.set([text("n=1")])
        service.startMonitoring()
        delegate.run(until: 3)
        #expect(delegate.calls.last == "didUpdate n=1")
        service.stopMonitoring()
    }

    @Test func repeatedFailuresIncreaseThePause() {
        var monitoring = MonitoringState(number: 1)
        let gone = ServiceDiscoveryError(.daemonUnavailable)
        let pauses = (0..<10).map { _ in monitoring.noteFailure(gone) }
        #expect(pauses == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
        #expect(monitoring.note(TXTRecord()) && !monitoring.note(TXTRecord()))
        #expect(monitoring.noteFailure(gone) == .zero)
        #expect(monitoring.noteFailure(ServiceDiscoveryError(.badArgument)) == nil)
    }

    /// A record that is set while publishing begins is published.
    @Test func aRecordSetWhilePublishingBeginsIsAnnounced() {
        let (first, second) = (
            NetService.data(fromTXTRecord: ["n": Data("1".utf8)]), NetService.data(fromTXTRecord: ["n": Data("2".utf8)])
        )
        let setter = Locked<(@Sendable () -> Void)?>(nil)
        let engine = ScriptedEngine { _, _, _ in setter.withLock { $0.take() }?() }
        let service = NetService(
            domain: "local.", type: "_http._tcp", name: "Web", port: 80, engine: DiscoveryEngine(engine))
        #expect(service.setTXTRecord(first))
        setter.withLock { $0 = { _ = service.setTXTRecord(second) } }
        service.publish()
        #expect(engine.calls == ["publish Web", "update n=2"])
        service.stop()
    }

    /// A service that is stopped while it begins is not published, and a new publication in its place is not ended.
    @Test func stoppingWhileBeginningEndsOnlyThatActivity() {
        let restart = Locked<(@Sendable () -> Void)?>(nil)
        let engine = ScriptedEngine { _, _, _ in restart.withLock { $0.take() }?() }
        let service = NetService(
            domain: "local.", type: "_http._tcp", name: "Web", port: 80, engine: DiscoveryEngine(engine))
        service.delegate = delegate
        restart.withLock {
            $0 = {
                service.stop()
                service.publish()
            }
        }
        service.publish()
        #expect(engine.running.count == 1)
        delegate.run(until: 2)
        #expect(delegate.calls == ["didStop", "willPublish"])
        service.stop()
        #expect(engine.running.isEmpty)
    }

    /// An interface that comes up again does not cause a second report.
    @Test func becomingVisibleAgainIsNotReported() throws {
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        let service = NetService(
            domain: "local.", type: "_http._tcp", name: "Web", port: 80, engine: DiscoveryEngine(engine))
        service.delegate = delegate
        service.publish()
        engine.report(.published(web))
        delegate.run(until: 2)
        engine.report(.hidden)
        engine.report(.published(web))
        service.stop()
        delegate.run(until: 3)
        #expect(delegate.calls == ["willPublish", "didPublish Web", "didStop"])
    }

    /// The service becomes visible under its name, then publishing fails, both before the run loop runs: the failure is
    /// reported.
    @Test func aFailureAfterAKnownNameEndsPublishing() throws {
        let web = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        let service = NetService(
            domain: "local.", type: "_http._tcp", name: "Web", port: 80, engine: DiscoveryEngine(engine))
        service.delegate = delegate
        service.publish()
        engine.report(.published(web))
        delegate.run(until: 2)
        engine.report(.hidden)
        engine.report(.published(web))
        engine.report(.failed(ServiceDiscoveryError(.unsupported)))
        delegate.run(until: 3)
        #expect(delegate.calls == ["willPublish", "didPublish Web", "didNotPublish -72000 of 10"])
    }

    /// The same with a record that was known before the daemon was restarted.
    @Test func aFailureAfterAKnownRecordEndsMonitoring() {
        let known = text("n=1")
        let engine = ScriptedEngine { engine, operation, sink in
            guard engine.calls.count(where: { $0 == "query TXT" }) == 2 else { return }
            for event in [
                DiscoveryEvent.added(known, interface: 1, named: nil), .failed(ServiceDiscoveryError(.unsupported)),
            ] {
                sink.receive(event, of: operation)
            }
        }
        let service = NetService(
            domain: "local.", type: "_http._tcp.", name: "Web", port: -1, engine: DiscoveryEngine(engine))
        service.delegate = delegate
        service.startMonitoring()
        engine.set([known])
        delegate.run(until: 1)
        engine.report(.failed(ServiceDiscoveryError(.daemonUnavailable)))
        delegate.run(until: 2)
        #expect(delegate.calls == ["didUpdate n=1", "didNotMonitor -72000 of 10"])
    }
}
