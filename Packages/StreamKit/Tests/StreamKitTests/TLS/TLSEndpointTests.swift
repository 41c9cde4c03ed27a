internal import COpenSSL
internal import EventLoops
import Testing

@testable import StreamKit
@testable import StreamTLS

/// The abuses that the TLS protocol allows a peer.
@Suite(.timeLimit(.minutes(5))) struct TLSEndpointTests {
    @Test func messagesWithoutDataAreBounded() throws {
        let authority = SharedAuthority()
        let (clientWire, serverWire) = TestWire.pair(capacity: 4 << 20)
        let client = try TLSTransport(authority.client, peerName: "www.example.org", over: clientWire)
        let context = try TLSContext(authority.server)
        let peer = try TLSPeer(authority.server, streamName: nil, port: nil)
        let server = try TLSEndpoint(authority.server, context, peer, over: serverWire)
        var isOpen = (false, false)
        for _ in 0..<1000 where isOpen != (true, true) {
            isOpen = (try client.tryOpen() == .opened, try server.handshake() == .opened)
        }
        var buffer = [UInt8](repeating: 0, count: 100)
        // A few tickets followed by data are accepted, any number of times.
        for round in 0..<20 {
            for _ in 0..<10 {
                #expect(SSL_new_session_ticket(server.ssl) == 1)
                #expect(SSL_do_handshake(server.ssl) == 1)
            }
            #expect(try server.write([UInt8(round)].span.bytes) == .moved(1))
            while try client.read(&buffer) != .moved(1) {}
            #expect(buffer[0] == UInt8(round))
        }
        // Without data, they are not.
        let error = #expect(throws: StreamError.self) {
            for _ in 0..<20_000 {
                #expect(SSL_new_session_ticket(server.ssl) == 1)
                #expect(SSL_do_handshake(server.ssl) == 1)
                _ = try client.read(&buffer)
            }
        }
        #expect(error?.tlsFailure == .protocolViolation)
        #expect(error?.description.contains("without any data") == true)
    }

    @Test func overheadPerCallIsBounded() async throws {
        let authority = SharedAuthority()
        let (clientWire, serverWire) = TestWire.pair(capacity: 4 << 20)
        let client = try TLSTransport(authority.client, peerName: "www.example.org", over: clientWire)
        let context = try TLSContext(authority.server)
        let peer = try TLSPeer(authority.server, streamName: nil, port: nil)
        let server = try TLSEndpoint(authority.server, context, peer, over: serverWire)
        var isOpen = (false, false)
        for _ in 0..<1000 where isOpen != (true, true) {
            isOpen = (try client.tryOpen() == .opened, try server.handshake() == .opened)
        }
        var buffer = [UInt8](repeating: 0, count: 100)
        while try client.read(&buffer) != .wouldBlock(.readable) {}
        // Key updates (RFC 8446 §4.6.3) and one byte, all of them on the wire already.
        for _ in 0..<5000 {
            #expect(SSL_key_update(server.ssl, CInt(SSL_KEY_UPDATE_NOT_REQUESTED)) == 1)
            #expect(SSL_do_handshake(server.ssl) == 1)
        }
        #expect(try server.write(([7] as [UInt8]).span.bytes) == .moved(1))
        var calls = 0
        var taken = clientWire.state.withLock { $0.read }
        let point = clientWire.waitPoint
        while try client.read(&buffer) == .wouldBlock(.readable) {
            calls += 1
            let now = clientWire.state.withLock { $0.read }
            #expect(now - taken <= TLSEndpoint.bytesPerCall)
            taken = now
            // A wait ends although no readiness edge will come from below.
            #expect(await point.readerWait(for: .readable, until: nil) == .ready)
        }
        #expect(buffer[0] == 7)
        #expect(calls >= 5000 / TLSEndpoint.recordsPerCall)
    }

    /// The largest record in one call, though tickets come before it.
    @Test func theLargestRecordIsReadInOneCall() throws {
        let authority = SharedAuthority()
        let pair = try TLSPair(client: authority.client, server: authority.server)
        #expect(try pair.open() == (nil, nil))
        #expect(try pair.server.write(pattern(1 << 14)) == .moved(1 << 14))
        #expect(try pair.server.tryFlush() == .ended)
        var buffer = [UInt8](repeating: 0, count: 1 << 15)
        #expect(try pair.client.read(&buffer) == .moved(1 << 14))
    }

    @Test func bothHalvesAtOnce() async throws {
        let authority = SharedAuthority()
        let pair = try TLSPair(client: authority.client, server: authority.server)
        #expect(try pair.open() == (nil, nil))
        let bytes = pattern(400_000)
        // Four loops that never wait, on any number of threads: each side reads and writes at the same time.
        try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            for (near, far) in [(pair.client, pair.server), (pair.server, pair.client)] {
                group.addTask {
                    var sent = 0
                    while sent < bytes.count {
                        if case .moved(let count) = try near.tryWrite(bytes.span.bytes.extracting(droppingFirst: sent))
                        {
                            sent += count
                        }
                        await Task.yield()
                    }
                    while try near.tryFlush() != .ended, !Task.isCancelled { await Task.yield() }
                    return nil
                }
                group.addTask {
                    var received: [UInt8] = []
                    var buffer = [UInt8](repeating: 0, count: 5000)
                    while received.count < bytes.count {
                        if case .moved(let count) = try far.read(&buffer) { received += buffer.prefix(count) }
                        await Task.yield()
                    }
                    return received
                }
            }
            for try await received in group {
                if let received { #expect(received == bytes) }
            }
        }
    }
}
