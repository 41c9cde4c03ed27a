import EventLoops
import Foundation
import Glibc
import HostResolver
import Testing

@testable import ServiceDiscovery

/// The engine of the daemon, with a library that the test writes.
@Suite(.serialized) struct DaemonEngineTests {
    /// The two ends of a pipe: what is readable when the daemon has something to say.
    private static func pipe() -> (read: CInt, write: CInt) {
        var ends: [CInt] = [-1, -1]
        _ = ends.withUnsafeMutableBufferPointer { Glibc.pipe($0.baseAddress!) }
        return (ends[0], ends[1])
    }

    private func advertisement() throws -> ServiceAdvertisement {
        try .http("Web")
    }

    /// The daemon is slow: the update comes while it is still being asked to begin.
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
        while ScriptedDaemon.state.withLock({ $0.references[1]?.texts.count ?? 0 }) < 2 { await Task.yield() }
        let texts = ScriptedDaemon.state.withLock { $0.references[1]?.texts }
        #expect(texts == [try advertisement().record.wireForm, record.wireForm])
        engine.end(operation)
        #expect(throws: ServiceDiscoveryError(.invalidated)) { try engine.update(operation, record: record) }
    }

    /// The same with a record that the daemon refuses: the operation fails, rather than go on with the old one in silence.
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

    /// A descriptor that cannot be waited for ends the operation: the loop is not kept busy with it.
    @Test func aFailedWaitEndsTheOperation() async throws {
        // More than any process may have open.
        ScriptedDaemon.reset(descriptor: 1 << 30)
        let engine = DaemonEngine(ScriptedDaemon.library)
        let sink = RecordingSink()
        let operation = try engine.ask(RecordKey(.http, .ptr), interface: nil, sink: sink)
        let events = wait(sink)
        #expect(events == [.failed(MulticastSocket.failure(EBADF).about("_http._tcp.local."))])
        // The engine ends the operation after it has rung.
        while ScriptedDaemon.state.withLock({ $0.references[1]?.isEnded }) != true { await Task.yield() }
        engine.end(operation)
    }

    /// A library that goes on failing is asked once.
    @Test func aFailedResultEndsTheOperation() throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        var byte: UInt8 = 0
        #expect(Glibc.write(write, &byte, 1) == 1)
        ScriptedDaemon.reset(descriptor: read)
        let engine = DaemonEngine(ScriptedDaemon.library)
        let sink = RecordingSink()
        ScriptedDaemon.state.withLock { $0.failsResults = DaemonNumber.notRunning }
        let operation = try engine.ask(RecordKey(.http, .ptr), interface: nil, sink: sink)
        #expect(sink.next() == [.failed(ServiceDiscoveryError(.daemonUnavailable, name: "_http._tcp.local."))])
        engine.end(operation)
    }

    private func wait(_ semaphore: DispatchSemaphore) {
        semaphore.wait()
    }

    private func wait(_ sink: RecordingSink) -> [DiscoveryEvent] {
        sink.next()
    }

    /// Several messages came together, which is one edge, and the first ones give no reply: all are taken.
    @Test func messagesBehindOneWithoutAReplyAreTaken() throws {
        let (read, write) = Self.pipe()
        defer { for end in [read, write] { close(end) } }
        var byte: UInt8 = 0
        #expect(Glibc.write(write, &byte, 1) == 1)
        ScriptedDaemon.reset(descriptor: read)
        ScriptedDaemon.state.withLock { $0.quietResults = 5 }
        ScriptedDaemon.state.withLock { $0.failsResults = DaemonNumber.notRunning }
        let engine = DaemonEngine(ScriptedDaemon.library)
        let sink = RecordingSink()
        let operation = try engine.ask(RecordKey(.http, .ptr), interface: nil, sink: sink)
        #expect(sink.next() == [.failed(ServiceDiscoveryError(.daemonUnavailable, name: "_http._tcp.local."))])
        #expect(ScriptedDaemon.state.withLock { $0.quietResults } == 0)
        engine.end(operation)
    }
}
