internal import COpenSSL
import Testing

@_spi(Packages) @testable import StreamKit
@testable import StreamTLS

/// Ending TLS before its connection.
@Suite struct EndTLSTests {
    static let authority = SharedAuthority()

    /// Both ends of one wire, with TLS.
    private func openPairs(
        _ version: TLSVersion = .tls13, most: Int = .max, returnsToPlain: Bool = true,
        allowsTruncation: Bool = false, over wires: (TestWire, TestWire) = TestWire.pair()
    ) async throws -> (client: StreamPair, server: StreamPair) {
        let (clientWire, serverWire) = wires
        clientWire.set { $0.most = most }
        var configurations = (client: Self.authority.client, server: Self.authority.server)
        configurations.client.minimumVersion = version
        configurations.client.maximumVersion = version
        configurations.client.returnsToPlain = returnsToPlain
        configurations.client.allowsTruncation = allowsTruncation
        configurations.server.returnsToPlain = returnsToPlain
        let plain = (client: StreamPair(transport: clientWire), server: StreamPair(transport: serverWire))
        try plain.client.open()
        try plain.server.open()
        let client = try StreamPair(
            securing: plain.client, with: configurations.client, peerName: "www.example.org", port: 443)
        let server = try StreamPair(securing: plain.server, with: configurations.server, peerName: nil)
        try client.open()
        try server.open()
        async let opened: Void = client.input.opened()
        try await server.input.opened()
        try await opened
        return (client, server)
    }

    @Test(arguments: TLSVersion.allCases, [1, 3, .max])
    func bothContinueWithoutTLS(_ version: TLSVersion, _ most: Int) async throws {
        let (client, server) = try await openPairs(version, most: most)
        try await client.output.writeAll([1, 2, 3])
        #expect(try await bytes(3, from: server) == [1, 2, 3])
        async let ended = client.endingTLS()
        let plainServer = try await server.endingTLS()
        let plainClient = try await ended
        try await plainClient.output.writeAll(Array("in plain".utf8))
        #expect(try await bytes(8, from: plainServer) == Array("in plain".utf8))
        try await plainServer.output.writeAll([9])
        #expect(try await bytes(1, from: plainClient) == [9])
        plainServer.close()
        #expect(try await plainClient.input.read(upTo: 1) == [])
        #expect(server.input.status == .closed)
        plainClient.close()
        #expect(client.output.status == .closed)
    }

    /// Both ends of one wire after the end of TLS.
    private func plainPairs() async throws -> (client: StreamPair, server: StreamPair) {
        let (client, server) = try await openPairs()  // the pairs below TLS have been released by now
        try await client.output.writeAll([1])
        #expect(try await bytes(1, from: server) == [1])
        async let ended = client.endingTLS()
        let plainServer = try await server.endingTLS()
        return (try await ended, plainServer)
    }

    /// The new pair holds the connection, so that the old pairs need not be kept.
    @Test func aReleasedPairDoesNotCloseTheLayerAboveIt() async throws {
        let (client, server) = try await plainPairs()  // the pairs with TLS have been released by now
        try await client.output.writeAll([2])
        #expect(try await bytes(1, from: server) == [2])
        client.close()
        #expect(try await server.input.read(upTo: 1) == [])
        server.close()
    }

    /// The peer may continue without waiting for our close_notify; the data it sends then must arrive.
    @Test(arguments: TLSVersion.allCases)
    func dataAfterCloseNotifyArrives(_ version: TLSVersion) async throws {
        let (client, server) = try await openPairs(version)
        // The server has received the client's close_notify, so all of its data is on the wire before the client reads.
        try await client.output.finish()
        try await server.output.writeAll([7])
        let plainServer = try await server.endingTLS()
        try await plainServer.output.writeAll(Array("at once".utf8))
        #expect(try await bytes(1, from: client) == [7])
        #expect(try await client.input.read(upTo: 100) == [])
        let plainClient = try StreamPair(afterTLSOf: client)
        #expect(try await bytes(7, from: plainClient) == Array("at once".utf8))
        plainClient.close()
        plainServer.close()
    }

    @Test func refusedBeforeBothEnds() async throws {
        let (client, server) = try await openPairs()
        #expect(throws: StreamError(posix: 16)) { try StreamPair(afterTLSOf: client) }
        try await client.output.finish()
        #expect(throws: StreamError(posix: 16)) { try StreamPair(afterTLSOf: client) }
        try await server.output.writeAll([1])
        let error = await #expect(throws: StreamError.self) { try await client.endingTLS() }
        #expect(error?.code == TLSFailure.protocolViolation.rawValue)
        server.close()
        client.close()
    }

    /// A connection that is cut off does not end TLS, even if the configuration accepts it as the end of the data: an
    /// attacker may have cut it.
    @Test(arguments: TLSVersion.allCases)
    func notWhenCutOff(_ version: TLSVersion) async throws {
        let wires = TestWire.pair()
        let (client, server) = try await openPairs(version, allowsTruncation: true, over: wires)
        try await client.output.finish()
        wires.0.set { $0.readEndsAfter = 0 }
        #expect(try await client.input.read(upTo: 1) == [])
        #expect(throws: StreamError(posix: 16)) { try StreamPair(afterTLSOf: client) }
        await #expect(throws: StreamError(posix: 16)) { try await client.endingTLS() }
        client.close()
        server.close()
    }

    /// The plain pair no longer has the properties of TLS.
    @Test func plainPairsHaveNoTLSProperties() async throws {
        let (client, server) = try await openPairs()
        #expect(client[.tlsInformation] != nil && client[.exporterBinding] != nil)
        async let ended = client.endingTLS()
        let plainServer = try await server.endingTLS()
        let plainClient = try await ended
        for pair in [plainClient, plainServer] {
            #expect(pair[.tlsInformation] == nil && pair[.exporterBinding] == nil)
            #expect(pair[.serverEndPointBinding] == nil && pair[.tls] == nil)
            pair.close()
        }
    }

    /// A peer that asks for new keys after our close_notify gets no answer: it would appear amid the plain data.
    @Test func noTLSFollowsCloseNotify() throws {
        var configuration = Self.authority.client
        configuration.returnsToPlain = true
        let (clientWire, serverWire) = TestWire.pair()
        let client = try TLSTransport(configuration, peerName: "www.example.org", over: clientWire)
        let context = try TLSContext(Self.authority.server)
        let peer = try TLSPeer(Self.authority.server, streamName: nil, port: nil)
        let server = try TLSEndpoint(Self.authority.server, context, peer, over: serverWire)
        var isOpen = (false, false)
        for _ in 0..<1000 where isOpen != (true, true) {
            isOpen = (try client.tryOpen() == .opened, try server.handshake() == .opened)
        }
        #expect(isOpen == (true, true))
        #expect(try client.tryFinish() == .ended)
        let sent = clientWire.transcript.count
        for _ in 0..<3 {
            #expect(SSL_key_update(server.ssl, SSL_KEY_UPDATE_REQUESTED) == 1)
            #expect(SSL_do_handshake(server.ssl) == 1)
        }
        #expect(try server.finish() == .ended)
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(try client.read(&buffer) == .ended)
        try client.checkEnded()
        #expect(clientWire.transcript.count == sent)
    }

    @Test func notWithoutReturnsToPlain() async throws {
        let (client, server) = try await openPairs(returnsToPlain: false)
        try await client.output.finish()
        let error = await #expect(throws: StreamError.self) { try await server.endingTLS() }
        #expect(error?.code == TLSFailure.badConfiguration.rawValue)
        #expect(error?.description.contains("returnsToPlain") == true)
        #expect(throws: StreamError(posix: 95)) { try StreamPair(afterTLSOf: StreamPair.bound()) }
        client.close()
        server.close()
    }

    private func bytes(_ count: Int, from pair: StreamPair) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try await pair.input.read(upTo: count - bytes.count)
            try #require(!more.isEmpty)
            bytes += more
        }
        return bytes
    }

    /// A check beside a transfer on another thread is neither a failure nor an event.
    @Test func checksMayRunBesideATransfer() async throws {
        let (client, server) = try await openPairs()
        async let ended = client.endingTLS()
        let plainServer = try await server.endingTLS()
        let plainClient = try await ended
        // Like a thread in the middle of a read.
        #expect(client.input.connection.point.enter(.reader) == .entered)
        #expect(!plainClient.input.hasBytesAvailable)
        #expect(plainClient.input.side.facts.hasFailed == false)
        client.input.connection.point.leave(.reader)
        #expect(plainClient.input.status == .open)
        plainServer.close()
        plainClient.close()
    }

    /// The peer never sends close_notify.
    @Test func waitingForCloseNotifyHasALimit() async throws {
        let (client, server) = try await openPairs()
        await #expect(throws: StreamError.timedOut) { try await client.endingTLS(within: .milliseconds(1)) }
        client.close()
        server.close()
    }

}
