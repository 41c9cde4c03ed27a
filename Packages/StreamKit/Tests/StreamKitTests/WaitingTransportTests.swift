import EventLoops
import Glibc
import StreamKit
import Testing

/// Transports that wait in the system call.
@Suite struct WaitingTransportTests {
    /// Reveals by its bytes which function read it.
    private final class CallRecorder: StreamTransport {
        let waitPoint = WaitPoint()

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            buffer.storeBytes(of: UInt8(ascii: "t"), as: UInt8.self)
            return .moved(1)
        }

        func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            buffer.storeBytes(of: UInt8(ascii: "r"), as: UInt8.self)
            return .moved(1)
        }

        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
        func peek() throws(StreamError) -> Attempt { .moved(1) }
        func writability() throws(StreamError) -> Attempt { .ended }
    }

    /// Only a blocking read without a limit may wait in the transport.
    @Test func blockingReadsMayWait() throws {
        let stream = ReadStream(transport: CallRecorder())
        try stream.open()
        #expect(try stream.read(upTo: 1) == Array("r".utf8))
        var byte: [UInt8] = [0]
        #expect(try stream.tryRead(into: &byte) == 1)
        #expect(byte == Array("t".utf8))
        try stream.set(.readLimit, to: .seconds(60))
        #expect(try stream.read(upTo: 1) == Array("t".utf8))
        try stream.set(.readLimit, to: nil)
        #expect(try stream.read(upTo: 1) == Array("r".utf8))
        stream.close()
    }

    @Test func tasksNeverWaitInTheTransport() async throws {
        let stream = ReadStream(transport: CallRecorder())
        try stream.open()
        #expect(try await stream.read(upTo: 1) == Array("t".utf8))
        stream.close()
    }

    /// Waiting until a socket is readable consumes nothing, reports an end or a failure, and ends when the stream closes.
    @Test(arguments: ["bytes", "end", "closed"])
    func waitingForASocket(_ what: String) async throws {
        var ends: [CInt] = [0, 0]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let pair = StreamPair(descriptor: ends[0], ownership: .owned)
        try pair.open()
        async let waited = onThread { () -> StreamError? in
            do throws(StreamError) {
                try pair.input.ready()
                return nil
            } catch {
                return error
            }
        }
        while pair.input.status != .reading { await Task.yield() }
        switch what {
        case "bytes": #expect(write(ends[1], "x", 1) == 1)
        case "end": shutdown(ends[1], CInt(SHUT_WR))
        default: pair.close()
        }
        #expect(try await waited == (what == "closed" ? .closed : nil))
        if what != "closed" {
            #expect(try await pair.input.read(upTo: 2) == (what == "bytes" ? Array("x".utf8) : []))
        }
        pair.close()
        close(ends[1])
    }
}
