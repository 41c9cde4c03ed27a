import EventLoops
import Glibc
import HostResolver
import HostResolverTesting
import StreamKit
import StreamKitTesting
import Testing

/// All of 127.0.0.0/8 is loopback, so 127.0.0.2 is a second host.
private let first = "127.0.0.2"
private let second = "127.0.0.1"

@Suite(.timeLimit(.minutes(5))) struct StreamConnectorTests {
    private let resolver = ScriptedResolver()

    private func properties(_ change: (inout StreamProperties) -> Void = { _ in }) -> StreamProperties {
        var properties = StreamProperties()
        properties[.resolver] = resolver
        change(&properties)
        return properties
    }

    private func address(_ text: String, _ port: UInt16) -> SocketAddress { .ip(IPAddress(text)!, port: port) }

    private func listener() throws -> (Listener, UInt16) {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        return (listener, try #require(listener.address.port))
    }

    // Parity: SK-010, SK-038, SK-058
    @Test("SK-010, SK-038, SK-058: a name whose first address refuses")
    func refusedThenGood() async throws {
        let (listener, port) = try listener()
        resolver.script("www.example.org", addresses: [first, second])
        let pair = StreamPair(host: "www.example.org", port: port, properties: properties())
        #expect(resolver.requests.isEmpty)
        try pair.open()
        #expect([.opening, .open].contains(pair.input.status))
        try await pair.output.opened()
        #expect(pair[.remoteAddress] == address(second, port))
        #expect(pair[.remoteHostName] == "www.example.org")
        #expect(pair[.remotePort] == port)
        let steps = pair.report.steps
        #expect(
            steps.map(\.kind) == [
                .lookup("www.example.org"), .connect(address(first, port)), .connect(address(second, port)),
            ])
        #expect(
            steps.map(\.outcome) == [
                .succeeded("2 addresses"), .failed(StreamError(posix: ECONNREFUSED)), .succeeded("connected"),
            ])
        Glibc.close(try listener.accept())
    }

    // Parity: SK-038
    @Test("SK-038: an address that does not answer is overtaken")
    func blackHoleThenGood() async throws {
        let hole = try await BlackHole()
        let port = try #require(hole.address.port)
        let good = try Listener(address(first, port))
        resolver.script("www.example.org", addresses: [second, first])
        let pair = StreamPair(
            host: "www.example.org", port: port, properties: properties { $0[.attemptDelay] = .milliseconds(1) })
        try pair.open()
        try await pair.input.opened()
        #expect(pair[.remoteAddress] == address(first, port))
        #expect(pair.report.steps.map(\.outcome).contains(.abandoned))
        Glibc.close(try good.accept())
    }

    // Parity: SK-038, SK-045
    @Test("SK-038, SK-045: when all refuse, the error is the last one's")
    func allRefuse() async throws {
        let end = try RefusedPort()
        let port = end.port
        resolver.script("www.example.org", addresses: [first, second])
        let pair = StreamPair(host: "www.example.org", port: port, properties: properties())
        let error = await failure(of: pair)
        #expect(error?.isPOSIX(ECONNREFUSED) == true)
        #expect(error?.description.contains("\(second):\(port)") == true)
        #expect(pair.input.status == .error && pair.output.status == .error)
        #expect(pair.input.error == error && pair.output.error == error)
        #expect(pair.report.failure?.kind == .connect(address(second, port)))
    }

    @Test("a lookup that does not end does not hold a connection that was refused")
    func refusedDuringTheLookup() async throws {
        let end = try RefusedPort()
        resolver.script("www.example.org", [.batch([first])])
        let pair = StreamPair(host: "www.example.org", port: end.port, properties: properties())
        let error = await failure(of: pair)
        #expect(error?.isPOSIX(ECONNREFUSED) == true)
        #expect(
            pair.report.steps.map(\.outcome) == [.succeeded("1 address"), .failed(StreamError(posix: ECONNREFUSED))])
        #expect(resolver.cancelledCount == 1)
    }

    // Parity: SK-011, SK-047
    @Test("SK-011, SK-047: a name that does not exist; no address at all")
    func noAddress() async throws {
        let unknown = await failure(of: StreamPair(host: "unknown.example.org", port: 1, properties: properties()))
        #expect(unknown?.domain == .netDB)
        #expect((unknown?.underlying as? ResolverError)?.code == .hostNotFound)
        #expect(unknown?.description.contains("unknown.example.org") == true)
        let empty = await failure(of: StreamPair(addresses: [], name: nil))
        #expect(empty?.domain == .netDB)
        #expect((empty?.underlying as? ResolverError)?.code == .noData)
    }

    @Test("the open limit holds while the name is looked up")
    func limitInLookup() async throws {
        resolver.script("slow.example.org", [])
        let pair = StreamPair(
            host: "slow.example.org", port: 1, properties: properties { $0[.openTimeout] = .milliseconds(1) })
        let error = await failure(of: pair)
        #expect(error == .timedOut)
        #expect(pair.report.failure?.kind == .lookup("slow.example.org"))
    }

    @Test("the open limit holds while connecting", arguments: [1, 2])
    func limitInConnect(_ addresses: Int) async throws {
        let hole = try await BlackHole()
        let pair = StreamPair(
            addresses: Array(repeating: hole.address, count: addresses), name: nil,
            properties: properties { $0[.openTimeout] = .milliseconds(1) })
        let error = await failure(of: pair)
        #expect(error == .timedOut)
        #expect(error?.description.contains(hole.address.description) == true)
    }

    // Parity: SK-020, SK-032
    @Test("SK-020, SK-032: close while looking up ends the lookup")
    func closeInLookup() async throws {
        resolver.script("slow.example.org", [])
        let pair = StreamPair(host: "slow.example.org", port: 1, properties: properties())
        try pair.open()
        #expect(pair.input.status == .opening)
        while resolver.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        pair.close()
        #expect(pair.input.status == .closed && pair.output.status == .closed)
        await #expect(throws: StreamError.closed) { try await pair.input.opened() }
        while resolver.cancelledCount == 0, !Task.isCancelled { await Task.yield() }
    }

    // Parity: SK-025, SK-032
    @Test("SK-025, SK-032: close while connecting ends waiting calls")
    func closeInConnect() async throws {
        let hole = try await BlackHole()
        let pair = StreamPair(address: hole.address)
        try pair.open()
        let reading = Task { try await pair.input.read(upTo: 1) }
        while pair.report.steps.isEmpty, !Task.isCancelled { await Task.yield() }
        pair.close()
        await #expect(throws: StreamError.closed) { try await reading.value }
        #expect(pair.input.status == .closed)
    }

    // Parity: SK-021, SK-022
    @Test(
        "SK-021, SK-022: either half may open first, the other joins, a second open changes nothing",
        arguments: [true, false])
    func eitherHalfFirst(_ inputFirst: Bool) async throws {
        let (listener, _) = try listener()
        let pair = StreamPair(address: listener.address)
        if inputFirst {
            try pair.input.open()
            try await pair.input.opened()
            #expect(pair.output.status == .notOpen)
            try pair.output.open()
            #expect(pair.output.status == .open)
        } else {
            try pair.output.open()
            try await pair.output.opened()
            try pair.input.open()
            #expect(pair.input.status == .open)
        }
        #expect(throws: StreamError.alreadyOpened) { try pair.input.open() }
        #expect(pair.input.status == .open)
        #expect(pair.report.steps.count == 1)
    }

    // Parity: SK-022
    @Test("SK-022: closing one half while opening does not affect the other")
    func closeOneHalfWhileOpening() async throws {
        let (listener, _) = try listener()
        let pair = StreamPair(address: listener.address)
        try pair.input.open()
        pair.input.close()
        try pair.output.open()
        try await pair.output.opened()
        try await pair.output.writeAll([1])
        #expect(pair.report.steps.count == 1)
        Glibc.close(try listener.accept())
    }

    // Parity: HR-019
    @Test("numeric names are not looked up", arguments: ["127.0.0.1", "::1"])
    func numeric(_ name: String) async throws {
        let listener = try Listener(.ip(IPAddress(name)!, port: 0))
        let pair = StreamPair(
            host: name, port: try #require(listener.address.port), properties: properties())
        try pair.open()
        try await pair.input.opened()
        #expect(resolver.requests.isEmpty)
        #expect(pair[.remoteAddress] == listener.address)
    }

    // Parity: SK-014
    @Test("SK-014: a Unix path, and a missing one")
    func unixPaths() async throws {
        let file = TestFile()
        let address = SocketAddress.unix(try UnixSocketAddress(path: file.path))
        let missing = await failure(of: StreamPair(address: address))
        #expect(missing?.isPOSIX(ENOENT) == true)
        #expect(missing?.description.contains(file.path) == true)
        let listener = try Listener(address)
        let pair = StreamPair(address: address)
        try pair.open()
        try await pair.output.writeAll([1])
        let peer = try listener.accept()
        var byte: UInt8 = 0
        #expect(recv(peer, &byte, 1, 0) == 1 && byte == 1)
        Glibc.close(peer)
    }

    // Parity: SK-056, SK-060
    @Test("SK-056, SK-060: the local address, the service type and the options reach the socket")
    func socketOptions() async throws {
        let (listener, _) = try listener()
        let pair = StreamPair(
            address: listener.address,
            properties: properties {
                $0[.localAddress] = address("127.0.0.3", 0)
                $0[.serviceType] = .voice
                $0[.keepsAlive] = true
            })
        try pair.open()
        try await pair.output.opened()
        #expect(pair[.localAddress]?.ipAddress == IPAddress("127.0.0.3"))
        let descriptor = try #require(pair[.nativeDescriptor])
        func option(_ level: Int32, _ name: Int32) -> Int32 {
            var value: Int32 = -1
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, level, name, &value, &size)
            return value
        }
        #expect(option(Int32(IPPROTO_IP), IP_TOS) == 46 << 2)
        #expect(option(SOL_SOCKET, SO_KEEPALIVE) == 1)
        #expect(option(Int32(IPPROTO_TCP), TCP_NODELAY) == 1)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0)
    }

    // Parity: SK-033
    @Test("SK-033: dropping both halves ends the connection")
    func dropWithoutClose() async throws {
        let (listener, _) = try listener()
        do {
            let pair = StreamPair(address: listener.address)
            try pair.open()
            try await pair.output.opened()
        }
        let peer = try listener.accept()
        let far = StreamPair(descriptor: peer, ownership: .owned)
        try far.open()
        #expect(try await far.input.read(upTo: 1) == [])
    }

    // Parity: SK-057
    @Test("SK-057: whether the descriptor is closed", arguments: [nil, true, false])
    func ownership(_ closes: Bool?) async throws {
        let (listener, _) = try listener()
        let pair = StreamPair(address: listener.address, properties: properties { $0[.closesDescriptor] = closes })
        try pair.open()
        try await pair.output.opened()
        #expect(pair[.closesDescriptor] == (closes ?? true))
        let descriptor = try #require(pair[.nativeDescriptor])
        var before = stat()
        fstat(descriptor, &before)
        pair.close()
        if closes == false {
            var after = stat()
            #expect(fstat(descriptor, &after) == 0 && after.st_ino == before.st_ino)
            Glibc.close(descriptor)
        }
    }

    // Parity: SK-032, SK-033
    @Test("SK-032, SK-033: closing at any step of opening leaves no descriptor")
    func closeAtAnyStep() async {
        await #expect(processExitsWith: .success) {
            let listener = try Listener(.unix(UnixSocketAddress(abstractName: "sk-\(getpid())")), backlog: 4)
            let inet = try Listener(.ip(.v4(.loopback), port: 0))
            let port = inet.address.port ?? 0
            let resolver = ScriptedResolver()
            resolver.script("some.example.org", addresses: ["127.0.0.2", "127.0.0.3", "::1"])
            resolver.script("slow.example.org", [.batch(["127.0.0.2"])])
            var properties = StreamProperties()
            properties[.resolver] = resolver
            _ = StreamPair.bound()
            await withCheckedContinuation { continuation in EventLoop.shared.execute { continuation.resume() } }
            let before = OpenSockets()
            var random = SystemRandomNumberGenerator()
            for _ in 0..<20_000 {
                let pair =
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: StreamPair(host: "some.example.org", port: port, properties: properties)
                    case 1: StreamPair(host: "slow.example.org", port: port, properties: properties)
                    case 2: StreamPair(address: .ip(IPAddress("127.0.0.2")!, port: port))
                    default: StreamPair(address: listener.address)
                    }
                try? pair.open()
                for _ in 0..<Int.random(in: 0..<20, using: &random) { await Task.yield() }
                switch Int.random(in: 0..<4, using: &random) {
                case 0: pair.close()
                case 1:
                    pair.output.close()
                    await Task.yield()
                    pair.input.close()
                case 2:
                    let task = Task { try await pair.input.read(upTo: 1) }
                    task.cancel()
                    _ = await task.result
                default: break
                }
            }
            #expect(await before.remain())
        }
    }
}
