import EventLoops
import Foundation
import Glibc
import HostResolver
import StreamKit
import StreamKitTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct LocalStreamTests {
    // Parity: SK-002
    @Test("SK-002: a file is read in odd pieces; a missing one fails at open") func readsFiles() throws {
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let file = TestFile(bytes)
        let stream = ReadStream(path: file.path)
        try stream.open()
        var all: [UInt8] = []
        while case let piece = try stream.read(upTo: 4_099), !piece.isEmpty { all += piece }
        #expect(all == bytes)
        #expect(stream.status == .atEnd)
        let missing = ReadStream(path: file.path + ".missing")
        #expect(missing.status == .notOpen && missing.error == nil)
        #expect(throws: StreamError(posix: ENOENT)) { try missing.open() }
        #expect(missing.status == .error)
        #expect(missing.error?.description.contains(".missing") == true)
        #expect(ReadStream(url: URL(string: "http://www.example.org/")!) == nil)
        #expect(ReadStream(url: URL(fileURLWithPath: file.path)) != nil)
    }

    // Parity: SK-003, SK-004
    @Test("SK-003, SK-004: a file is created, truncated or appended to", arguments: [true, false])
    func writesFiles(_ byProperty: Bool) throws {
        let file = TestFile()
        for (text, appends) in [("one", false), ("two", true), ("six", false)] {
            let stream = WriteStream(path: file.path, append: appends && !byProperty)
            if appends, byProperty { try stream.set(.appendToFile, to: true) }
            #expect(stream[.appendToFile] == appends)
            try stream.open()
            try stream.writeAll(Array(text.utf8))
            stream.close()
            #expect(file.content == Array((appends ? "onetwo" : text).utf8))
        }
        var status = stat()
        #expect(stat(file.path, &status) == 0)
        let mask = umask(0)
        umask(mask)
        #expect(status.st_mode & 0o777 == 0o666 & ~mask)
    }

    // Parity: SK-005
    @Test("SK-005: the offset is returned, and setting it seeks") func seeks() throws {
        let file = TestFile(Array("0123456789".utf8))
        let stream = ReadStream(path: file.path)
        try stream.open()
        #expect(try stream.read(upTo: 3) == Array("012".utf8))
        #expect(stream[.fileOffset] == 3)
        try stream.set(.fileOffset, to: 7)
        #expect(try stream.read(upTo: 9) == Array("789".utf8))
        #expect(ReadStream(bytes: [1])[.fileOffset] == nil)
    }

    // Parity: SK-006
    @Test("SK-006: memory opens at once and ends") func readsMemory() throws {
        let stream = ReadStream(bytes: [1, 2, 3])
        try stream.open()
        #expect(stream.status == .open && stream.hasBytesAvailable)
        #expect(try stream.read(upTo: 2) == [1, 2])
        #expect(try stream.readAll(limit: 1) == [3])
        #expect(stream.status == .atEnd)
    }

    // Parity: SK-007
    @Test("SK-007: growing memory returns a copy, before and after close") func growingMemory() throws {
        let stream = WriteStream(toMemoryOfCapacity: nil)
        try stream.open()
        try stream.writeAll([1, 2])
        let copy = stream[.dataWritten]
        try stream.writeAll([3])
        #expect(copy == [1, 2] && stream[.dataWritten] == [1, 2, 3])
        stream.close()
        #expect(stream[.dataWritten] == [1, 2, 3])
    }

    // Parity: SK-008
    @Test("SK-008: a destination of 4 bytes accepts 4 of 6, then 0") func fixedMemory() throws {
        let stream = WriteStream(toMemoryOfCapacity: 4)
        try stream.open()
        #expect(try stream.write(Array(1...6)) == 4)
        #expect(stream.status == .open)
        #expect(try stream.write([5]) == 0)
        #expect(stream.status == .atEnd)
        #expect(stream.error == nil)
        let other = WriteStream(toMemoryOfCapacity: 4)
        try other.open()
        #expect(throws: StreamError(posix: ENOSPC)) { try other.writeAll(Array(1...6)) }
    }

    // Parity: SK-001, SK-009
    @Test("SK-009: both orders of closing a bound pair") func boundPair() throws {
        let pair = StreamPair.bound(bufferSize: 8)
        try pair.open()
        #expect(try pair.output.tryWrite(Array(0..<20)) == 8)
        #expect(try pair.output.tryWrite([1]) == nil)
        pair.output.close()
        #expect(try pair.input.readAll(limit: 100) == Array(0..<8))
        let other = StreamPair.bound()
        try other.open()
        other.input.close()
        #expect(throws: StreamError(posix: EPIPE)) { try other.output.write([1]) }
    }

    // Parity: SK-026
    @Test("SK-026: a write that the peer does not read returns a short count", arguments: [true, false])
    func shortWrites(_ blocking: Bool) async throws {
        let wire = try Wire.tcp(.v4(.loopback))
        let writer = wire.writer(.owned)
        try writer.open()
        let bytes = [UInt8](repeating: 1, count: 64 << 20)
        let count =
            blocking
            ? try await onThread { try writer.output.write(bytes) } : try await writer.output.write(bytes)
        #expect(count > 0 && count < bytes.count)
        Glibc.close(wire.near)
    }

    // Parity: SK-037
    @Test("SK-037: writing to a pipe without a reader is an error, not a signal") func brokenPipe() throws {
        let wire = try Wire.pipe()
        wire.closePipeReader()
        let writer = wire.writer(.owned)
        try writer.open()
        #expect(throws: StreamError(posix: EPIPE)) { try writer.output.write([1]) }
        var pending = sigset_t()
        sigpending(&pending)
        #expect(sigismember(&pending, SIGPIPE) == 0)
    }

    @Test("reads stop at a limit") func readAllHasALimit() throws {
        let stream = ReadStream(bytes: [1, 2, 3])
        try stream.open()
        #expect(throws: StreamError(posix: EMSGSIZE)) { try stream.readAll(limit: 2) }
    }

    @Test("a fault anywhere is an error or an end, after the bytes before it", arguments: 0...8)
    func faults(_ count: Int) throws {
        let failure = StreamError(posix: EIO)
        let source = ReadStream(bytes: Array(0..<8))
        let broken = ReadStream(
            transport: TestTransport.faulty(
                TestTransport.over(reading: source), reading: .failure(failure, after: count)))
        try broken.open()
        var seen: [UInt8] = []
        while case let piece? = try? broken.read(upTo: 3), !piece.isEmpty { seen += piece }
        #expect(seen == Array(0..<UInt8(count)))
        #expect(broken.error == failure)
        let other = ReadStream(bytes: Array(0..<8))
        let short = ReadStream(
            transport: TestTransport.faulty(TestTransport.over(reading: other), reading: .end(after: count)))
        try short.open()
        #expect(try short.readAll(limit: 8) == Array(0..<UInt8(count)))
    }
}
