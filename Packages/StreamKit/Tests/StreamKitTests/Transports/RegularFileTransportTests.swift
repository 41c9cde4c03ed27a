@_spi(Packages) import EventLoops
import Foundation
import Glibc
import StreamKitTesting
import Testing

@testable import StreamKit

/// Files on a disk that the test makes slow.
@Suite(.timeLimit(.minutes(5))) struct RegularFileTransportTests {
    /// Another program creates and removes the file between two calls, several times.
    @Test func aFileThatComesAndGoesIsOpened() throws {
        var calls: [String] = []
        let descriptor = try FileTransport.descriptor(creating: true) {
            calls.append("open")
            return .failure(.system(ENOENT))
        } create: { () throws(WritableFile.Failure) in
            calls.append("create")
            if calls.count < 6 { throw .system(EEXIST) }
            return 42
        }
        #expect(descriptor == 42 && calls == ["open", "create", "open", "create", "open", "create"])
        // A link that leads nowhere is neither there nor absent.
        #expect(throws: WritableFile.Failure.system(ENOENT)) {
            _ = try FileTransport.descriptor(creating: true) {
                .failure(.system(ENOENT))
            } create: { () throws(WritableFile.Failure) in
                throw .system(EEXIST)
            }
        }
        #expect(throws: WritableFile.Failure.system(ENOENT)) {
            _ = try FileTransport.descriptor(creating: false) {
                .failure(.system(ENOENT))
            } create: {
                42
            }
        }
    }

    private static let pool = BlockingThreads(limit: 16)

    /// A file in memory. The disk is needed for all of it but `cached` bytes, and answers when the test lets it.
    private final class SlowDisk: RegularFileTransport.Disk {
        private struct State {
            var contents: [UInt8]
            var cached: Int
            var calls: [String] = []
            var failure: CInt = 0
            var threads: Set<UInt> = []
        }

        private let state: Locked<State>
        /// Provided when the disk answers; nil if it always does.
        let gate: OneShot<Bool>?
        /// Provided when the disk is first asked.
        let isAsked = OneShot<Bool>()
        private let onRelease: @Sendable () -> Void

        init(
            _ text: String = "", cached: Int = 0, gate: OneShot<Bool>? = nil,
            onRelease: @escaping @Sendable () -> Void = {}
        ) {
            state = Locked(State(contents: Array(text.utf8), cached: cached))
            self.gate = gate
            self.onRelease = onRelease
        }

        deinit { onRelease() }

        let descriptor: CInt = -1
        var text: String { String(decoding: state.withLock { $0.contents }, as: UTF8.self) }
        var calls: [String] { state.withLock { $0.calls } }
        var threads: Set<UInt> { state.withLock { $0.threads } }
        func fail(_ number: CInt) { state.withLock { $0.failure = number } }

        private func wait(_ call: String) {
            state.withLock { state in
                state.calls.append(call)
                state.threads.insert(UInt(pthread_self()))
            }
            isAsked.provide(true)
            if let gate { _ = try? gate.value(until: .now + .seconds(50)) }
        }

        private func copy(_ buffer: UnsafeMutableRawBufferPointer, _ position: Int64, end: Int?) -> Int {
            state.withLock { state in
                if state.failure != 0 { return -Int(state.failure) }
                let part = state.contents[..<(end ?? state.contents.count)].dropFirst(Int(position)).prefix(
                    buffer.count)
                buffer.copyBytes(from: part)
                return part.count
            }
        }

        func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
            wait("read \(position)")
            return copy(buffer, position, end: nil)
        }

        func readCached(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
            let cached = state.withLock { $0.cached }
            return position < cached ? copy(buffer, position, end: cached) : -Int(EAGAIN)
        }

        func write(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int {
            wait("write \(position)")
            return state.withLock { state in
                if state.failure != 0 { return -Int(state.failure) }
                let count = min(bytes.count, 3)  // in several steps
                let end = Int(position) + count
                if state.contents.count < end {
                    state.contents += [UInt8](repeating: 0, count: end - state.contents.count)
                }
                state.contents.replaceSubrange(Int(position)..<end, with: bytes.prefix(count))
                return count
            }
        }

        func writeCached(_ bytes: UnsafeRawBufferPointer, at position: Int64) -> Int { -Int(EOPNOTSUPP) }
    }

    private static func open(_ disk: SlowDisk, on loop: EventLoop = .shared, _ threads: BlockingThreads = pool) throws
        -> ReadStream
    {
        let stream = ReadStream(transport: RegularFileTransport(disk, point: WaitPoint(loop: loop), threads: threads))
        try stream.open()
        return stream
    }

    private static func writer(
        _ disk: SlowDisk, from position: Int64 = 0, _ threads: BlockingThreads = pool,
        timeout: Duration = BlockingThreads.fileTimeout
    ) throws -> WriteStream {
        let stream = WriteStream(
            transport: RegularFileTransport(
                disk, from: position, point: WaitPoint(), threads: threads, fileTimeout: timeout))
        try stream.open()
        return stream
    }

    private static func tryRead(_ stream: ReadStream, _ count: Int) throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        return try stream.tryRead(into: &buffer).map { Array(buffer.prefix($0)) }
    }

    @Test func bytesInMemoryNeedNoThread() async throws {
        let threads = BlockingThreads(limit: 1)
        let stream = try Self.open(SlowDisk("0123456789", cached: 6), threads)
        #expect(stream.hasBytesAvailable)
        #expect(try await stream.read(upTo: 4) == Array("0123".utf8))
        #expect(try await stream.read(upTo: 9) == Array("45".utf8) && threads.threadCount == 0)
        #expect(try await stream.readAll(limit: 9) == Array("6789".utf8) && threads.threadCount == 1)
        #expect(stream.status == .atEnd)
    }

    /// The loop of a task that reads goes on while the disk does not answer.
    @Test func aTaskDoesNotKeepItsLoopWaiting() async throws {
        let loop = EventLoop(name: "files")
        defer { loop.shutdown() }
        let gate = OneShot<Bool>()
        let disk = SlowDisk("0123456789", gate: gate)
        let stream = try Self.open(disk, on: loop)
        let reading = Task(executorPreference: loop) { try await stream.readAll(limit: 99) }
        while disk.calls.isEmpty, !Task.isCancelled { await Task.yield() }
        for _ in 0..<3 { await withCheckedContinuation { done in loop.execute { done.resume() } } }
        gate.provide(true)
        #expect(try await reading.value == Array("0123456789".utf8))
    }

    /// A client is called when bytes are in memory, and its read on the loop's thread takes them from there.
    @Test func aClientDoesNotKeepItsLoopWaiting() async throws {
        let loop = EventLoop(name: "files")
        defer { loop.shutdown() }
        let loopThread = await withCheckedContinuation { done in
            loop.execute { done.resume(returning: UInt(pthread_self())) }
        }
        let disk = SlowDisk("0123456789")
        let stream = try Self.open(disk, on: loop)
        let read = Mailbox<[UInt8]>(limit: 9)
        stream.setClient([.hasBytesAvailable, .endEncountered]) { stream, event in
            if event == .endEncountered { return _ = read.put([]) }
            if let bytes = try? stream.read(upTo: 4) { read.put(bytes) }
        }
        stream.schedule(on: .loop(loop))
        var all: [UInt8] = []
        while let bytes = try? await read.next(until: .now + .seconds(50)), !bytes.isEmpty { all += bytes }
        #expect(all == Array("0123456789".utf8) && !disk.threads.contains(loopThread))
        stream.close()
    }

    @Test func blockingCallsUseTheirOwnThread() async throws {
        let disk = SlowDisk("0123456789")
        let stream = try Self.open(disk)
        let copy = SlowDisk()
        let output = try Self.writer(copy)
        let thread = try await onThread { () throws in
            try output.writeAll(try stream.readAll(limit: 99))
            try output.finish()
            return UInt(pthread_self())
        }
        #expect(disk.threads == [thread] && copy.threads == [thread] && copy.text == "0123456789")
    }

    /// A piece is under way for the old position when the caller moves to another one.
    @Test func seekingDropsWhatIsReadAhead() async throws {
        let gate = OneShot<Bool>()
        let disk = SlowDisk("0123456789", gate: gate)
        let stream = try Self.open(disk)
        #expect(try Self.tryRead(stream, 2) == nil && stream[.fileOffset] == 0)
        try stream.set(.fileOffset, to: 7)
        gate.provide(true)
        #expect(try await stream.read(upTo: 2) == Array("78".utf8) && stream[.fileOffset] == 9)
        try stream.set(.fileOffset, to: 1)
        #expect(try await stream.read(upTo: 2) == Array("12".utf8))
        #expect(disk.calls == ["read 0", "read 7", "read 1"])
    }

    /// The file stays open while the disk uses it, and no longer.
    @Test func closingDoesNotWaitForTheDisk() async throws {
        let (gate, released) = (OneShot<Bool>(), OneShot<Bool>())
        let disk = SlowDisk("0", gate: gate) { released.provide(true) }
        let isAsked = disk.isAsked
        let stream = try Self.open(consume disk)
        let reading = Task { try await stream.read(upTo: 1) }
        #expect(try await isAsked.value(until: .now + .seconds(50)))
        stream.close()
        await #expect(throws: StreamError.closed) { try await reading.value }
        #expect(released.value == nil)
        gate.provide(true)
        #expect(try await released.value(until: .now + .seconds(50)))
    }

    @Test func failuresOfTheDiskAreReported() async throws {
        let disk = SlowDisk("0123")
        disk.fail(EIO)
        let stream = try Self.open(disk)
        #expect(try await error { _ = try await stream.read(upTo: 1) }.isPOSIX(EIO))
        // All threads are held up, and no more work may wait.
        let gate = OneShot<Bool>()
        let threads = BlockingThreads(limit: 1, maximumQueueLength: 0)
        let held = try Self.open(SlowDisk("0", gate: gate), threads)
        #expect(try Self.tryRead(held, 1) == nil)
        let refused = try Self.open(SlowDisk("0"), threads)
        #expect(try await error { _ = try await refused.read(upTo: 1) }.reason == .unansweredCall)
        gate.provide(true)
    }

    /// A disk that does not answer ends the stream, whatever it does later.
    @Test func aDiskThatNeverAnswersIsAFailureThatLasts() async throws {
        let gate = OneShot<Bool>()
        let reader = ReadStream(
            transport: RegularFileTransport(
                SlowDisk("0123", gate: gate), point: WaitPoint(), threads: Self.pool, fileTimeout: .zero))
        try reader.open()
        let transport = RegularFileTransport(
            SlowDisk("0123", gate: gate), point: WaitPoint(), threads: Self.pool, fileTimeout: .zero)
        let failure = try await error { _ = try await reader.read(upTo: 1) }
        #expect(failure.reason == .unansweredCall && failure.isPOSIX(ETIMEDOUT))
        let writer = try Self.writer(SlowDisk(gate: gate), timeout: .zero)
        #expect(try writer.tryWrite([1, 2]) == 2)
        #expect(try await error { try await writer.finish() }.reason == .unansweredCall)
        // The transport itself, since a stream that has failed stays so.
        _ = try? transport.peek()
        while (try? transport.peek()) != nil, !Task.isCancelled { await Task.yield() }
        gate.provide(true)
        for _ in 0..<3 { #expect(try await error { _ = try transport.peek() }.reason == .unansweredCall) }
    }

    /// A stream that is closed leaves nothing behind in the queue of a disk that hangs.
    @Test func aPieceThatWaitsForAThreadIsWithdrawnByClose() async throws {
        let gate = OneShot<Bool>()
        let threads = BlockingThreads(limit: 1)
        let held = try Self.open(SlowDisk("0", gate: gate), threads)
        #expect(try Self.tryRead(held, 1) == nil)
        let released = OneShot<Bool>()
        let waiting = try Self.open(SlowDisk("0") { released.provide(true) }, threads)
        #expect(try Self.tryRead(waiting, 1) == nil)
        waiting.close()
        #expect(try await released.value(until: .now + .seconds(50)))
        gate.provide(true)
    }

    /// The greatest position of a file, as another program may make it: `truncate -s 9223372036854775807`.
    @Test func aPositionWithoutRoomIsAnError() async throws {
        let writer = try Self.writer(SlowDisk(), from: .max)
        #expect(try await error { try await writer.writeAll([1]) }.isPOSIX(EFBIG))
        let moved = try Self.writer(SlowDisk())
        try moved.set(.fileOffset, to: UInt64(Int64.max) - 1)
        #expect(try await error { _ = try moved.tryWrite([1, 2]) }.isPOSIX(EFBIG))
    }

    /// Accepted bytes that no thread can write are a failure, although the position has been changed since.
    @Test func refusedBytesAreAFailureAtAnyPosition() async throws {
        let gate = OneShot<Bool>()
        let threads = BlockingThreads(limit: 1, maximumQueueLength: 0)
        let held = try Self.open(SlowDisk("0", gate: gate), threads)
        #expect(try Self.tryRead(held, 1) == nil)
        let writer = try Self.writer(SlowDisk(), threads)
        // The refusal is told by the shared loop, which is busy until the position has been changed.
        let (busy, moved) = (OneShot<Bool>(), OneShot<Bool>())
        EventLoop.shared.execute {
            busy.provide(true)
            _ = try? moved.value(until: .now + .seconds(50))
        }
        #expect(try await busy.value())
        #expect(try writer.tryWrite([1]) == 1)
        try writer.set(.fileOffset, to: 7)
        moved.provide(true)
        #expect(try await error { try await writer.finish() }.reason == .unansweredCall)
        gate.provide(true)
    }

    /// A file that is opened on a thread: `open()` does not wait for the disk.
    @Test func opensOnAThread() async throws {
        let path = "/tmp/netkit-opening-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try Data("0123".utf8).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        let stream = ReadStream(path: path, opensOnThread: true)
        try stream.set(.fileOffset, to: 1)
        try stream.open()
        #expect(try await stream.readAll(limit: 9) == Array("123".utf8))
        stream.close()
        let missing = ReadStream(path: path + "x", opensOnThread: true)
        try missing.open()
        #expect(try await error { _ = try await missing.read(upTo: 1) }.isPOSIX(ENOENT))
        let blocking = ReadStream(path: path, opensOnThread: true)
        try blocking.open()
        #expect(try await onThread { try blocking.read(upTo: 9) } == Array("0123".utf8))
        blocking.close()
    }

    /// The same for writing, in each mode.
    @Test(arguments: [("", nil, "xy"), ("append", nil, "0123xy"), ("", 1, "0xy3")] as [(String, UInt64?, String)])
    func opensOnAThreadForWriting(_ mode: String, _ offset: UInt64?, _ contents: String) async throws {
        let path = "/tmp/netkit-opening-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try Data("0123".utf8).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        let stream = WriteStream(path: path, append: mode == "append", opensOnThread: true)
        if let offset { try stream.set(.fileOffset, to: offset) }
        try stream.open()
        try await stream.writeAll(Array("xy".utf8))
        try await stream.finish()
        stream.close()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == contents)
        let missing = WriteStream(path: path + "x/y", opensOnThread: true)
        try missing.open()
        #expect(try await error { _ = try await missing.write([1]) }.isPOSIX(ENOENT))
        let blocking = WriteStream(path: path, opensOnThread: true)
        try blocking.open()
        #expect(try await onThread { try blocking.write([0x7A]) } == 1)
        blocking.close()
    }

    /// A disk that does not answer: `open()` returns, and the stream waits without the thread of its loop.
    @Test func openingForWritingDoesNotWaitForTheDisk() async throws {
        let (gate, begun, point) = (OneShot<Bool>(), OneShot<Bool>(), WaitPoint())
        let stream = WriteStream(
            Connection(.writtenFile, point: point, only: .writer) { _ in
                .continues(
                    FileOpening(path: "/", loop: .shared, threads: Self.pool, fileTimeout: .seconds(3600)) {
                        begun.provide(true)
                        _ = try? gate.value()
                        return RegularFileTransport(SlowDisk(""), point: point, threads: Self.pool)
                    })
            })
        try stream.open()
        #expect(try await begun.value() && stream.status == .opening)
        let writing = Task { () async throws -> Int in try await stream.write([1]) }
        gate.provide(true)
        #expect(try await writing.value == 1)
        try await stream.finish()
        stream.close()
    }

    /// A stream of a file whose opening waits for `gate` once it has begun.
    private static func opening(
        _ gate: OneShot<Bool>, within timeout: Duration, _ begun: OneShot<Bool> = OneShot(),
        _ onRelease: @escaping @Sendable () -> Void = {}
    ) -> ReadStream {
        let point = WaitPoint()
        return ReadStream(
            Connection(.readFile, point: point, only: .reader) { _ in
                .continues(
                    FileOpening(path: "/", loop: .shared, threads: pool, fileTimeout: timeout) {
                        begun.provide(true)
                        _ = try? gate.value()
                        return RegularFileTransport(SlowDisk("0", onRelease: onRelease), point: point, threads: pool)
                    })
            })
    }

    @Test func anOpeningThatHangsEnds() async throws {
        let gate = OneShot<Bool>()
        let late = Self.opening(gate, within: .zero)
        try? late.open()
        #expect(try await error { _ = try await late.read(upTo: 1) }.reason == .unansweredCall)
        // A file that is opened after its stream was closed is released.
        let (begun, isReleased) = (OneShot<Bool>(), OneShot<Bool>())
        let closed = Self.opening(gate, within: .seconds(3600), begun) { isReleased.provide(true) }
        try closed.open()
        #expect(try await begun.value())
        closed.close()
        gate.provide(true)
        #expect(try await isReleased.value())
    }

    @Test func writesBehind() async throws {
        let gate = OneShot<Bool>()
        let disk = SlowDisk(gate: gate)
        let stream = try Self.writer(disk)
        #expect(try stream.tryWrite(Array("01234".utf8)) == 5 && stream[.fileOffset] == 5)
        #expect(try stream.tryWrite([1]) == nil && !stream.canAcceptBytes)
        let rest = Task { () async throws -> Void in
            try await stream.writeAll(Array("56789".utf8))
            try await stream.finish()
        }
        gate.provide(true)
        try await rest.value
        #expect(disk.text == "0123456789")
        stream.close()
    }

    /// Bytes that were accepted are written although the stream was closed; a failure is reported by the next call.
    @Test func acceptedBytesAreNotLost() async throws {
        let (gate, released) = (OneShot<Bool>(), OneShot<String>())
        let written = Locked("")
        do {
            let disk = SlowDisk(gate: gate) { released.provide(written.withLock { $0 }) }
            let stream = try Self.writer(disk)
            #expect(try stream.tryWrite(Array("01234".utf8)) == 5)
            stream.close()
            gate.provide(true)
            while disk.text.utf8.count < 5, !Task.isCancelled { await Task.yield() }
            written.withLock { $0 = disk.text }
        }
        #expect(try await released.value(until: .now + .seconds(50)) == "01234")
        let full = SlowDisk()
        full.fail(ENOSPC)
        let stream = try Self.writer(full)
        #expect(try await error { try await stream.writeAll([1]) }.isPOSIX(ENOSPC))
        #expect(stream.status == .error)
    }
}
