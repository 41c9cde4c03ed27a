internal import EventLoops
import Testing

@_spi(Packages) @testable import StreamKit
@testable import StreamTLS

/// Bytes, ends and faults over an open connection.
@Suite struct TLSTransportTests {
    static let authority = SharedAuthority()

    private func openPair(
        _ version: TLSVersion = .tls13, capacity: Int = 1 << 16, change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws -> TLSPair {
        var client = Self.authority.client
        client.minimumVersion = version
        client.maximumVersion = version
        change(&client)
        var server = Self.authority.server
        change(&server)
        server.role = .server
        let pair = try TLSPair(client: client, server: server, capacity: capacity)
        let errors = try pair.open()
        try #require(errors.client == nil)
        try #require(errors.server == nil)
        return pair
    }

    @Test(arguments: TLSVersion.allCases, [1, 100, 16384, 16385, 300_000])
    func bytesArriveBothWays(version: TLSVersion, count: Int) throws {
        let pair = try openPair(version)
        #expect(try TLSPair.send(pattern(count), from: pair.client, to: pair.server) == pattern(count))
        #expect(
            try TLSPair.send(pattern(count, seed: 9), from: pair.server, to: pair.client) == pattern(count, seed: 9))
    }

    @Test(arguments: [1, 2, 3, 5, 7, 1000], [false, true])
    func fragmentsAndWouldBlockEverywhere(most: Int, stutters: Bool) throws {
        let pair = try TLSPair(client: Self.authority.client, server: Self.authority.server)
        for wire in [pair.clientWire, pair.serverWire] {
            wire.set {
                $0.most = most
                $0.stutters = stutters
            }
        }
        let errors = try pair.open()
        #expect(errors.client == nil)
        #expect(errors.server == nil)
        let bytes = pattern(40_000)
        #expect(try TLSPair.send(bytes, from: pair.client, to: pair.server) == bytes)
        #expect(try TLSPair.send(bytes, from: pair.server, to: pair.client) == bytes)
    }

    @Test(arguments: TLSVersion.allCases)
    func aWriteThatBlockedLosesAndDoublesNothing(version: TLSVersion) throws {
        let pair = try openPair(version, capacity: 5000)
        let first = pattern(10_000, seed: 3)
        // The wire takes half a record; the whole record counts as written.
        #expect(try pair.client.write(first) == .moved(10_000))
        #expect(try pair.client.tryFlush() == .wouldBlock(.writable))
        // Other bytes of another length are then refused.
        #expect(try pair.client.write([1, 2, 3]) == .wouldBlock(.writable))
        #expect(try pair.client.write([4]) == .wouldBlock(.writable))
        #expect(try pair.client.writability() == .wouldBlock(.writable))
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        var isWritten = false
        for _ in 0..<100 where received.count < first.count + 2 {
            if case .moved(let count) = try pair.server.read(&buffer) { received += buffer.prefix(count) }
            if !isWritten, case .moved(2) = try pair.client.write([8, 9]) { isWritten = true }
        }
        #expect(received == first + [8, 9])
    }

    /// TLS over TLS: the lower layer may hold the rest of a record.
    @Test func flushingIncludesTheLowerTransport() throws {
        let pair = try openPair()
        #expect(try pair.client.write([1]) == .moved(1))
        pair.clientWire.set { $0.holdsBytes = true }
        #expect(try pair.client.tryFlush() == .wouldBlock(.writable))
        pair.clientWire.set { $0.holdsBytes = false }
        #expect(try pair.client.tryFlush() == .ended)
    }

    @Test func aReaderSendsUnsentBytes() throws {
        let pair = try openPair(capacity: 5000)
        #expect(try pair.client.write(pattern(10_000)) == .moved(10_000))
        var buffer = [UInt8](repeating: 0, count: 65536)
        // Both, because the answer cannot arrive before the request is sent.
        #expect(try pair.client.read(&buffer) == .wouldBlock([.readable, .writable]))
        var received = 0
        for _ in 0..<10 {
            if case .moved(let count) = try pair.server.read(&buffer) { received += count }
            _ = try pair.client.peek()
        }
        #expect(received == 10_000)
        #expect(try pair.client.read(&buffer) == .wouldBlock(.readable))
    }

    @Test func peekTakesNothing() throws {
        let pair = try openPair()
        #expect(try pair.server.peek() == .wouldBlock(.readable))
        _ = try pair.client.write(pattern(500))
        #expect(try pair.server.peek() == .moved(500))
        var small = [UInt8](repeating: 0, count: 100)
        #expect(try pair.server.read(&small) == .moved(100))
        #expect(small == pattern(500).prefix(100).map { $0 })
        #expect(try pair.server.peek() == .moved(400))
        // Everything is inside, nothing is left below: a caller that waits on the descriptor must check here first.
        #expect(try pair.serverWire.peek() == .wouldBlock(.readable))
    }

    @Test(arguments: TLSVersion.allCases)
    func closeNotifyEndsOneDirectionOnly(version: TLSVersion) throws {
        let pair = try openPair(version)
        _ = try pair.client.write([1, 2, 3])
        #expect(try pair.client.tryFinish() == .ended)
        #expect(try pair.client.tryFinish() == .ended)
        #expect(try pair.client.write([4]) == .ended)
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(try pair.server.read(&buffer) == .moved(3))
        #expect(try pair.server.read(&buffer) == .ended)
        #expect(try pair.server.peek() == .ended)
        #expect(try TLSPair.send(pattern(50_000), from: pair.server, to: pair.client) == pattern(50_000))
        #expect(try pair.server.tryFinish() == .ended)
        #expect(try pair.client.read(&buffer) == .ended)
    }

    @Test func finishWaitsUntilEverythingIsOut() throws {
        let pair = try openPair(capacity: 5000)
        #expect(try pair.client.write(pattern(10_000)) == .moved(10_000))
        #expect(try pair.client.tryFinish() == .wouldBlock(.writable))
        var buffer = [UInt8](repeating: 0, count: 65536)
        var received = 0
        var ended = false
        for _ in 0..<20 {
            switch try pair.server.read(&buffer) {
            case .moved(let count): received += count
            case .ended: ended = true
            case .wouldBlock: break
            }
            _ = try pair.client.tryFinish()
        }
        #expect(received == 10_000)
        #expect(ended)
    }

    // Parity: SK-102
    @Test func closeSendsCloseNotify() throws {
        let pair = try openPair()
        pair.client.close()
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(try pair.server.read(&buffer) == .ended)
    }

    @Test("TLS truncation: a cut at every byte is an error", arguments: TLSVersion.allCases)
    func aCutAtEveryByteIsTruncation(version: TLSVersion) throws {
        // Signatures vary in length, so the end of the handshake is determined for each connection.
        for cut in 0... {
            let pair = try openPair(version)
            let opened = pair.clientWire.state.withLock { $0.read }
            pair.clientWire.set { $0.readEndsAfter = opened + cut }
            _ = try pair.server.write(pattern(30))
            if opened + cut > pair.serverWire.state.withLock({ $0.written }) { break }
            var buffer = [UInt8](repeating: 0, count: 100)
            let error = #expect(throws: StreamError.self) {
                while case .moved = try pair.client.read(&buffer) {}
            }
            #expect(error?.tlsFailure == .closedWithoutNotify, "cut at \(cut)")
            // The failure is final, and the other direction still works.
            #expect(throws: StreamError(.closedWithoutNotify, .truncated(""))) { try pair.client.peek() }
            #expect(try TLSPair.send([5], from: pair.client, to: pair.server) == [5])
        }
    }

    // Parity: SK-102
    @Test func truncationIsAnEndIfAllowed() throws {
        let pair = try openPair { $0.allowsTruncation = true }
        _ = try pair.server.write(pattern(30))
        let written = pair.serverWire.state.withLock { $0.written }
        pair.clientWire.set { $0.readEndsAfter = written }
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(try pair.client.read(&buffer) == .moved(30))
        #expect(try pair.client.read(&buffer) == .ended)
    }

    @Test func theLowerErrorIsReported() throws {
        let pair = try openPair()
        pair.clientWire.set { $0.readFailsAfter = 0 }
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(throws: TestWire.failure) { try pair.client.read(&buffer) }
        pair.clientWire.set { $0.writeFailsAfter = 0 }
        #expect(throws: TestWire.failure) { try pair.client.write([1]) }
        #expect(throws: TestWire.failure) { try pair.client.write([1]) }
        #expect(throws: TestWire.failure) { try pair.client.tryFinish() }
        pair.client.close()
    }

    /// A server that refuses a request sends its reason before it closes the connection.
    @Test func whatArrivedBeforeAWriteFailedIsRead() throws {
        let pair = try openPair()
        #expect(try pair.server.write(pattern(30)) == .moved(30))
        #expect(try pair.server.tryFinish() == .ended)
        pair.clientWire.set { $0.writeFailsAfter = 0 }
        #expect(throws: TestWire.failure) { try pair.client.write([1]) }
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(try pair.client.read(&buffer) == .moved(30))
        #expect(try pair.client.read(&buffer) == .ended)
    }

    @Test func aChangedByteIsNoticed() throws {
        let pair = try openPair()
        _ = try pair.server.write(pattern(30))
        // Take the record off the wire, flip a bit, and put it back.
        var record = [UInt8](repeating: 0, count: 1000)
        guard case .moved(let count) = try pair.clientWire.read(&record) else { throw TLSPair.Stuck() }
        record[count - 1] ^= 1
        #expect(try pair.serverWire.write(Array(record.prefix(count))) == .moved(count))
        var buffer = [UInt8](repeating: 0, count: 100)
        let error = #expect(throws: StreamError.self) { while true { _ = try pair.client.read(&buffer) } }
        #expect(error?.tlsFailure == .badRecordMAC)
        // The failure is final in both directions.
        #expect(throws: StreamError.self) { try pair.client.write([1]) }
        let alert = #expect(throws: StreamError.self) { while true { _ = try pair.server.read(&buffer) } }
        #expect(alert?.tlsFailure == .peerBadRecordMAC)
    }

    @Test func nothingMovesBeforeTheHandshake() throws {
        let pair = try TLSPair(client: Self.authority.client, server: Self.authority.server)
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(throws: StreamError.notOpen) { try pair.client.read(&buffer) }
        #expect(throws: StreamError.notOpen) { try pair.client.write([1]) }
        #expect(pair.client.information == nil)
        pair.client.close()
    }

    @Test func tlsInTLS() throws {
        let outer = try openPair()
        let client = try TLSTransport(
            Self.authority.client, peerName: "www.example.org", over: outer.client)
        let server = try TLSTransport(Self.authority.server, peerName: nil, over: outer.server)
        var isOpen = (false, false)
        for _ in 0..<1000 where isOpen != (true, true) {
            isOpen = (try client.tryOpen() == .opened, try server.tryOpen() == .opened)
        }
        #expect(isOpen == (true, true))
        #expect(try TLSPair.send(pattern(70_000), from: client, to: server) == pattern(70_000))
    }

    /// A layer that signals a client when it is read. The client is called at once, and uses the TLS on top.
    private final class SignallingLayer: StreamTransport {
        let waitPoint = WaitPoint()
        let signal: any DeliverySignal

        init(_ signal: any DeliverySignal) { self.signal = signal }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            signal.signal()
            return .wouldBlock(.readable)
        }
        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .moved(bytes.byteCount) }
        func peek() throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func writability() throws(StreamError) -> Attempt { .moved(1) }
    }

    @Test(.timeLimit(.minutes(5))) func aClientOfTheLayerBelowMayUseTheTransport() throws {
        let tls = Locked<TLSTransport?>(nil)
        let calls = Locked(0)
        let signal = DirectTarget().makeSignal {
            calls.withLock { $0 += 1 }
            _ = try? tls.withLock { $0 }?.peek()
        }
        let transport = try TLSTransport(
            TestAuthority().client, peerName: "www.example.org", over: SignallingLayer(signal))
        tls.withLock { $0 = transport }
        #expect(try transport.tryOpen() == .wouldBlock(.readable))
        #expect(calls.withLock { $0 } == 1)
        tls.withLock { $0 = nil }
    }
}
