import Dispatch
@_spi(Packages) import EventLoops
import FoundationEssentials
import Glibc
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The hand-over of the reader's role, in all orders.
@Suite(.timeLimit(.minutes(5))) struct ReadingRoleTests {
    @Test("a thread takes the role from the loop, unless a task waits")
    func taking() {
        let (point, other) = (WaitPoint(), WaitPoint())
        var role = ReadingRole()
        guard case .reads(insteadOfLoop: true) = role.threadWaits(at: point) else { return fail("not the reader") }
        guard case .waits = role.threadWaits(at: other) else { return fail("two readers") }
        var busy = ReadingRole()
        let callsLoop = busy.taskWaits(at: other)
        #expect(!callsLoop)
        guard case .waits = busy.threadWaits(at: point) else { return fail("the task's reader is gone") }
        busy.waitEnds(at: other)
        guard case .reads(insteadOfLoop: true) = busy.threadWaits(at: point) else {
            return fail("no task waits any more")
        }
    }

    @Test("the loop takes a role that no thread has had since it checked last")
    func checking() {
        let point = WaitPoint()
        var role = ReadingRole()
        _ = role.threadWaits(at: point)
        guard case .free(wakes: nil, checksSoon: true) = role.readerGoesOn() else {
            return fail("the loop does not check")
        }
        guard case .reads(insteadOfLoop: false) = role.threadWaits(at: point) else { return fail("the loop was first") }
        guard case .free(wakes: nil, checksSoon: false) = role.readerGoesOn() else {
            return fail("the loop checks twice")
        }
        let checksAgain = role.loopChecks()
        #expect(checksAgain && role.reader == .free(hasWoken: false))
        let checksOnceMore = role.loopChecks()
        #expect(!checksOnceMore && role.reader == .loop)
    }

    @Test("a thread that takes its data itself wakes no other one until it has taken some")
    func takingData() {
        let (point, other) = (WaitPoint(), WaitPoint())
        var role = ReadingRole()
        #expect(!role.mayTake(onLoop: false))
        _ = role.threadWaits(at: point)
        _ = role.threadWaits(at: other)
        if case .some = role.threadTakes(at: point) { fail("it has found data") }
        #expect(role.reader == .thread)
        role.foundNothing(at: point)
        guard case .free(wakes: nil, checksSoon: true) = role.threadTakes(at: point) else {
            return fail("it reads for all")
        }
        #expect(role.reader == .free(hasWoken: false) && role.threads.count == 1)
        #expect(role.mayTake(onLoop: false) && role.check == .expected(hasThreadRead: false))
        guard case .free(wakes: let woken?, checksSoon: false) = role.callerGoesOn() else {
            return fail("no thread reads")
        }
        #expect(woken === other && role.check == .expected(hasThreadRead: true))
        // Data that was signalled is kept: its reader looks there first.
        role.foundNothing(at: point)
        role.waitEnds(at: point)
        #expect(role.takers.isEmpty)
    }

    @Test("data that is taken again and again wakes one thread, not a crowd")
    func takingMuchData() {
        let points = (0..<3).map { _ in WaitPoint() }
        var role = ReadingRole()
        for point in points { _ = role.threadWaits(at: point) }
        guard case .free(wakes: let first?, checksSoon: true) = role.readerGoesOn() else {
            return fail("no succession")
        }
        #expect(first === points[1])
        if case .some = role.callerGoesOn() { fail("a further thread is woken") }
        // The thread has something else to do.
        let checksAgain = role.loopChecks()
        #expect(checksAgain)
        guard case .free(wakes: let second?, checksSoon: false) = role.callerGoesOn() else {
            return fail("no further thread")
        }
        #expect(second === points[2])
    }

    @Test("a thread that looks for data and does not wait leaves the role to the loop")
    func polling() {
        let point = WaitPoint()
        var role = ReadingRole()
        _ = role.threadWaits(at: point)
        _ = role.readerGoesOn()
        for _ in 0..<2 {
            #expect(role.mayTake(onLoop: false))
            role.foundNothing(at: point)
        }
        let checksAgain = role.loopChecks()
        #expect(!checksAgain && role.reader == .loop)
    }

    private func fail(_ comment: Comment) { Issue.record(comment) }

    /// Two threads and a task at their points, and the loop.
    private struct Model {
        enum Waiter: Int, CaseIterable { case first, second, task }
        enum Doing: Hashable { case runs, reads, waits, isWoken, takes }

        var role = ReadingRole()
        var doing = [Doing](repeating: .runs, count: Waiter.allCases.count)
        /// The loop is about to check.
        var loopChecks = false
        let points = [WaitPoint(), WaitPoint(), WaitPoint()]

        /// All that determines what can happen next.
        var key: [AnyHashable] {
            func indices(_ waiting: [WaitPoint]) -> [Int] {
                waiting.map { point in points.firstIndex { $0 === point } ?? -1 }
            }
            return [
                role.reader, role.check, indices(role.threads), role.tasks, indices(role.takers), doing,
                loopChecks,
            ]
        }

        /// A waiter has no reader, and will have none.
        var isStuck: Bool { doing.contains(.waits) && isFree && !loopChecks }

        var isFree: Bool { if case .free = role.reader { true } else { false } }

        /// Each thing that can happen now.
        var successors: [Model] {
            var all: [Model] = []
            func add(_ change: (inout Model) -> Void) {
                var next = self
                change(&next)
                all.append(next)
            }
            for waiter in Waiter.allCases {
                let index = waiter.rawValue
                switch doing[index] {
                case .runs:
                    add { $0.wait(waiter) }
                    if waiter != .task, role.mayTake(onLoop: false) {
                        add { $0.look(waiter) }
                        add { $0.role.foundNothing(at: $0.points[index]) }  // and does not wait
                        add { $0.takeOn(index) }
                    }
                case .isWoken: add { $0.goOn(waiter) }
                case .waits:
                    add { $0.goOn(waiter) }  // its deadline
                    if !isFree { add { $0.wake(index) } }
                case .takes:
                    add { $0.look(waiter) }
                    add { $0.doing[index] = .runs }  // its deadline
                    add { $0.takeOn(index) }
                case .reads:
                    add { $0.stopReading(index) }
                    add { $0.take(index) }
                    add { model in
                        model.role.leaveToLoop(threadAt: model.points[index])
                        model.doing[index] = .waits
                    }
                }
            }
            if loopChecks { add { $0.loopChecks = $0.role.loopChecks() } }
            return all
        }

        private mutating func wait(_ waiter: Waiter) {
            let (index, point) = (waiter.rawValue, points[waiter.rawValue])
            if waiter == .task {
                _ = role.taskWaits(at: point)
                doing[index] = .waits
            } else if case .reads = role.threadWaits(at: point) {
                doing[index] = .reads
            } else {
                doing[index] = .waits
            }
        }

        /// Something has arrived for a waiter.
        private mutating func wake(_ index: Int) {
            role.waitEnds(at: points[index])
            doing[index] = .isWoken
        }

        private mutating func goOn(_ waiter: Waiter) {
            let point = points[waiter.rawValue]
            // A task's request that ends does not wait any more.
            if waiter == .task { role.waitEnds(at: point) } else { role.threadGoesOn(at: point) }
            doing[waiter.rawValue] = .runs
        }

        /// Looks for data in the input, finds none, and waits.
        private mutating func look(_ waiter: Waiter) {
            let mayTake = role.mayTake(onLoop: false)
            if mayTake { role.foundNothing(at: points[waiter.rawValue]) }
            wait(waiter)
        }

        /// The thread that reads goes on to take its data itself.
        private mutating func take(_ index: Int) {
            guard let succession = role.threadTakes(at: points[index]) else { return }
            succeed(succession)
            doing[index] = .takes
        }

        /// Takes data, and goes on.
        private mutating func takeOn(_ index: Int) {
            doing[index] = .runs
            if let succession = role.callerGoesOn() { succeed(succession) }
        }

        private mutating func stopReading(_ index: Int) {
            role.waitEnds(at: points[index])
            doing[index] = .runs
            succeed(role.readerGoesOn())
        }

        private mutating func succeed(_ succession: ReadingRole.Succession) {
            guard case .free(let point, let checksSoon) = succession else { return }
            if checksSoon { loopChecks = true }
            if let next = points.firstIndex(where: { $0 === point }) { doing[next] = .isWoken }
        }
    }

    @Test("whatever the order, each waiter has a reader, or one is on its way")
    func allOrders() {
        let start = Model()
        var seen: Set<[AnyHashable]> = [start.key]
        var open = [start]
        while let model = open.popLast() {
            let readers = model.doing.count { $0 == .reads }
            #expect(readers == (model.role.reader == .thread ? 1 : 0))
            #expect(!model.isStuck, "\(model.key)")
            for next in model.successors where seen.insert(next.key).inserted { open.append(next) }
        }
        #expect(seen.count > 100)
    }
}

/// While a thread has the role of the reader, the loop does not read: both would compete for the lock of the connection, and the loop would run
/// as long as bytes arrive.
@Suite(.timeLimit(.minutes(5))) struct ReadingThreadTests {
    /// A connection that counts the reads of its loop.
    private final class ObservedTransport: StreamTransport {
        let readsOfLoop = Locked(0)
        /// Provided once another thread has found nothing to read.
        let emptyRead = OneShot<Void>()
        private let below: StreamPair
        /// What other threads find only once the loop has read some of it, in pieces of a frame without content; nil for the bytes of ``below``.
        private let held: Locked<Held?>

        private struct Held {
            var bytes: [UInt8]
            var isFound = false
        }

        init(_ below: StreamPair, holding bytes: [UInt8]? = nil) {
            self.below = below
            held = Locked(bytes.map { Held(bytes: $0) })
        }

        /// The number of held bytes that have not been read.
        var heldCount: Int { held.withLock { $0?.bytes.count ?? 0 } }

        var waitPoint: WaitPoint { below.input.waitPoint }

        func tryOpen() throws(StreamError) -> OpenAttempt {
            try below.open()
            return .opened
        }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            let isLoop = loop.isCurrent
            if isLoop { readsOfLoop.withLock { $0 += 1 } }
            let piece: ArraySlice<UInt8>? = held.withLock { held in
                guard held != nil else { return nil }
                if isLoop { held?.isFound = true }
                guard let found = held, found.isFound else { return [] }
                held?.bytes.removeFirst(min(9, found.bytes.count))
                return found.bytes.prefix(9)
            }
            if let piece, !piece.isEmpty {
                buffer.withUnsafeMutableBytes { $0.copyBytes(from: piece) }
                return .moved(piece.count)
            }
            guard piece == nil, let count = try below.input.tryRead(into: &buffer) else {
                if !isLoop { emptyRead.provide(()) }
                return .wouldBlock(.readable)
            }
            return count == 0 ? .ended : .moved(count)
        }

        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
            try below.output.tryWrite(bytes).map { .moved($0) } ?? .wouldBlock(.writable)
        }

        func peek() throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func writability() throws(StreamError) -> Attempt { .moved(1) }
        func close() { below.close() }
    }

    @Test func theLoopDoesNotReadBesideAThread() async throws {
        var ends: [CInt] = [-1, -1]
        precondition(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let server = StreamPair(descriptor: ends[1], ownership: .owned)
        try server.open()
        let start = Moment.now
        let transport = ObservedTransport(StreamPair(descriptor: ends[0], ownership: .owned))
        let origin = try HTTPOrigin(#require(URL(string: "http://www.example.org/")))
        let key = HTTPConnectionKey(origin, StreamProperties(), loop: .shared)
        let pair = StreamPair(transport: transport)
        try pair.open()
        let pool = HTTPConnectionPool(limits: .init()) { _, _ in pair }
        let link = pool.share(pair, SharedLinks.Key(connection: key, limits: .default), isKept: true)
        var options = HTTPOptions.userAgent
        options.versions = .http2
        options.pool = pool
        let url = try #require(URL(string: "http://www.example.org/"))
        let stream = try ReadStream(request: HTTPRequest(method: .post, url: url), options: options)
        try stream.open()
        let reading = Task { try await onThread { _ = try stream.read(upTo: 1) } }
        try await transport.emptyRead.value()
        let reads = transport.readsOfLoop.withLock { $0 }
        for _ in 0..<10 {
            link.fire()
            await withCheckedContinuation { continuation in EventLoop.shared.execute { continuation.resume() } }
        }
        // Before a deadline, 30 seconds after the connection has opened, the loop reads: a busy machine may take that long to get here.
        #expect(transport.readsOfLoop.withLock { $0 } == reads || Moment.now > start + .seconds(15))
        server.close()
        await #expect(throws: StreamError.self) { try await reading.value }
        stream.close()
        pool.drain()
    }

    private final class Link: HTTP2Link<HTTP2ClientCore>, @unchecked Sendable {
        // Unchecked only as a subclass of Watcher.
        override func fire() { scheduleReading() }
    }

    /// Data goes straight to the memory of its reader: nothing of it is kept, and what there is no room for stays in the input.
    @Test func aReaderTakesItsDataFromTheInput() async throws {
        let loop = EventLoop(name: "taking")
        defer { loop.shutdown() }
        var ends: [CInt] = [-1, -1]
        precondition(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let server = StreamPair(descriptor: ends[1], ownership: .owned)
        let client = StreamPair(descriptor: ends[0], ownership: .owned, loop: loop)
        try server.open()
        try client.open()
        let body = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        func frame(_ type: UInt8, _ flags: UInt8, on stream: UInt8, _ payload: some Collection<UInt8>) -> [UInt8] {
            let count = payload.count
            return [0, UInt8(count >> 8), UInt8(count & 0xFF), type, flags, 0, 0, 0, stream] + payload
        }
        let response =
            frame(4, 0, on: 0, []) + frame(1, 4, on: 1, [0x88]) + frame(0, 0, on: 1, body.prefix(9000))
            + frame(0, 0, on: 1, body.dropFirst(9000)) + frame(1, 5, on: 1, [0, 1, 0x61, 1, 0x62])
        try await onThread { try server.output.writeAll(response) }
        var head = try HTTPRequest(method: .get, target: RequestTarget("/"))
        try head.fields.set("www.example.org", for: .host)
        let request = HTTP2Request(head, scheme: "http")
        // All reads are in one work item of the loop, so that the loop does not read between them.
        let (received, reads, kept, trailers) = try await withCheckedThrowingContinuation { continuation in
            loop.execute {
                continuation.resume(
                    with: Result {
                        let now = Moment.now
                        let core = HTTP2ClientCore(
                            limits: .default, idleTimeout: .seconds(60), silenceTimeout: .seconds(60), now: now)
                        let link = Link(client, core)
                        let stream = HTTP2ClientStream(waitingAt: WaitPoint(loop: loop, only: .reader))
                        try link.changeCore { (core) throws(HTTP2LinkFailure) in
                            try core.send(request, endsHere: true, as: stream, now: now)
                        }
                        let identifier = try #require(stream.identifier)
                        var received: [UInt8] = []
                        var (reads, kept) = (0, 0)
                        while true {
                            var memory = [UInt8](repeating: 0, count: reads % 2 == 0 ? 100 : 5000)
                            var span = memory.mutableSpan
                            var target = span.mutableBytes
                            let outcome = try link.read(identifier, at: stream.point, into: &target) {
                                (core, target) throws(HTTP2LinkFailure) in
                                try core.read(stream, into: &target, now: now)
                            }
                            guard case .bytes(let count) = outcome else { break }
                            received += memory.prefix(count)
                            reads += 1
                            if link.withCore({ $0.machine.hasUnread(identifier) }) { kept += 1 }
                        }
                        return (received, reads, kept, link.withCore { _ in stream.trailers["a"] })
                    })
            }
        }
        #expect(received == body)
        #expect(reads == 8 && kept == 0)
        #expect(trailers == "b", "they arrive with the end")
        server.close()
    }

    /// The thread may be late: what has arrived counts before a deadline ends the connection.
    @Test func theLoopReadsBeforeADeadline() async throws {
        let loop = EventLoop(name: "deadline")
        defer { loop.shutdown() }
        var ends: [CInt] = [-1, -1]
        precondition(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        // SETTINGS, the acknowledgment of the client's own, which it has sent too long ago, and two more of SETTINGS.
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let acknowledgment: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]
        let transport = ObservedTransport(
            StreamPair(descriptor: ends[0], ownership: .owned, loop: loop),
            holding: settings + acknowledgment + settings + settings)
        let pair = StreamPair(transport: transport)
        try pair.open()
        // The thread takes the role before the loop works for the first time.
        let gate = DispatchSemaphore(value: 0)
        loop.execute { gate.wait() }
        let core = HTTP2ClientCore(
            limits: .default, idleTimeout: .seconds(60), silenceTimeout: .seconds(60), now: .now - .seconds(31))
        let link = Link(pair, core)
        let point = WaitPoint(loop: loop, only: .reader)
        let reading = Task {
            try await onThread {
                _ = link.readOnThread(for: .init(point, .reader, for: .readable), until: nil, minding: [])
            }
        }
        try await transport.emptyRead.value()
        gate.signal()
        await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
        #expect(link.error == nil)
        // The loop has read two frames. The thread, which waits at the socket, has been woken for the rest.
        while transport.heldCount > 0, !Task.isCancelled { await Task.yield() }
        point.signal(.readable)
        try await reading.value
        close(ends[1])
        pair.close()
    }
}
