@_spi(Packages) import EventLoops
import Glibc
import HostResolver
import Testing

@_spi(Packages) @testable import StreamKit

/// Accepting, limits and shutdown of a listener.
@Suite(.timeLimit(.minutes(5))) struct StreamListenerTests {
    private func listener(
        _ change: (inout StreamListener.Configuration) -> Void = { _ in }
    ) throws -> StreamListener {
        var configuration = StreamListener.Configuration()
        change(&configuration)
        return try StreamListener(port: 0, isLocal: true, configuration: configuration)
    }

    /// Runs the listener while `body` acts as the clients.
    private func serving(
        _ listener: StreamListener, _ handler: @escaping @Sendable (StreamPair) async -> Void,
        _ body: (UInt16) async throws -> Void
    ) async throws {
        let port = try #require(listener.port)
        let running = Task { () async -> StreamError? in
            do throws(StreamError) {
                try await listener.run(handler)
                return nil
            } catch {
                return error
            }
        }
        do {
            try await body(port)
        } catch {
            listener.stop(within: .zero)
            throw error
        }
        listener.stop()
        let failure = await running.value
        #expect(failure == nil)
        #expect(listener.connectionCount == 0)
    }

    @Sendable private static func echo(_ client: StreamPair) async {
        do {
            for try await chunk in client.input.chunks() { try await client.output.writeAll(chunk) }
            try await client.output.finish()
        } catch {
            client.close()
        }
    }

    private func open(_ port: UInt16, host: String = "127.0.0.1", tls: TLSConfiguration? = nil) throws -> StreamPair {
        let address = SocketAddress.ip(try #require(IPAddress(host)), port: port)
        let pair = StreamPair(addresses: [address], name: "www.example.org")
        try pair.set(.tls, to: tls)
        try pair.open()
        return pair
    }

    private func exchange(_ pair: StreamPair, _ bytes: [UInt8] = [1, 2, 3]) async throws -> [UInt8] {
        try await pair.output.writeAll(bytes)
        var answer: [UInt8] = []
        while answer.count < bytes.count {
            let more = try await pair.input.read(upTo: bytes.count - answer.count)
            if more.isEmpty { break }
            answer += more
        }
        return answer
    }

    @Test func clientsAreServedConcurrently() async throws {
        try await serving(listener(), Self.echo) { port in
            let pairs = try (0..<20).map { try open(port, host: $0 % 2 == 0 ? "127.0.0.1" : "::1") }
            for pair in pairs { #expect(try await exchange(pair) == [1, 2, 3]) }
            for pair in pairs.reversed() { #expect(try await exchange(pair, [9]) == [9]) }
            for pair in pairs { pair.close() }
        }
    }

    @Test func unixPath() async throws {
        let path = "/tmp/netkit-listener-\(getpid()).sock"
        defer { unlink(path) }
        let address = SocketAddress.unix(try UnixSocketAddress(path: path))
        let listener = try StreamListener(address: address)
        #expect(listener.port == nil)
        let running = Task { try await listener.run(Self.echo) }
        let pair = StreamPair(address: address)
        try pair.open()
        #expect(try await exchange(pair) == [1, 2, 3])
        pair.close()
        listener.stop()
        try await running.value
    }

    @Test func severalLoops() async throws {
        let loops = (0..<2).map { EventLoop(name: "listener-\($0)") }
        defer { for loop in loops { loop.shutdown() } }
        let seen = Locked<Set<Int>>([])
        try await serving(
            listener { $0.loops = loops },
            { client in
                let index = loops.firstIndex { $0.isCurrent } ?? -1
                seen.withLock { _ = $0.insert(index) }
                await Self.echo(client)
            }
        ) { port in
            for _ in 0..<4 {
                let pair = try open(port)
                #expect(try await exchange(pair) == [1, 2, 3])
                pair.close()
            }
        }
        #expect(seen.withLock { $0 } == [0, 1])
    }

    // MARK: TLS

    @Test func clientsOverTLS() async throws {
        let authority = TestAuthority()
        var tls = TLSConfiguration(server: try authority.issue().identity())
        tls.clientAuthentication = .required
        tls.trust = authority.client.trust
        tls.applicationProtocols = ["b", "a"]
        let seen = Locked<[String]>([])
        let failures = Locked<[StreamError]>([])
        try await serving(
            listener {
                $0.tls = tls
                $0.onFailure = { error, peer in
                    #expect(peer != nil)
                    failures.withLock { $0.append(error) }
                }
            },
            { client in
                let information = client[.tlsInformation]
                let name = information?.peerCertificates.first?.subject ?? "-"
                seen.withLock { $0.append("\(name) \(information?.applicationProtocol ?? "-")") }
                await Self.echo(client)
            }
        ) { port in
            var client = authority.client
            client.identity = try authority.issue([]) { $0.subject = "Ann" }.identity()
            client.applicationProtocols = ["a", "b"]
            let known = try open(port, tls: client)
            #expect(try await exchange(known) == [1, 2, 3])
            known.close()
            client.identity = nil
            let unidentified = try open(port, tls: client)
            // In TLS 1.3 the rejection comes after the client's handshake.
            await #expect(throws: StreamError.self) {
                if try await exchange(unidentified).isEmpty { throw StreamError.closed }
            }
            unidentified.close()
        }
        #expect(seen.withLock { $0 } == ["CN=Ann b"])
        #expect(failures.withLock { $0.map(\.tlsFailure) } == [.certificateRequired])
    }

    @Test func aReloadedCertificateIsUsedForLaterConnections() async throws {
        let authority = TestAuthority()
        let (old, new) = (authority.issue(), authority.issue())
        let listener = try listener { $0.tls = (try? old.identity()).map(TLSConfiguration.init(server:)) }
        try await serving(listener, Self.echo) { port in
            let early = try open(port, tls: authority.client)
            #expect(try await exchange(early) == [1, 2, 3])
            try await listener.reload(tls: TLSConfiguration(server: new.identity()))
            let late = try open(port, tls: authority.client)
            #expect(try await exchange(late) == [1, 2, 3])
            #expect(late[.tlsInformation]?.peerCertificates.first == new.certificate)
            #expect(early[.tlsInformation]?.peerCertificates.first == old.certificate)
            #expect(try await exchange(early) == [1, 2, 3])
            // One that cannot work changes nothing.
            await #expect(throws: StreamError.self) { try await listener.reload(tls: TLSConfiguration()) }
            let last = try open(port, tls: authority.client)
            #expect(try await exchange(last) == [1, 2, 3])
            #expect(last[.tlsInformation]?.peerCertificates.first == new.certificate)
            for pair in [early, late, last] { pair.close() }
        }
    }

    @Test func aListenerWithoutTLSRefusesToReloadIt() throws {
        let listener = try listener()
        let tls = TLSConfiguration(server: try TestAuthority().issue().identity())
        #expect(throws: StreamError(posix: EINVAL)) { try listener.reload(tls: tls) }
        listener.stop()
    }

    /// The trusted certificates are read on another thread than that of the loop.
    @Test func theTrustOfAClientIsNotLoadedOnTheLoop() async throws {
        let authority = TestAuthority()
        let loop = EventLoop(name: "trust")
        defer { loop.shutdown() }
        var client = authority.client
        client.applicationProtocols = ["trust-of-this-test"]
        let madeOnLoop = Locked<[Bool]>([])
        let wanted = client.applicationProtocols
        TLSContextCache.shared.observers.withLock {
            $0.append { event, configuration in
                guard event == .makes, configuration.applicationProtocols == wanted else { return }
                madeOnLoop.withLock { $0.append(loop.isCurrent) }
            }
        }
        let server = try listener { $0.tls = (try? authority.issue().identity()).map(TLSConfiguration.init(server:)) }
        try await serving(server, Self.echo) { port in
            for _ in 0..<2 {
                let address = SocketAddress.ip(try #require(IPAddress("127.0.0.1")), port: port)
                let pair = StreamPair(addresses: [address], name: "www.example.org", loop: loop)
                try pair.set(.tls, to: client)
                try pair.open()
                #expect(try await exchange(pair) == [1, 2, 3])
                pair.close()
            }
        }
        #expect(madeOnLoop.withLock { $0 } == [false])
    }

    @Test func aSilentClientDelaysNoOther() async throws {
        let authority = TestAuthority()
        let tls = TLSConfiguration(server: try authority.issue().identity())
        let server = try listener {
            $0.tls = tls
            $0.handshakeTimeout = .seconds(3600)
        }
        try await serving(server, Self.echo) { port in
            let silent = try open(port)
            let client = try open(port, tls: authority.client)
            #expect(try await exchange(client) == [1, 2, 3])
            for pair in [client, silent] { pair.close() }
        }
    }

    @Test func aSilentClientIsDisconnected() async throws {
        let authority = TestAuthority()
        let failed = OneShot<Void>()
        let tls = TLSConfiguration(server: try authority.issue().identity())
        let server = try listener {
            $0.tls = tls
            $0.handshakeTimeout = .milliseconds(10)
            $0.onFailure = { error, _ in
                #expect(error.isPOSIX(ETIMEDOUT))
                failed.provide(())
            }
        }
        // The limit is also that for reading the trusted certificates: they are read before.
        try await onThread { try server.reload(tls: tls) }
        try await serving(server, Self.echo) { port in
            let silent = try open(port)
            try await failed.value()
            #expect(try await silent.input.read(upTo: 1) == [])
            silent.close()
        }
    }

    @Test func tlsRequiresAnIdentity() {
        var configuration = StreamListener.Configuration()
        configuration.tls = TLSConfiguration()
        let error = #expect(throws: StreamError.self) {
            try StreamListener(port: 0, isLocal: true, configuration: configuration)
        }
        #expect(error?.tlsFailure == .badConfiguration)
    }

    // MARK: Limits

    /// Clients beyond the maximum wait in the kernel's queue and are served when another one disconnects.
    @Test func moreClientsThanAllowed() async throws {
        let most = Locked((now: 0, most: 0))
        let listener = try listener { $0.maximumConnections = 2 }
        try await serving(
            listener,
            { client in
                most.withLock {
                    $0.now += 1
                    $0.most = max($0.now, $0.most)
                }
                await Self.echo(client)
                most.withLock { $0.now -= 1 }
            }
        ) { port in
            // They connect at the same time, so the order in the queue is unknown.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    let pair = try open(port)
                    group.addTask {
                        let answer = try await exchange(pair)
                        #expect(answer == [1, 2, 3])
                        #expect(listener.connectionCount <= 2)
                        pair.close()
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(most.withLock { $0.most } <= 2)
    }

    /// At the maximum, a client at each of two sockets waits: a connection ends for each of them.
    @Test func eachListeningSocketFindsRoom() async throws {
        let loop = EventLoop(name: "sockets")
        defer { loop.shutdown() }
        let sockets = try (0..<2).map { _ in try Socket(listeningAt: .ip(.v4(.loopback), port: 0), loop: loop) }
        let addresses = try sockets.map { try #require($0.localAddress) }
        var configuration = StreamListener.Configuration()
        configuration.loops = [loop]
        configuration.maximumConnections = 2
        configuration.minimumWait = .zero
        let listener = try StreamListener(sockets: sockets, configuration: configuration)
        let running = Task {
            // Idle all the time.
            try await listener.serve { connection in
                for try await chunk in connection.pair.input.chunks() {
                    try await connection.pair.output.writeAll(chunk)
                }
            }
        }
        var old: [Socket] = []
        for address in addresses {
            let client = try await Socket.connected(to: address)
            _ = try await client.send([1])
            #expect(try await client.receive(upTo: 1).bytes == [1])
            old.append(client)
        }
        // Both connections arrive before the listener can accept one.
        let new = try await withCheckedThrowingContinuation { continuation in
            loop.execute {
                continuation.resume(with: Result { try addresses.map { try Socket.connected(to: $0) } })
            }
        }
        for client in new {
            _ = try await client.send([2])
            #expect(try await client.receive(upTo: 1).bytes == [2])
        }
        for client in old + new { client.invalidate() }
        listener.stop()
        try await running.value
    }

    /// The connection that is closed for another client is that of a handler which waits for something else. Its task is cancelled; if it goes on
    /// all the same, the next connection is closed.
    @Test(.timeLimit(.minutes(5)), arguments: [true, false])
    func aHandlerThatIsSlowToEndKeepsNoClientWaiting(endsWithItsTask: Bool) async throws {
        let (begun, mayEnd, hasEnded) = (OneShot<Void>(), OneShot<Void>(), OneShot<Bool>())
        let listener = try listener { configuration in
            configuration.maximumConnections = 2
            configuration.minimumWait = .milliseconds(1)
        }
        let running = Task {
            try await listener.serve { connection in
                guard begun.provide(()) else { return await Self.echo(connection.pair) }
                if endsWithItsTask {
                    try? await mayEnd.value()
                } else {
                    await Task { try? await mayEnd.value() }.value
                }
                hasEnded.provide(Task.isCancelled)
            }
        }
        let port = try #require(listener.port)
        let slow = try open(port)
        try await begun.value()
        let second = try open(port)
        #expect(try await exchange(second) == [1, 2, 3])
        let third = try open(port)
        #expect(try await exchange(third) == [1, 2, 3])
        if endsWithItsTask { #expect(try await hasEnded.value()) }
        mayEnd.provide(())
        #expect(try await hasEnded.value())
        for pair in [slow, second, third] { pair.close() }
        listener.stop()
        try await running.value
    }

    /// A listener leaves the last descriptors of the process alone: its clients wait, and are served when others have gone.
    @Test func clientsWaitWhileDescriptorsAreScarce() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 120  // of which 30 are in reserve
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let hasReported = OneShot<StreamError>()
            var configuration = StreamListener.Configuration()
            configuration.onFailure = { error, peer in if peer == nil { hasReported.provide(error) } }
            let listener = try StreamListener(port: 0, isLocal: true, configuration: configuration)
            #expect(listener.configuration.maximumConnections == 90)
            let running = Task {
                try await listener.run { client in
                    for try await chunk in client.input.chunks() { try await client.output.writeAll(chunk) }
                }
            }
            // Each client has a descriptor here, too.
            let address = SocketAddress.ip(.v4(.loopback), port: try #require(listener.port))
            var clients: [Socket] = []
            for _ in 0..<60 { clients.append(try await Socket.connected(to: address)) }
            #expect(try await hasReported.value().isPOSIX(EMFILE))
            #expect(listener.connectionCount < 60 && !DescriptorReserve.contains(3))
            for client in clients.prefix(40) { client.invalidate() }
            for client in clients.dropFirst(40) {
                _ = try await client.send([7])
                #expect(try await client.receive(upTo: 1).bytes == [7])
                client.invalidate()
            }
            listener.stop()
            try await running.value
        }
    }

    // MARK: Ends

    @Test func stopWaitsForHandlers() async throws {
        // An address of its own: no other test can take the port when the listener has closed it.
        let host = "127.0.83.1"
        let listener = try StreamListener(address: .ip(try #require(IPAddress(host)), port: 0))
        let isStopped = OneShot<Void>()
        let running = Task { try await listener.run(Self.echo) }
        let port = try #require(listener.port)
        let pair = try open(port, host: host)
        #expect(try await exchange(pair) == [1, 2, 3])
        let late = Task {
            try await isStopped.value()
            // Still served: the grace period has no end.
            let answer = try await exchange(pair, [4, 5])
            pair.close()
            return answer
        }
        listener.stop()
        #expect(listener.isStopping && listener.addresses.isEmpty)
        // The kernel may accept a connection until the loop closes the socket. It is not served.
        let unserved = try open(port, host: host)
        let answer = try? await exchange(unserved)
        #expect(answer?.isEmpty != false)
        unserved.close()
        isStopped.provide(())
        #expect(try await late.value == [4, 5])
        try await running.value
        await #expect(throws: StreamError.closed) { try await listener.run(Self.echo) }
    }

    /// When the grace period ends, streams are closed whatever their handlers do.
    @Test(arguments: [false, true]) func graceIsLimited(byCancelling: Bool) async throws {
        let listener = try listener()
        let begun = OneShot<Void>()
        let isCancelled = Locked<Bool?>(nil)
        let running = Task {
            try await listener.run { client in
                begun.provide(())
                // Waits without end and ignores cancellation.
                while !client.input.isClosed { _ = try? await client.input.read(upTo: 1) }
                isCancelled.withLock { $0 = Task.isCancelled }
            }
        }
        let pair = try open(try #require(listener.port))
        try await begun.value()
        if byCancelling { running.cancel() } else { listener.stop(within: .milliseconds(50)) }
        #expect((try? await pair.input.read(upTo: 1)) == [])
        pair.close()
        try await running.value
        #expect(listener.connectionCount == 0)
        // A handler that has closed its own streams is not cancelled.
        #expect(isCancelled.withLock { $0 } == true)
    }

    @Test func theErrorOfAHandlerEndsItsConnectionOnly() async throws {
        let listener = try listener()
        let running = Task {
            try await listener.run { client in
                for try await chunk in client.input.chunks() {
                    guard chunk.first != 0 else { throw CancellationError() }
                    try await client.output.writeAll(chunk)
                }
            }
        }
        let (failing, other) = (try open(try #require(listener.port)), try open(try #require(listener.port)))
        try await failing.output.writeAll([0])
        #expect(try await failing.input.read(upTo: 1) == [])
        #expect(try await exchange(other) == [1, 2, 3])
        failing.close()
        other.close()
        listener.stop()
        try await running.value
    }

    @Test func theStreamErrorOfAHandlerIsReported() async throws {
        let failures = Locked<[StreamError]>([])
        let listener = try listener { configuration in
            configuration.onFailure = { error, peer in failures.withLock { if peer != nil { $0.append(error) } } }
        }
        let running = Task {
            try await listener.run { client in
                let byte = try await client.input.read(upTo: 1)
                throw byte == [0] ? StreamError(posix: EPROTO) : .closed
            }
        }
        for byte in [UInt8(0), 1] {
            let client = try open(try #require(listener.port))
            try await client.output.writeAll([byte])
            #expect(try await client.input.read(upTo: 1) == [])
            client.close()
        }
        listener.stop()
        try await running.value
        #expect(failures.withLock { $0 } == [StreamError(posix: EPROTO)])
    }

    @Test func runsOnce() async throws {
        let listener = try listener()
        let running = Task { try await listener.run(Self.echo) }
        let pair = try open(try #require(listener.port))
        #expect(try await exchange(pair) == [1, 2, 3])
        await #expect(throws: StreamError.busy) { try await listener.run(Self.echo) }
        pair.close()
        listener.stop()
        try await running.value
    }
}

extension ReadStream {
    fileprivate var isClosed: Bool { status == .closed || status == .error }
}
