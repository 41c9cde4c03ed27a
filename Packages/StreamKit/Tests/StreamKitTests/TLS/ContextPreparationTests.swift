import EventLoops
import Foundation
import Glibc
import Testing

@testable import StreamKit
@testable import StreamTLS

/// Trusted certificates that cannot be read delay only the connections that need them, and those until their deadline.
@Suite(.timeLimit(.minutes(5))) struct ContextPreparationTests {
    /// How TLS comes about.
    enum Way: CaseIterable {
        /// A connected socket.
        case socket
        /// A user's own transport.
        case transport
        /// An open connection, as with STARTTLS.
        case open
        /// The target behind a proxy.
        case proxied
    }

    /// A FIFO that is read whenever the files of one application protocol's context are read, or examined. The reader waits until the
    /// test releases it.
    private final class UnreadableFile: Sendable {
        let path = "/tmp/netkit-trust-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        private let readers = Locked(0)
        private let writer = Locked<CInt?>(nil)

        init(
            for name: String, at step: TLSContextCache.Event = .makes, in contexts: TLSContextCache = .shared
        ) throws {
            try #require(mkfifo(path, 0o600) == 0)
            contexts.observers.withLock { observers in
                observers.append { [self] event, configuration in
                    guard event == step, configuration.applicationProtocols == [name] else { return }
                    readers.withLock { $0 += 1 }
                    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
                    if descriptor >= 0 { close(descriptor) }
                }
            }
        }

        /// How often the file was opened.
        var readerCount: Int { readers.withLock { $0 } }

        /// Ends the wait of present readers.
        func release() {
            writer.withLock { $0 = Glibc.open(path, O_RDWR | O_CLOEXEC) }
            unlink(path)
        }
    }

    private let authority = SharedAuthority()

    private func client(_ name: String) -> TLSConfiguration {
        var configuration = authority.client
        configuration.applicationProtocols = [name]
        configuration.peerName = "www.example.org"
        return configuration
    }

    /// A pair that needs a context, and what must live as long.
    private func makePair(
        _ way: Way, _ listener: Listener, _ proxy: FakeProxy, _ configuration: TLSConfiguration
    ) async throws -> (StreamPair, (any Sendable)?) {
        let address = SocketAddress.ip(.v4(.loopback), port: try #require(listener.address.port))
        switch way {
        case .socket:
            let pair = StreamPair(address: address)
            try pair.set(.tls, to: configuration)
            return (pair, nil)
        case .transport:
            let wires = TestWire.pair()
            let pair = StreamPair(transport: wires.0)
            try pair.set(.tls, to: configuration)
            return (pair, wires.1)
        case .open:
            let plain = StreamPair(address: address)
            try plain.open()
            try await plain.input.opened()
            return (try StreamPair(securing: plain, with: configuration, peerName: nil), plain)
        case .proxied:
            let pair = StreamPair(address: address)
            try pair.set(.socksProxy, to: SOCKSProxy(host: "127.0.0.1", port: proxy.port))
            try pair.set(.tls, to: configuration)
            return (pair, nil)
        }
    }

    @Test("openTimeout limits the reading of certificates", arguments: Way.allCases, [false, true])
    func deadline(_ way: Way, blocksThread: Bool) async throws {
        let name = "unreadable-\(way)-\(blocksThread)"
        let file = try UnreadableFile(for: name)
        defer { file.release() }
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let proxy = try FakeProxy { connection in
            if way != .proxied { return }
            try connection.acceptSOCKS()
            _ = connection.readSome()
        }
        let (pair, others) = try await makePair(way, listener, proxy, client(name))
        // The connection has to open, and the proxy to answer, within the time, too, which a busy machine may need.
        try pair.set(.openTimeout, to: .seconds(way == .proxied ? 10 : 4))
        let failure = try await error {
            try pair.open()
            if blocksThread {
                try await onThread { try pair.input.opened() }
            } else {
                try await pair.input.opened()
            }
        }
        #expect(failure == .timedOut && failure.description.contains("reading the trusted certificates"))
        // None if the machine is so busy that the thread has not begun when the time is over: the work is then withdrawn.
        #expect(file.readerCount <= 1)
        pair.close()
        withExtendedLifetime(others) {}
        // Ends the wait of the proxy for its one client.
        if way != .proxied {
            let last = StreamPair(address: proxy.listener.address)
            try last.open()
            try await last.input.opened()
            last.close()
        }
        await proxy.finished()
    }

    @Test("connections with the same certificates share one thread; those with others are not held up")
    func others() async throws {
        let name = "unreadable-others"
        let file = try UnreadableFile(for: name)
        defer { file.release() }
        func stuck(_ limit: Duration) throws -> StreamPair {
            let pair = StreamPair(transport: TestWire.pair().0)
            try pair.set(.tls, to: client(name))
            try pair.set(.openTimeout, to: limit)
            return pair
        }
        let first = try stuck(.seconds(300))
        let waiting = Task { await failure(of: first) }
        while file.readerCount == 0, !Task.isCancelled { await Task.yield() }
        let late = try [stuck(.seconds(1)), stuck(.seconds(1))]
        for pair in late { #expect(await failure(of: pair) == .timedOut) }
        #expect(file.readerCount == 1)

        let other = SharedAuthority()
        let wires = TestWire.pair()
        let (near, far) = (StreamPair(transport: wires.0), StreamPair(transport: wires.1))
        var configuration = other.client
        configuration.peerName = "www.example.org"
        try near.set(.tls, to: configuration)
        try far.set(.tls, to: other.server)
        try near.open()
        try far.open()
        try await near.output.writeAll([7])
        #expect(try await far.input.read(upTo: 1) == [7])
        for pair in [first, near, far] + late { pair.close() }
        #expect(await waiting.value == .closed)
    }

    @Test("a bounded number of threads waits, and what none has begun is withdrawn")
    func bound() async throws {
        let contexts = TLSContextCache()
        let threads = BlockingThreads(limit: 2)
        let readers = TrustReaders(threads)
        let file = try UnreadableFile(for: "unreadable-bound", in: contexts)
        let preparations = (0..<4).map { _ in
            var configuration = SharedAuthority().client
            configuration.applicationProtocols = ["unreadable-bound"]
            return ContextPreparation(configuration, loop: .shared, in: contexts, readers: readers)
        }
        while file.readerCount < 2, !Task.isCancelled { await Task.yield() }
        for preparation in preparations {
            #expect(try preparation.context(until: nil) == nil)
            #expect(throws: StreamError.timedOut) { try preparation.context(until: .now) }
        }
        #expect(file.readerCount == 2 && threads.threadCount == 2 && readers.queueCount == 0)
        file.release()
        // The threads are free again.
        let last = ContextPreparation(authority.client, loop: .shared, in: contexts, readers: readers)
        while try last.context(until: nil) == nil, !Task.isCancelled { await Task.yield() }
        #expect(contexts.existing(for: authority.client) != nil)
    }

    @Test("a configuration that cannot work is refused before its certificates are read; the connection is unchanged")
    func badConfiguration() async throws {
        let wires = TestWire.pair()
        let plain = StreamPair(transport: wires.0)
        try plain.open()
        var configuration = client("bad")
        configuration.cipherList = "no such cipher"
        #expect(throws: StreamError(.badConfiguration, Sentence("", ""))) {
            try StreamPair(securing: plain, with: configuration, peerName: nil)
        }
        configuration = client("bad")
        configuration.trust = .only(file: "/nonexistent")
        let secured = try StreamPair(securing: plain, with: configuration, peerName: nil)
        #expect(await failure(of: secured)?.isPOSIX(ENOENT) == true)
    }

    // MARK: Files that have to be examined again

    @Test("files that cannot be examined hold up neither the loop nor a connection beyond its time limit")
    func examination() async throws {
        let name = "unexaminable"
        let authority = TestAuthority()
        let path = "/tmp/netkit-trust-\(getpid())-\(name).pem"
        try Data(authority.root.pem).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        var settings = StreamListener.Configuration()
        settings.tls = TLSConfiguration(server: try authority.issue().identity())
        let listener = try StreamListener(port: 0, isLocal: true, configuration: settings)
        let serving = Task { try await listener.run { pair in _ = try? await pair.input.read(upTo: 1) } }
        let address = SocketAddress.ip(.v4(.loopback), port: try #require(listener.port))
        let loop = EventLoop(name: name)
        defer { loop.shutdown() }
        func client(_ trust: TLSTrust, _ protocols: [String]) throws -> StreamPair {
            var configuration = TLSConfiguration()
            configuration.applicationProtocols = protocols
            configuration.trust = trust
            let pair = StreamPair(addresses: [address], name: "www.example.org", loop: loop)
            try pair.set(.tls, to: configuration)
            return pair
        }
        let first = try client(.only(file: path), [name])
        #expect(await failure(of: first) == nil)
        let file = try UnreadableFile(for: name, at: .examines)
        defer { file.release() }
        // Within a second, the files are not examined again.
        TLSContextCache.shared.expire()
        let held = try client(.only(file: path), [name])
        try held.set(.openTimeout, to: .seconds(300))
        let waiting = Task { await failure(of: held) }
        while file.readerCount == 0, !Task.isCancelled { await Task.yield() }
        let late = try client(.only(file: path), [name])
        try late.set(.openTimeout, to: .seconds(2))
        let other = try client(.only([authority.root.certificate]), [])
        #expect(await failure(of: other) == nil)
        let error = try #require(await failure(of: late))
        #expect(error == .timedOut && error.description.contains("reading the trusted certificates"))
        for pair in [first, held, late, other] { pair.close() }
        #expect(await waiting.value == .closed)
        listener.stop(within: .zero)
        try await serving.value
    }

    @Test("a listener reads the certificates of its clients' authorities off the caller's thread")
    func listener() async throws {
        let name = "unreadable-listener"
        let file = try UnreadableFile(for: name)
        defer { file.release() }
        var tls = authority.server
        tls.applicationProtocols = [name]
        tls.clientAuthentication = .required
        tls.trust = authority.client.trust
        var configuration = StreamListener.Configuration()
        configuration.tls = tls
        configuration.handshakeTimeout = .seconds(2)
        let listener = try StreamListener(port: 0, isLocal: true, configuration: configuration)
        #expect(file.readerCount == 0)
        await #expect(throws: StreamError.timedOut) { try await listener.run { _ in } }
        // None if the machine is so busy that the thread has not begun when the time is over: the work is then withdrawn.
        #expect(file.readerCount <= 1 && listener.isStopping)
        await #expect(throws: StreamError.timedOut) { try await listener.reload(tls: tls) }
        let task = Task { try await listener.reload(tls: tls) }
        task.cancel()
        await #expect(throws: StreamError.cancelled) { try await task.value }
    }

    @Test("a listener whose certificates cannot be used stops")
    func unusable() async throws {
        var configuration = StreamListener.Configuration()
        var tls = authority.server
        tls.clientAuthentication = .requested
        tls.trust = .only(file: "/nonexistent")
        configuration.tls = tls
        let listener = try StreamListener(port: 0, isLocal: true, configuration: configuration)
        let failure = try await error { try await listener.run { _ in } }
        #expect(failure.isPOSIX(ENOENT))
        // A reload with them changes nothing.
        configuration.tls = authority.server
        let working = try StreamListener(port: 0, isLocal: true, configuration: configuration)
        let refusal = try await error { try await working.reload(tls: tls) }
        #expect(refusal.isPOSIX(ENOENT))
        working.stop()
    }

    @Test("reading an identity has a time limit and can be cancelled")
    func identity() async throws {
        let path = "/tmp/netkit-identity-\(getpid()).pem"
        let issued = TestAuthority().issue()
        let pem = issued.pem + issued.keyPEM()
        try Data(pem).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        #expect(try await TLSIdentity.read(file: path) == TLSIdentity(pem: pem))
        let absent = try await error { _ = try await TLSIdentity.read(file: "/nonexistent") }
        #expect(absent.isPOSIX(ENOENT))

        let threads = BlockingThreads(limit: 2)
        let blocked = [OneShot<Void>(), OneShot<Void>()]
        let begun = OneShot<Void>()
        defer { for one in blocked { one.provide(()) } }
        await #expect(throws: StreamError.timedOut) {
            try await threads.certificateResult(within: .milliseconds(1)) { _ = try? blocked[0].value() }
        }
        let task = Task {
            try await threads.certificateResult(within: .seconds(60)) {
                begun.provide(())
                _ = try? blocked[1].value()
            }
        }
        try await begun.value()
        task.cancel()
        await #expect(throws: StreamError.cancelled) { try await task.value }
        // One if the first call was withdrawn, because no thread had begun it when its time was over.
        #expect((1...2).contains(threads.threadCount))
    }

    /// With OpenSSL's own handler for the end of the process, this crashed almost always.
    @Test(.timeLimit(.minutes(5))) func aProcessEndsWhileThreadsMakeContexts() async {
        await #expect(processExitsWith: .success) {
            let configuration = TLSConfiguration()
            for _ in 0..<8 {
                let begun = OneShot<Void>()
                Thread.detachNewThread {
                    while (try? TLSContext(configuration)) != nil { begun.provide(()) }
                }
                try await begun.value()
            }
            exit(0)
        }
    }
}
