import Glibc
import HostResolver
import HostResolverTesting
import StreamKit
import Testing

@Suite struct StreamPairTests {
    /// A listener on a free loopback port, with the port.
    private func listen() -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        SocketAddress.ip(.v4(IPv4Address("127.0.0.1")!), port: 0).withSockAddr { _ = bind(descriptor, $0, $1) }
        Glibc.listen(descriptor, 8)
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutableBytes(of: &address) {
            _ = getsockname(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    @Test func connectsByNameAndEchoes() async throws {
        let listener = listen()
        defer { Glibc.close(listener.descriptor) }
        let pair = StreamPair(host: "localhost", port: listener.port)
        #expect(pair.input.status == .notOpen)
        try pair.open()
        try await pair.output.opened()
        let peer = accept(listener.descriptor, nil, nil)
        let echo = StreamPair(descriptor: peer, ownership: .owned)
        try echo.open()
        try await pair.output.writeAll(Array("hello".utf8))
        #expect(try await echo.input.read(upTo: 100) == Array("hello".utf8))
        try await pair.output.finish()
        #expect(try await echo.input.read(upTo: 100) == [])
        #expect(echo.input.status == .atEnd)
        #expect(pair[.remoteHostName] == "localhost")
        #expect(pair.report.failure == nil || pair.report.steps.count > 2)
    }

    @Test func aPairIsOpenUntilAHalfIsClosed() throws {
        for closesInput in [true, false] {
            let pair = StreamPair.bound()
            #expect(!pair.isOpen)
            try pair.open()
            #expect(pair.isOpen)
            if closesInput { pair.input.close() } else { pair.output.close() }
            #expect(!pair.isOpen)
            pair.close()
        }
    }

    /// Bytes, the end and the close of either half end idleness.
    @Test func aPairIsIdleWhileItsPeerSendsNothing() throws {
        for closesInput in [true, false] {
            let pair = StreamPair.bound()
            #expect(!pair.isIdle)
            try pair.open()
            #expect(pair.isIdle)
            try pair.output.writeAll([1])
            #expect(!pair.isIdle)
            #expect(try pair.input.read(upTo: 1) == [1])
            #expect(pair.isIdle)
            if closesInput { pair.input.close() } else { pair.output.close() }
            #expect(!pair.isIdle)
            pair.close()
        }
    }

    @Test func refusedIsAnErrorWithTheAddress() async throws {
        let listener = listen()
        Glibc.close(listener.descriptor)
        let pair = StreamPair(host: "127.0.0.1", port: listener.port)
        try pair.open()
        let error = await #expect(throws: StreamError.self) { try await pair.input.opened() }
        #expect(error?.isPOSIX(ECONNREFUSED) == true)
        #expect(error?.description.contains("127.0.0.1:\(listener.port)") == true)
        #expect(pair.input.status == .error)
    }

    @Test func secondHalfOfAFailedPairFailsLater() async throws {
        let listener = listen()
        Glibc.close(listener.descriptor)
        let pair = StreamPair(host: "127.0.0.1", port: listener.port)
        try pair.input.open()
        await #expect(throws: StreamError(posix: ECONNREFUSED)) { try await pair.input.opened() }
        try pair.output.open()
        await #expect(throws: StreamError(posix: ECONNREFUSED)) { try await pair.output.opened() }
        #expect(pair.output.status == .error)
        #expect(pair.output.error == StreamError(posix: ECONNREFUSED))
    }

    /// Connects, makes the peer send an answer and close without reading, and writes until that fails.
    private func writeToAClosedPeer(resets: Bool) async throws -> (StreamPair, StreamError?) {
        let listener = listen()
        defer { Glibc.close(listener.descriptor) }
        let pair = StreamPair(host: "127.0.0.1", port: listener.port)
        try pair.open()
        try await pair.output.opened()
        let peer = accept(listener.descriptor, nil, nil)
        #expect(Glibc.write(peer, "answer", 6) == 6)
        try await pair.input.ready()
        if resets {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(peer, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
        Glibc.close(peer)
        let error = await #expect(throws: StreamError.self) {
            while true { try await pair.output.writeAll([UInt8](repeating: 0, count: 100)) }
        }
        return (pair, error)
    }

    @Test func bytesBeforeAResetAreRead() async throws {
        let (pair, error) = try await writeToAClosedPeer(resets: true)
        #expect(error?.isPOSIX(ECONNRESET) == true)
        #expect(pair.output.status == .error)
        #expect(pair.input.status == .open)
        #expect(try await pair.input.read(upTo: 100) == Array("answer".utf8))
        // The kernel reported the reset to the writer and would report an end to the reader.
        await #expect(throws: StreamError(posix: ECONNRESET)) { try await pair.input.read(upTo: 100) }
        #expect(pair.input.status == .error)
    }

    @Test func bytesBeforeTheEndAreReadAfterABrokenPipe() async throws {
        let (pair, error) = try await writeToAClosedPeer(resets: false)
        #expect(error?.isPOSIX(EPIPE) == true)
        #expect(pair.output.error == error)
        #expect(pair.input.error == nil)
        #expect(try await pair.input.readAll(limit: 100) == Array("answer".utf8))
        #expect(pair.input.status == .atEnd)
    }

    @Test func boundPairCarriesAMegabyteThroughSixtyFourBytes() async throws {
        let pair = StreamPair.bound(bufferSize: 64)
        try pair.open()
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
        async let written: Void = {
            try await pair.output.writeAll(bytes)
            pair.output.close()
        }()
        let all = try await pair.input.readAll(limit: 2_000_000)
        try await written
        #expect(all == bytes)
    }
}

@Suite(.timeLimit(.minutes(5))) struct HostStreamTests {
    private let resolver = ScriptedResolver()

    /// Connects to the host and checks the address.
    private func connect(_ host: HostLookup, _ listener: Listener) async throws -> StreamPair {
        var properties = StreamProperties()
        properties[.resolver] = resolver
        let pair = StreamPair(host: host, port: try #require(listener.address.port), properties: properties)
        try pair.open()
        try await pair.input.opened()
        #expect(pair[.remoteAddress] == listener.address)
        return pair
    }

    // Parity: SK-011, SK-059, HR-024
    @Test("SK-011, SK-059: an unresolved host is looked up at open") func unresolved() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        resolver.script("www.example.org", addresses: ["127.0.0.1"])
        let pair = try await connect(HostLookup(name: "www.example.org", resolver: resolver), listener)
        #expect(resolver.requests.count == 1)
        #expect(pair[.remoteHostName] == "www.example.org")
        #expect(pair[.remoteHost]?.names.value == ["www.example.org"])
        #expect(throws: StreamError.self) { try pair.set(.remoteHost, to: nil) }
    }

    // Parity: SK-011
    @Test("SK-011: a resolved host's addresses are used") func resolved() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        resolver.script("www.example.org", addresses: ["127.0.0.1"])
        let host = HostLookup(name: "www.example.org", resolver: resolver)
        _ = try await host.addresses()
        let pair = try await connect(host, listener)
        #expect(resolver.requests.count == 1)
        #expect(pair[.remoteHost]?.addresses.value?.map(\.ipAddress) == [IPAddress("127.0.0.1")])
    }

    // Parity: SK-011
    @Test("SK-011: a host known by address alone") func addressOnly() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = try await connect(HostLookup(address: .v4(.loopback), resolver: resolver), listener)
        #expect(resolver.requests.isEmpty)
        #expect(pair[.remoteHostName] == nil)
    }
}
