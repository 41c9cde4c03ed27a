import EventLoops
import Foundation
import Glibc
import HostResolver
import StreamKit
import Testing

/// The end of a TCP connection: an orderly end or a reset.
@Suite(.timeLimit(.minutes(5))) struct StreamEndTests {
    /// A connection and the peer's descriptor.
    private func connect() async throws -> (pair: StreamPair, peer: Int32) {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(address: listener.address)
        try pair.open()
        try await pair.input.opened()
        return (pair, try listener.accept())
    }

    private func end(_ peer: Int32, resets: Bool) {
        if resets {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(peer, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
        Glibc.close(peer)
    }

    // Parity: SK-039
    @Test("SK-039: the remaining bytes, then always 0") func orderlyEnd() async throws {
        let (pair, peer) = try await connect()
        defer { pair.close() }
        #expect(Glibc.write(peer, "rest", 4) == 4)
        end(peer, resets: false)
        #expect(try await pair.input.readAll(limit: 100) == Array("rest".utf8))
        #expect(pair.input.status == .atEnd && pair.input.error == nil)
        var buffer: [UInt8] = [0]
        #expect(try await pair.input.read(into: &buffer) == 0)
    }

    // Parity: SK-039
    @Test("SK-039: a reset is always ECONNRESET and never an end") func reset() async throws {
        let (pair, peer) = try await connect()
        defer { pair.close() }
        end(peer, resets: true)
        await #expect(throws: StreamError(posix: ECONNRESET)) { try await pair.input.readAll(limit: 100) }
        #expect(pair.input.status == .error && pair.input.error?.isPOSIX(ECONNRESET) == true)
        await #expect(throws: StreamError(posix: ECONNRESET)) { try await pair.input.read(upTo: 1) }
    }

    // Parity: SK-039
    @Test("SK-039: a scheduled stream reports the end or the error once", arguments: [true, false])
    func events(resets: Bool) async throws {
        let (pair, peer) = try await connect()
        defer { pair.close() }
        let (recorded, record) = AsyncStream<StreamEvent>.makeStream()
        pair.input.setClient(.all) { stream, event in
            record.yield(event)
            if event == .endEncountered || event == .errorOccurred {
                // A later task on the same loop: any further event would have been delivered before it.
                EventLoop.shared.execute { EventLoop.shared.execute { record.finish() } }
            }
        }
        pair.input.schedule(on: .loop(.shared))
        end(peer, resets: resets)
        let expected: [StreamEvent] = [.openCompleted, resets ? .errorOccurred : .endEncountered]
        #expect(await recorded.reduce(into: []) { $0.append($1) } == expected)
    }

    /// A transport is closed with its stream, whether it ever opened or not.
    @Test(arguments: [false, true]) func aTransportThatDidNotOpenIsClosed(triesToOpen: Bool) async throws {
        let transport = Unopenable()
        let pair = StreamPair(transport: transport)
        if triesToOpen {
            try? pair.open()
            let error = await #expect(throws: StreamError.self) { try await pair.input.opened() }
            #expect(error?.isPOSIX(EPROTO) == true)
        }
        pair.input.close()
        #expect(transport.closes.withLock { $0 } == (triesToOpen ? 1 : 0))
        pair.output.close()
        pair.close()
        #expect(transport.closes.withLock { $0 } == 1)
    }
}

/// Cannot be opened, and counts how often it is closed.
private final class Unopenable: StreamTransport {
    let closes = Locked(0)
    let waitPoint = WaitPoint()

    func tryOpen() throws(StreamError) -> OpenAttempt { throw StreamError(posix: EPROTO) }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .ended }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func peek() throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt { .ended }

    func close() { closes.withLock { $0 += 1 } }
}
