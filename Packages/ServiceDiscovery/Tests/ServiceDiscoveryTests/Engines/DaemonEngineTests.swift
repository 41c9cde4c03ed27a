import DNSWire
import EventLoops
import Foundation
import Glibc
import HostResolver
import Testing

@testable import ServiceDiscovery

/// The daemon engine with a scripted library.
@Suite(.serialized, .timeLimit(.minutes(5))) struct DaemonEngineTests {
    /// The ends of a pipe. The read end is readable when the scripted daemon has a message.
    private static func pipe() -> (read: CInt, write: CInt) {
        var ends: [CInt] = [-1, -1]
        _ = ends.withUnsafeMutableBufferPointer { Glibc.pipe($0.baseAddress!) }
        return (ends[0], ends[1])
    }

    private func advertisement() throws -> ServiceAdvertisement {
        try .http("Web")
    }

    /// The daemon is slow: the update arrives while the publication is still being begun.
    @Test func anUpdateSoonAfterPublishingIsAnnounced() async throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        let (begun, updated) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        ScriptedDaemon.reset(descriptor: read) {
            begun.signal()
            updated.wait()
        }
        let engine = DaemonEngine(ScriptedDaemon.library)
        let sink = RecordingSink()
        let operation = try engine.publish(try advertisement(), sink: sink)
        let record = try TXTRecord(["new": "1"])
        wait(begun)
        try engine.update(operation, record: record)
        updated.signal()
        while ScriptedDaemon.state.withLock({ $0.references[1]?.texts.count ?? 0 }) < 2 {
            try Task.checkCancellation()  // by the time limit
            await Task.yield()
        }
        let texts = ScriptedDaemon.state.withLock { $0.references[1]?.texts }
        #expect(texts == [try advertisement().record.wireForm, record.wireForm])
        engine.end(operation)
        #expect(throws: ServiceDiscoveryError(.invalidated)) { try engine.update(operation, record: record) }
    }

    /// Each call of the library waits for the daemon, so none is made on a caller's thread, which may be an event loop's.
    @Test func theLibraryIsCalledOnTheEnginesThreadOnly() async throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        ScriptedDaemon.reset(descriptor: read)
        let engine = DaemonEngine(ScriptedDaemon.library)
        let operation = try engine.publish(try advertisement(), sink: RecordingSink())
        func waitUntil(_ condition: (ScriptedDaemon.State) -> Bool) async throws {
            while !ScriptedDaemon.state.withLock({ condition($0) }) {
                try Task.checkCancellation()  // by the time limit
                await Task.yield()
            }
        }
        try await waitUntil { $0.references.count == 1 }
        try engine.update(operation, record: try TXTRecord(["new": "1"]))
        try await waitUntil { $0.references[1]?.texts.count == 2 }
        let service = try ServiceInstance(name: "Web", type: ServiceType("_http._tcp"))
        try engine.reconfirm(RecordKey(.http, .ptr), .ptr(service.fullName), interface: nil)
        engine.end(operation)
        let query = try engine.query(RecordKey(.http, .ptr), interface: nil, sink: RecordingSink())
        try await waitUntil { $0.references.count == 2 }
        engine.end(query)
        try await waitUntil { $0.references.values.allSatisfy(\.isEnded) }
        #expect(ScriptedDaemon.state.withLock { $0.threads } == ["netkit-dnssd\n"])
    }

    /// Another host of a service, and the data of a record that is no pointer, reach the daemon. It cannot be told to ask the link
    /// for a name that is not in `local`.
    @Test func theDaemonReceivesWhatIsAsked() async throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        ScriptedDaemon.reset(descriptor: read)
        let engine = DaemonEngine(ScriptedDaemon.library)
        var advertisement = try advertisement()
        let host = try #require(DNSName("desk.local"))
        advertisement.host = host
        let operation = try engine.publish(advertisement, sink: RecordingSink())
        try engine.reconfirm(RecordKey(host, .a), .a(IPv4Address(192, 0, 2, 7)), interface: "lo")
        while ScriptedDaemon.state.withLock({ $0.reconfirmed.isEmpty }) {
            try Task.checkCancellation()  // by the time limit
            await Task.yield()
        }
        #expect(ScriptedDaemon.state.withLock { $0.references[1]?.host } == "desk.local.")
        #expect(ScriptedDaemon.state.withLock { $0.reconfirmed } == ["desk.local. 1 [192, 0, 2, 7] on 1"])
        #expect(throws: ServiceDiscoveryError.self) {
            try engine.queryLink(
                RecordKey(try #require(DNSName("desk.example")), .a), interface: nil, sink: RecordingSink())
        }
        engine.end(operation)
    }

    /// The same with a record that the daemon rejects: the operation fails instead of keeping the old record silently.
    @Test func anUpdateThatIsRefusedLaterFailsTheOperation() throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        let (begun, updated) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        ScriptedDaemon.reset(descriptor: read) {
            begun.signal()
            updated.wait()
        }
        ScriptedDaemon.state.withLock { $0.updateError = DaemonNumber.badParameter }
        let engine = DaemonEngine(ScriptedDaemon.library)
        let sink = RecordingSink()
        let operation = try engine.publish(try advertisement(), sink: sink)
        wait(begun)
        try engine.update(operation, record: try TXTRecord(["new": "1"]))
        updated.signal()
        #expect(sink.next() == [.failed(DaemonNumber.error(DaemonNumber.badParameter))])
        #expect(ScriptedDaemon.state.withLock { $0.references[1]?.isEnded } == true)
        engine.end(operation)
    }

    /// A descriptor that cannot be waited for ends the operation instead of keeping the loop busy.
    @Test func aFailedWaitEndsTheOperation() async throws {
        // More than any process may have open.
        ScriptedDaemon.reset(descriptor: 1 << 30)
        let engine = DaemonEngine(ScriptedDaemon.library)
        let sink = RecordingSink()
        let operation = try engine.query(RecordKey(.http, .ptr), interface: nil, sink: sink)
        let events = wait(sink)
        #expect(events == [.failed(ServiceDiscoveryError(errno: EBADF).about("_http._tcp.local."))])
        // The engine ends the operation after the notification.
        while ScriptedDaemon.state.withLock({ $0.references[1]?.isEnded }) != true, !Task.isCancelled {
            await Task.yield()
        }
        engine.end(operation)
    }

    /// A library that fails is called only once.
    @Test func aFailedResultEndsTheOperation() throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        var byte: UInt8 = 0
        #expect(Glibc.write(write, &byte, 1) == 1)
        ScriptedDaemon.reset(descriptor: read)
        let engine = DaemonEngine(ScriptedDaemon.library)
        let sink = RecordingSink()
        ScriptedDaemon.state.withLock { $0.failsResults = DaemonNumber.notRunning }
        let operation = try engine.query(RecordKey(.http, .ptr), interface: nil, sink: sink)
        #expect(sink.next() == [.failed(ServiceDiscoveryError(.daemonUnavailable, name: "_http._tcp.local."))])
        engine.end(operation)
    }

    /// Replies to an ended query arrive after the same question was asked again.
    @Test func ignoresRepliesToAnEarlierQuery() throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        ScriptedDaemon.reset(descriptor: read)
        let engine = DaemonEngine(ScriptedDaemon.library)
        let key = RecordKey(try #require(DNSName("Web._http._tcp.local")), .txt)
        let subject = DaemonQuery.Subject(key: key, interface: 0)
        let sink = RecordingSink()
        let earlier = try engine.query(key, interface: nil, sink: sink)
        engine.end(earlier)
        let operation = try engine.query(key, interface: nil, sink: sink)
        let failure = DaemonReply.failed(ServiceDiscoveryError(.daemonUnavailable))
        engine.receive([.added(.txt([[1]]), interface: 1, named: "a"), failure], of: subject, number: earlier)
        engine.receive([.added(.txt([[2]]), interface: 1, named: "a")], of: subject, number: operation)
        #expect(sink.next() == [.added(DNSRecord(key.name, timeToLive: 0, .txt([[2]])), interface: 1, named: "a")])
        engine.end(operation)
    }

    /// A query that begins while an equal one fails is not lost: it fails as well, so that another engine can replace it.
    @Test func aQueryBesideAFailingOneFails() throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        var byte: UInt8 = 0
        #expect(Glibc.write(write, &byte, 1) == 1)
        ScriptedDaemon.reset(descriptor: read)
        ScriptedDaemon.state.withLock { $0.failsResults = DaemonNumber.notRunning }
        let engine = DaemonEngine(ScriptedDaemon.library)
        let key = RecordKey(try #require(DNSName("Web._http._tcp.local")), .txt)
        let second = RecordingSink()
        let first = QueryingSink(engine, key, second)
        let operation = try engine.query(key, interface: nil, sink: first)
        #expect(second.next() == [.failed(ServiceDiscoveryError(.daemonUnavailable, name: "Web._http._tcp.local."))])
        engine.end(operation)
        withExtendedLifetime(first) {}
    }

    private func wait(_ semaphore: DispatchSemaphore) {
        semaphore.wait()
    }

    private func wait(_ sink: RecordingSink) -> [DiscoveryEvent] {
        sink.next()
    }

    /// Several messages arrived together, which is one edge, and the first ones have no reply: all are read.
    @Test func readsMessagesAfterOneWithoutReplies() throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        var byte: UInt8 = 0
        #expect(Glibc.write(write, &byte, 1) == 1)
        ScriptedDaemon.reset(descriptor: read)
        ScriptedDaemon.state.withLock { $0.quietResults = 5 }
        ScriptedDaemon.state.withLock { $0.failsResults = DaemonNumber.notRunning }
        let engine = DaemonEngine(ScriptedDaemon.library)
        let sink = RecordingSink()
        let operation = try engine.query(RecordKey(.http, .ptr), interface: nil, sink: sink)
        #expect(sink.next() == [.failed(ServiceDiscoveryError(.daemonUnavailable, name: "_http._tcp.local."))])
        #expect(ScriptedDaemon.state.withLock { $0.quietResults } == 0)
        engine.end(operation)
    }
}

/// A sink that begins another query when its own has failed, while the engine still reports the failure.
private final class QueryingSink: EventSink {
    private let engine: DaemonEngine
    private let key: RecordKey
    private let next: RecordingSink

    init(_ engine: DaemonEngine, _ key: RecordKey, _ next: RecordingSink) {
        (self.engine, self.key, self.next) = (engine, key, next)
    }

    func receive(_ event: DiscoveryEvent, of operation: Int) {}

    func notify() {
        #expect(throws: Never.self) { _ = try engine.query(key, interface: nil, sink: next) }
    }
}

@Suite struct DaemonRecordsTests {
    private let name = DNSName("_http._tcp.local")!
    private let data = DNSRecordData.ptr(DNSName("a._http._tcp.local")!)

    @Test func countsReports() {
        var records = DaemonRecords(of: name)
        let record = DNSRecord(name, timeToLive: 0, data)
        let (first, second) = ("eth0", "wlan0")
        // Avahi reports each record once per family.
        let added = records.receive(.added(data, interface: 1, named: first))
        #expect(added == .added(record, interface: 1, named: first))
        #expect(records.receive(.added(data, interface: 1, named: first)) == nil)
        let other = records.receive(.added(data, interface: 2, named: second))
        #expect(other == .added(record, interface: 2, named: second))
        #expect(records.known == [added, other])
        #expect(records.receive(.removed(data, interface: 1)) == nil)
        #expect(records.receive(.removed(data, interface: 1)) == .removed(record, interface: 1))
        #expect(records.receive(.removed(data, interface: 1)) == nil)
        #expect(records.known == [other])
    }

    @Test func parsesRecordData() throws {
        #expect(DNSRecordData(wire: [10, 0, 0, 1], type: .a) == .a(IPv4Address(10, 0, 0, 1)))
        let target = try #require(DNSName("h.local"))
        let srv: [UInt8] = [0, 0, 0, 0, 0, 80] + target.wireForm
        #expect(DNSRecordData(wire: srv, type: .srv) == .srv(priority: 0, weight: 0, port: 80, target: target))
        #expect(DNSRecordData(wire: [3, 97, 61, 98, 0], type: .txt) == .txt([[97, 61, 98], []]))
    }

    @Test func refusesMalformedData() {
        for count in 0..<4 { #expect(DNSRecordData(wire: Array(repeating: 1, count: count), type: .a) == nil) }
        #expect(DNSRecordData(wire: [0, 0, 0], type: .srv) == nil)
        // A pointer to itself, and one to earlier bytes.
        #expect(DNSRecordData(wire: [0xC0, 23], type: .ptr) == nil)
        #expect(DNSRecordData(wire: [9, 97], type: .txt) == nil)
        #expect(DNSRecordData(wire: Array(repeating: 0, count: 65_536), type: .txt) == nil)
    }
}
