import DNSServiceC
import DNSWire
import Dispatch
import EventLoops
import Glibc
import Testing

import struct DNSServiceEngine.ServiceEnvironment
import func DNSServiceEngine.setQueue

@testable import ServiceDiscovery

/// The references of dns_sd.h, their descriptors, and where callbacks run.
struct ReferenceFunctionTests {
    private let replies = FunctionReplies()
    private let engine = ScriptedEngine()

    private func browse(_ type: String = "_http._tcp", sharing connection: FunctionReference? = nil)
        -> FunctionReference?
    {
        FunctionReference { reference in
            reference.pointee = connection?.pointer
            let flags = connection == nil ? 0 : DNSServiceFlags(kDNSServiceFlagsShareConnection)
            return DNSServiceBrowse(reference, flags, 0, type, nil, FunctionReplies.browse, replies.context)
        }
    }

    private func find(_ name: String, type: String = "_http._tcp") {
        engine.set([
            DNSRecord(
                DNSName("\(type).local")!, timeToLive: 4_500, .ptr(DNSName("\(name).\(type).local")!))
        ])
    }

    @Test func theVersionIsAProperty() {
        var (version, size) = (UInt32(0), UInt32(4))
        #expect(DNSServiceGetProperty("DaemonVersion", &version, &size) == 0 && version == 7_650_000 && size == 4)
        size = 3
        #expect(DNSServiceGetProperty("DaemonVersion", &version, &size) == -65539)
        #expect(DNSServiceGetProperty("Other", &version, &size) == -65544)
        #expect(DNSServiceGetProperty(nil, &version, &size) == -65540)
        #expect(DNSServiceGetProperty("DaemonVersion", nil, &size) == -65540)
        #expect(DNSServiceGetProperty("DaemonVersion", &version, nil) == -65540)
    }

    @Test func callbacksRunOnTheCallersThread() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            find("a")
            browser.process()
            #expect(replies.threads == [pthread_self()] && replies.take().count == 1)
        }
    }

    /// Without a reply, ProcessResult waits: the one that another thread causes is processed.
    @Test func processingWaitsForAReply() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            let thread = TestThread { [self] in find("a") }
            #expect(browser.process() == 0 && replies.take().count == 1)
            thread.join()
        }
    }

    @Test func aReferenceCanBeReleasedInAReply() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            find("a")
            find("b")
            replies.inNextReply { DNSServiceRefDeallocate(browser.pointer) }
            #expect(browser.process() == 0)
            #expect(replies.take() == ["3 1 0 a _http._tcp. local."])
            #expect(engine.running.isEmpty && browser.process() == -65541)
        }
    }

    /// Replies on a queue do not overlap: a thread that finds another one in a reply leaves the next one to it.
    @Test func repliesDoNotOverlap() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            let queue = ManualTarget()
            #expect(setQueue(of: browser.pointer, to: queue) == 0)
            let inside = Locked<[String]?>(nil)
            replies.inNextReply { [self] in
                _ = replies.take()
                find("b")
                TestThread { queue.run() }.join()
                let lines = replies.take()
                inside.withLock { $0 = lines }
            }
            find("a")
            queue.run()
            #expect(inside.withLock { $0 } == [])
            // The thread that was in the reply has made the next one.
            #expect(replies.take() == ["2 1 0 b _http._tcp. local."] && !browser.isReadable)
        }
    }

    /// A thread that processes while another one is in a reply sleeps until that has ended, although a reply waits. Then it makes one: the
    /// reply that waits, if the other thread was a queue that is no longer set, or otherwise the first one that the other thread leaves.
    @Test(arguments: [true, false]) func processingWaitsForTheReplyOfAnotherThread(onQueue: Bool) throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            let queue = ManualTarget()
            if onQueue { #expect(setQueue(of: browser.pointer, to: queue) == 0) }
            let id = Locked<String?>(nil)
            let result = Locked<Int?>(nil)
            let other = Locked<TestThread?>(nil)
            let sleeps = Locked(false)
            replies.inNextReply { [self] in
                if onQueue { #expect(setQueue(of: browser.pointer, to: nil) == 0) }
                find("b")
                let thread = TestThread {
                    let own = TestThread.current
                    id.withLock { $0 = own }
                    let value = browser.process()
                    result.withLock { $0 = value }
                }
                other.withLock { $0 = thread }
                while result.withLock({ $0 }) == nil, !sleeps.withLock({ $0 }) {
                    if let id = id.withLock({ $0 }), TestThread.sleeps(id) { sleeps.withLock { $0 = true } }
                    sched_yield()
                }
            }
            find("a")
            if onQueue { queue.run() } else { browser.process() }
            #expect(sleeps.withLock { $0 })
            if !onQueue { find("c") }
            other.withLock { $0 }?.join()
            #expect(result.withLock { $0 } == 0 && !browser.isReadable)
            let names = replies.take().map { $0.split(separator: " ").dropFirst(3).first }
            #expect(names == (onQueue ? ["a", "b"] : ["a", "b", "c"]))
        }
    }

    /// A callback can wait for the next reply, which is made within it.
    @Test func processingInAReplyMakesTheNextOne() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            let inside = Locked<[String]?>(nil)
            replies.inNextReply { [self] in
                _ = replies.take()
                find("b")
                #expect(browser.isReadable && browser.process() == 0)
                let lines = replies.take()
                inside.withLock { $0 = lines }
            }
            find("a")
            #expect(browser.process() == 0)
            #expect(inside.withLock { $0 } == ["2 1 0 b _http._tcp. local."] && !browser.isReadable)
        }
    }

    /// Another thread takes over once the place of the replies has changed, and not while a reply runs.
    @Test func repliesDoNotOverlapWhenTheQueueChanges() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            let (first, second) = (ManualTarget(), ManualTarget())
            #expect(setQueue(of: browser.pointer, to: first) == 0)
            let inside = Locked<[String]?>(nil)
            replies.inNextReply { [self] in
                _ = replies.take()
                _ = setQueue(of: browser.pointer, to: second)
                find("b")
                TestThread { second.run() }.join()
                let lines = replies.take()
                inside.withLock { $0 = lines }
            }
            find("a")
            first.run()
            #expect(inside.withLock { $0 } == [] && replies.take() == [])
            second.run()
            #expect(replies.take() == ["2 1 0 b _http._tcp. local."])
            #expect(setQueue(of: browser.pointer, to: nil) == 0)
        }
    }

    /// A connection that another thread releases while an operation begins has no operation afterwards.
    @Test func aConnectionIsReleasedWhileAnOperationBegins() throws {
        let connection = Locked<FunctionReference?>(nil)
        let engine = ScriptedEngine { _, _, _ in
            let released = connection.withLock { $0 }
            DNSServiceRefDeallocate(released?.pointer)
        }
        try ServiceEnvironment.with(engine) {
            for isBrowser in [true, false] {
                let new = try #require(FunctionReference { DNSServiceCreateConnection($0) })
                connection.withLock { $0 = new }
                if isBrowser {
                    #expect(browse(sharing: new) == nil)
                } else {
                    var record: DNSRecordRef?
                    #expect(
                        DNSServiceRegisterRecord(
                            new.pointer, &record, 0x20, 0, "a.local", 10, 1, 1, [1], 0, FunctionReplies.record, nil)
                            == -65541)
                    #expect(record == nil)
                }
                #expect(engine.running.isEmpty)
            }
        }
        connection.withLock { $0 = nil }
    }

    @Test func aReplyCanBeginAnotherOperation() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            let other = Locked<FunctionReference?>(nil)
            find("a")
            let environment = ServiceEnvironment.current
            replies.inNextReply { [self] in
                let new = ServiceEnvironment.$current.withValue(environment) { browse("_ipp._tcp") }
                other.withLock { $0 = new }
            }
            browser.process()
            #expect(replies.take().count == 1 && engine.running.count == 2)
            other.withLock { $0 = nil }
            #expect(engine.running.count == 1)
        }
    }

    @Test func aReleasedOrMissingReferenceIsRefused() throws {
        try ServiceEnvironment.with(engine) {
            let browser = try #require(browse())
            let pointer = browser.pointer
            DNSServiceRefDeallocate(pointer)
            DNSServiceRefDeallocate(pointer)
            DNSServiceRefDeallocate(nil)
            var record: DNSRecordRef?
            #expect(DNSServiceRefSockFD(pointer) == -1 && DNSServiceRefSockFD(nil) == -1)
            #expect(DNSServiceProcessResult(pointer) == -65541 && DNSServiceProcessResult(nil) == -65540)
            #expect(DNSServiceAddRecord(pointer, &record, 0, 10, 1, [1], 0) == -65541)
            #expect(DNSServiceAddRecord(nil, &record, 0, 10, 1, [1], 0) == -65540)
            #expect(DNSServiceUpdateRecord(pointer, nil, 0, 1, [1], 0) == -65541)
            #expect(DNSServiceRemoveRecord(pointer, nil, 0) == -65541)
            // A number that was never a reference, such as the address of memory.
            let stranger = DNSServiceRef(bitPattern: UInt(bitPattern: replies.context))
            #expect(DNSServiceProcessResult(stranger) == -65541)
            // A reference of another kind.
            let other = try #require(browse())
            #expect(DNSServiceAddRecord(other.pointer, &record, 0, 10, 1, [1], 0) == -65541)
            #expect(
                DNSServiceRegisterRecord(
                    other.pointer, &record, 0x20, 0, "a.local", 10, 1, 1, [1], 0, FunctionReplies.record, nil) == -65541
            )
        }
    }

    @Test func operationsShareAConnection() throws {
        try ServiceEnvironment.with(engine) {
            let connection = try #require(FunctionReference { DNSServiceCreateConnection($0) })
            let (web, printers) = (
                try #require(browse(sharing: connection)), try #require(browse("_ipp._tcp", sharing: connection))
            )
            #expect(DNSServiceRefSockFD(web.pointer) == -1 && web.process() == -65541)
            find("a")
            find("b", type: "_ipp._tcp")
            #expect(connection.isReadable && connection.process() == 0 && !connection.isReadable)
            #expect(replies.take() == ["3 1 0 a _http._tcp. local.", "2 1 0 b _ipp._tcp. local."])
            // An operation that ends takes its reply with it.
            find("c")
            DNSServiceRefDeallocate(web.pointer)
            #expect(!connection.isReadable && engine.running.count == 1)
            DNSServiceRefDeallocate(connection.pointer)
            #expect(engine.running.isEmpty)
            DNSServiceRefDeallocate(printers.pointer)
            // Only a connection can be shared.
            let alone = try #require(browse())
            #expect(browse(sharing: alone) == nil && browse(sharing: connection) == nil)
        }
    }

    @Test func aThousandOperationsNeedOneDescriptor() throws {
        try ServiceEnvironment.with(engine) {
            let connection = try #require(FunctionReference { DNSServiceCreateConnection($0) })
            let browsers = (0..<1_000).compactMap { _ in browse(sharing: connection) }
            #expect(browsers.count == 1_000 && engine.running.count == 1_000)
            find("a")
            while connection.isReadable { connection.process() }
            #expect(replies.take().count == 1_000)
        }
    }

    /// The arguments that are missing or invalid, with the results. No call creates a reference.
    @Test func invalidArgumentsAreRefused() {
        ServiceEnvironment.with(engine) {
            let (callback, context) = (FunctionReplies.browse, replies.context)
            var reference: DNSServiceRef?
            #expect(DNSServiceBrowse(nil, 0, 0, "_http._tcp", nil, callback, context) == -65540)
            #expect(DNSServiceBrowse(&reference, 0, 0, nil, nil, callback, context) == -65540)
            #expect(DNSServiceBrowse(&reference, 0, 0, "http", nil, callback, context) == -65540)
            #expect(DNSServiceBrowse(&reference, 0, 0, "_http._tcp", "a..b", callback, context) == -65540)
            #expect(DNSServiceBrowse(&reference, 0, 0, "_http._tcp", nil, nil, context) == -65540)
            #expect(DNSServiceBrowse(&reference, 0, 9_999, "_http._tcp", nil, callback, context) == -65552)
            #expect(DNSServiceBrowse(&reference, 0, .max - 2, "_http._tcp", nil, callback, context) == -65544)
            #expect(DNSServiceRegister(&reference, 0, 0, "a", "_http._tcp", nil, nil, 1, 1, nil, nil, nil) == -65540)
            let text = (0..<40).flatMap {
                [UInt8(255)] + Array("\($0)=".utf8) + [UInt8](repeating: 1, count: $0 < 10 ? 253 : 252)
            }
            #expect(
                DNSServiceRegister(
                    &reference, 0, 0, "a", "_http._tcp", nil, nil, 1, UInt16(text.count), text, nil, nil) == -65540)
            let query = FunctionReplies.query
            #expect(DNSServiceQueryRecord(&reference, 0, 0, nil, 1, 1, query, context) == -65540)
            #expect(DNSServiceQueryRecord(&reference, 0, 0, "a..b", 1, 1, query, context) == -65540)
            #expect(DNSServiceQueryRecord(&reference, 0, 0, "a.local", 255, 1, query, context) == -65544)
            #expect(DNSServiceQueryRecord(&reference, 0, 0, "a.local", 1, 3, query, context) == -65544)
            #expect(DNSServiceGetAddrInfo(&reference, 0, 0, 4, "a.local", FunctionReplies.address, context) == -65540)
            #expect(
                DNSServiceResolve(&reference, 0, 0, nil, "_http._tcp", nil, FunctionReplies.resolve, context) == -65540)
            #expect(DNSServiceCreateConnection(nil) == -65540)
            #expect(DNSServiceNATPortMappingCreate(&reference, 0, 0, 0x20, 80, 80, 60, nil, nil) == -65544)
            #expect(DNSServiceSleepKeepalive(&reference, 0, 0, 60, nil, nil) == -65544)
            #expect(reference == nil && engine.running.isEmpty)
        }
    }

    @Test(arguments: [
        ("Web", "_http._tcp.", "local.", "Web._http._tcp.local."),
        ("a.b\\c d", "_http._tcp", "local", "a\\.b\\\\c\\032d._http._tcp.local."),
        ("Büro", "_ipp._tcp,_sub", "example.org", "Büro._ipp._tcp.example.org."),
        (nil, "_http._tcp", "local", "_http._tcp.local."),
        ("", "_http._tcp", "local", "_http._tcp.local."),
    ])
    func aFullNameIsConstructed(name: String?, type: String, domain: String, fullName: String) {
        var buffer = [CChar](repeating: 1, count: Int(kDNSServiceMaxDomainName))
        #expect(DNSServiceConstructFullName(&buffer, name, type, domain) == 0)
        #expect(buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) } == fullName)
        #expect(DNSServiceConstructFullName(nil, name, type, domain) == -65540)
        #expect(DNSServiceConstructFullName(&buffer, name, nil, domain) == -65540)
        #expect(DNSServiceConstructFullName(&buffer, name, type, nil) == -65540)
        #expect(DNSServiceConstructFullName(&buffer, name, type, "") == -65540)
        #expect(buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) } == fullName)
    }

    /// Each of 8 threads has its own operations; all share one engine. Another thread finds services.
    @Test func operationsRunOnEightThreads() throws {
        let counts = Locked<[Int]>([])
        let threads = (0..<8).map { number in
            TestThread { [engine] in
                let replies = FunctionReplies()
                ServiceEnvironment.with(engine) {
                    for _ in 0..<50 {
                        let type = "_t\(number)x._tcp"
                        let browser = FunctionReference {
                            DNSServiceBrowse($0, 0, 0, type, nil, FunctionReplies.browse, replies.context)
                        }
                        let name = DNSName("\(type).local")!
                        let record = DNSRecord(name, timeToLive: 4_500, .ptr(DNSName("a.\(type).local")!))
                        engine.set([record])
                        browser?.process()
                        engine.set([record], isPresent: false)
                    }
                }
                let lines = replies.take().count
                counts.withLock { $0.append(lines) }
            }
        }
        for thread in threads { thread.join() }
        #expect(counts.withLock { $0 } == [Int](repeating: 50, count: 8))
        #expect(engine.running.isEmpty)
    }
}

/// A target of which the test makes the turns, on threads of its choice.
private final class ManualTarget: DeliveryTarget {
    private struct State {
        var perform: (@Sendable () -> Void)?
    }
    private let state = Locked(State())

    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        state.withLock { $0.perform = perform }
        return Signal()
    }

    func isSame(as other: any DeliveryTarget) -> Bool { other as? ManualTarget === self }

    func run() { state.withLock { $0.perform }?() }

    private final class Signal: DeliverySignal {
        func signal() {}
        func cancel() {}
    }
}

/// A thread of the test.
final class TestThread: Sendable {
    /// The folder of the calling thread in `/proc`, as `1/task/2`.
    static var current: String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = bytes.withUnsafeMutableBytes { readlink("/proc/thread-self", $0.baseAddress!, $0.count) }
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }

    /// Whether the thread with a folder sleeps (proc_pid_stat(5)).
    static func sleeps(_ folder: String) -> Bool {
        let descriptor = open("/proc/\(folder)/stat", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
        return text.split(separator: ")").last?.split(separator: " ").first == "S"
    }

    private let id: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    init(_ run: @escaping @Sendable () -> Void) {
        var id = pthread_t()
        let status = pthread_create(
            &id, nil,
            { context in
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, Unmanaged.passRetained(Body(run)).toOpaque())
        precondition(status == 0, "the test needs a thread")
        self.id = id
    }

    func join() { pthread_join(id, nil) }
}
