import EventLoops
@_spi(Packages) import FTPStream
import Glibc
import HTTPMessage
import HostResolver
@_spi(Packages) import NetKit
import StreamKitTesting
import Testing

@testable import StreamCore
@testable import StreamKit
@testable import StreamSockets

/// The observable effect of a property: bytes on the wire, a socket option, a limit that was reached.
struct PropertyEffect: Sendable {
    struct Cell: Sendable, CustomTestStringConvertible {
        let property: String
        let kind: String
        var testDescription: String { "\(property) of \(kind)" }
    }

    let property: String
    let kinds: [String]
    /// Sets the property on a stream of the kind and observes the effect.
    let observe: @Sendable (_ kind: String) async throws -> Bool

    init(
        _ property: String, of kinds: [StreamKind], _ observe: @escaping @Sendable (String) async throws -> Bool
    ) {
        self.property = property
        self.kinds = kinds.map(\.name)
        self.observe = observe
    }

    static let cells = all.flatMap { effect in effect.kinds.map { Cell(property: effect.property, kind: $0) } }
}

extension KindFixture {
    static func make(_ kind: String) throws -> Fixture {
        try #require(all.first { $0.kind.name == kind }).make()
    }
}

extension NetworkKind {
    fileprivate static func named(_ kind: String) throws -> NetworkKind {
        try #require(all.first { $0.kind.name == kind })
    }
}

extension Subject {
    /// Opens the stream, or starts an operation of a client; does not wait.
    func begin() throws {
        guard case .client(let client) = self else { return try open() }
        Task { _ = try? await client.command(try Subject.noop()) }
    }
}

// MARK: - The observations

extension PropertyEffect {
    private static let ftp = StreamKind.ofFTPStream
    static let connecting = NetworkKind.all.map(\.kind)
    /// Makes an effect that socket options show.
    private static let proxied = connecting.filter { $0.honours(.proxies) }

    static let all: [PropertyEffect] = sockets + limits + ways + local + ofFTP + ofHTTP + logging

    // MARK: Options of the socket

    /// The local end of the connection of a stream with a property.
    private static func socket(
        _ kind: String, _ set: (Subject) throws -> Void, _ look: (Int32) -> Bool
    ) async throws -> Bool {
        if kind == StreamKind.accepted.name { return try await acceptedSocket(set, look) }
        let peer = try SilentPeer()
        let subject = try NetworkKind.named(kind).make("127.0.0.1", peer.port, false)
        try set(subject)
        defer { subject.close() }
        try subject.begin()
        let (pair, address) = try await peer.accept()
        defer { pair.close() }
        // Connections to several peers may have the same local port.
        let descriptor = try #require(
            (0..<4096).first { Syscalls.localAddress($0) == address && Syscalls.peerAddress($0)?.port == peer.port })
        return look(descriptor)
    }

    /// The same for a listener's configuration.
    private static func acceptedSocket(
        _ set: (Subject) throws -> Void, _ look: (Int32) -> Bool
    ) async throws -> Bool {
        let (descriptor, listener) = try KindFixture.connectedSocket()
        var properties = StreamProperties()
        // A stream copies the values to the configuration's properties.
        let carrier = StreamPair(host: "127.0.0.1", port: listener.port)
        try set(.pair(carrier))
        properties.merge(carrier.input.connection.withDetails { $0.properties })
        let accepted = Socket.Accepted(descriptor: descriptor, peer: .ip(.v4(.loopback), port: listener.port))
        let pair = StreamPair(accepted, properties, loop: .shared)
        defer { pair.close() }
        try pair.open()
        return look(descriptor)
    }

    private static func option(_ descriptor: Int32, _ level: Int32, _ option: Int32) -> Int32 {
        var value: Int32 = -1
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, level, option, &value, &size)
        return value
    }

    private static let sockets = [
        PropertyEffect("keepsAlive", of: connecting + [.accepted]) { kind in
            // FTP enables it by default.
            let wanted = !ftp.contains { $0.name == kind }
            return try await socket(kind) {
                try $0.set(.keepsAlive, to: wanted)
            } _: {
                (option($0, SOL_SOCKET, SO_KEEPALIVE) == 1) == wanted
            }
        },
        PropertyEffect("sendsAtOnce", of: connecting + [.accepted]) { kind in
            try await socket(kind) {
                try $0.set(.sendsAtOnce, to: false)
            } _: {
                option($0, Int32(IPPROTO_TCP), TCP_NODELAY) == 0
            }
        },
        PropertyEffect("serviceType", of: connecting + [.accepted]) { kind in
            try await socket(kind) {
                try $0.set(.serviceType, to: .voice)
            } _: {
                option($0, Int32(IPPROTO_IP), IP_TOS) == 46 << 2
            }
        },
        PropertyEffect("localAddress", of: connecting + [.unixSocket]) { kind in
            if kind == StreamKind.unixSocket.name {
                let own = SocketAddress.unix(
                    try UnixSocketAddress(abstractName: "netkit-own-\(UInt64.random(in: 0...(.max)))"))
                let fixture = try KindFixture.make(kind)
                try fixture.subject.set(.localAddress, to: own)
                try fixture.subject.open()
                return await fixture.subject.failureOfOpening() == nil && fixture.subject.value(.localAddress) == own
            }
            let own = SocketAddress.ip(.v4(try #require(IPv4Address("127.0.0.9"))), port: 0)
            return try await socket(kind) {
                try $0.set(.localAddress, to: own)
            } _: {
                Syscalls.localAddress($0)?.ipAddress == own.ipAddress
            }
        },
        PropertyEffect("failsWhenAddressIsRemoved", of: connecting + [.socket, .accepted]) { kind in
            if kind == StreamKind.socket.name {
                let fixture = try KindFixture.make(kind)
                try fixture.subject.set(.failsWhenAddressIsRemoved, to: true)
                try fixture.subject.open()
                let own = fixture.subject.value(.localAddress)
                return LocalAddressMonitor.shared.watches(try #require(own))
            }
            var watched: SocketAddress?
            let isFound = try await socket(kind) {
                try $0.set(.failsWhenAddressIsRemoved, to: true)
            } _: {
                watched = Syscalls.localAddress($0)
                // The address is watched once the stream is open, which may be slightly later.
                while let watched, !LocalAddressMonitor.shared.watches(watched) { sched_yield() }
                return watched != nil
            }
            return isFound
        },
        PropertyEffect(
            "closesDescriptor", of: [.descriptor, .socket, .accepted, .host, .address, .unixSocket, .found, .layer]
        ) { kind in
            let fixture = try KindFixture.make(kind)
            try fixture.subject.set(.closesDescriptor, to: false)
            try fixture.subject.open()
            if kind != StreamKind.layer.name { _ = await fixture.subject.failureOfOpening() }
            let descriptor = try #require(fixture.subject.value(.nativeDescriptor))
            var (before, after) = (stat(), stat())
            fstat(descriptor, &before)
            fixture.subject.close()
            defer { close(descriptor) }
            return fstat(descriptor, &after) == 0 && before.st_ino == after.st_ino
        },
    ]

    // MARK: Limits

    private static let limits = [
        PropertyEffect(
            "readTimeout",
            of: connecting.filter { $0.honours(.readTimeout) } + [
                .readFile, .boundInput, .descriptor, .socket, .accepted, .unixSocket, .transport, .readTransport,
                .layer,
            ]
        ) { kind in
            var fixture = try KindFixture.make(kind)
            if kind == StreamKind.readFile.name {
                // A FIFO without a writer.
                let file = try ScratchFile()
                unlink(file.path)
                try #require(mkfifo(file.path, 0o600) == 0)
                fixture = Fixture(.reader(ReadStream(path: file.path)), keeping: file)
            }
            try fixture.subject.set(.readTimeout, to: .milliseconds(1))
            try fixture.subject.open()
            return await fixture.subject.failureOfReading() == .timedOut
        },
        PropertyEffect(
            "writeTimeout",
            of: connecting.filter { $0.honours(.writeTimeout) } + [
                .writtenFile, .boundOutput, .descriptor, .socket, .accepted, .unixSocket, .transport,
                .writtenTransport, .layer,
            ]
        ) { kind in
            var fixture = try KindFixture.make(kind)
            var ends: [Int32] = [-1, -1]
            defer { for end in ends where end >= 0 { close(end) } }
            if kind == StreamKind.writtenFile.name {
                // A FIFO whose reader does not read.
                let file = try ScratchFile()
                unlink(file.path)
                try #require(mkfifo(file.path, 0o600) == 0)
                ends[0] = Glibc.open(file.path, O_RDONLY | O_NONBLOCK)
                fixture = Fixture(.writer(WriteStream(path: file.path)), keeping: file)
            } else if kind == StreamKind.descriptor.name {
                try #require(pipe(&ends) == 0)
                fixture = Fixture(.pair(StreamPair(descriptor: ends[1], ownership: .borrowed)))
            }
            try fixture.subject.set(.writeTimeout, to: .milliseconds(1))
            try fixture.subject.open()
            return await fixture.subject.failureOfWriting() == .timedOut
        },
        PropertyEffect(
            "openTimeout",
            of: connecting + [
                .socket, .accepted, .unixSocket, .transport, .readTransport, .writtenTransport, .layer,
            ]
        ) { kind in
            var fixture = try KindFixture.make(kind)
            switch kind {
            case StreamKind.readTransport.name:
                fixture = Fixture(.reader(ReadStream(transport: NeverOpening())))
            case StreamKind.writtenTransport.name:
                fixture = Fixture(.writer(WriteStream(transport: NeverOpening())))
            case StreamKind.layer.name: break
            default:
                if let network = NetworkKind.all.first(where: { $0.kind.name == kind }) {
                    let peer = try SilentPeer()
                    fixture = Fixture(try network.make("127.0.0.1", peer.port, true), keeping: peer)
                } else {
                    try fixture.subject.set(.tls, to: named)
                }
            }
            try fixture.subject.set(.openTimeout, to: .milliseconds(1))
            try? fixture.subject.open()  // the limit may have passed by then
            return await fixture.subject.failureOfOpening()?.isPOSIX(ETIMEDOUT) == true
        },
    ]

    static let named: TLSConfiguration = {
        var configuration = TLSConfiguration()
        configuration.peerName = "peer.test"
        configuration.applicationProtocols = ["witness/1"]
        return configuration
    }()

    // MARK: The route to the peer

    /// The bytes that the first peer receives from a stream with properties.
    private static func greeting(
        _ kind: String, host: String = "127.0.0.1", isSecure: Bool = false, says: String = "",
        _ set: (Subject, SilentPeer) throws -> Void
    ) async throws -> [UInt8] {
        let peer = try SilentPeer()
        let subject = try NetworkKind.named(kind).make(host, peer.port, isSecure)
        defer { subject.close() }
        try set(subject, peer)
        try subject.begin()
        let (pair, _) = try await peer.accept()
        defer { pair.close() }
        if !says.isEmpty { try await pair.output.writeAll(Array(says.utf8)) }
        return try await pair.input.read(upTo: 4096)
    }

    private static func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains(text)
    }

    private static let ways = [
        PropertyEffect("tls", of: connecting + [.socket, .accepted, .unixSocket, .transport]) { kind in
            if ftp.contains(where: { $0.name == kind }) {
                let bytes = try await greeting(kind, says: "220 ready\r\n") { subject, _ in
                    try subject.set(.tls, to: named)
                }
                return contains(bytes, "AUTH TLS")
            }
            if connecting.contains(where: { $0.name == kind }) {
                // An https URL enables TLS; the property configures it.
                let isHTTP = kind == StreamKind.http.name
                let bytes = try await greeting(kind, isSecure: isHTTP) { subject, _ in try subject.set(.tls, to: named)
                }
                return bytes.first == 0x16 && contains(bytes, "witness/1")
            }
            var fixture = try KindFixture.make(kind)
            if kind != StreamKind.transport.name {
                let (first, peer) = try KindFixture.sockets()
                let pair =
                    kind == StreamKind.accepted.name
                    ? StreamPair(Socket.Accepted(descriptor: first, peer: nil), StreamProperties(), loop: .shared)
                    : StreamPair(descriptor: first, ownership: .owned)
                fixture = Fixture(.pair(pair), peer: peer)
            }
            if kind == StreamKind.unixSocket.name {
                let address = SocketAddress.unix(
                    try UnixSocketAddress(abstractName: "netkit-tls-\(UInt64.random(in: 0...(.max)))"))
                let listener = try Socket(listeningAt: address)
                let pair = StreamPair(address: address)
                try pair.set(.tls, to: named)
                try pair.open()
                let peer = try await listener.accept().makeStreams()
                try peer.open()
                let bytes = try await peer.input.read(upTo: 4096)
                pair.close()
                return bytes.first == 0x16
            }
            try fixture.subject.set(.tls, to: named)
            try fixture.subject.open()
            let bytes = try await #require(fixture.peer).input.read(upTo: 4096)
            return bytes.first == 0x16 && contains(bytes, "witness/1")
        },
        PropertyEffect("socksProxy", of: proxied) { kind in
            let bytes = try await greeting(kind, host: "origin.test") { subject, peer in
                try subject.set(.socksProxy, to: SOCKSProxy(host: "127.0.0.1", port: peer.port))
            }
            return bytes.first == 5
        },
        PropertyEffect("proxies", of: proxied) { kind in
            let bytes = try await greeting(kind, host: "origin.test") { subject, peer in
                try subject.set(.proxies, to: [ProxyRoute(SOCKSProxy(host: "127.0.0.1", port: peer.port))])
            }
            return bytes.first == 5
        },
        PropertyEffect("resolver", of: proxied) { kind in
            let resolver = ListedResolver([.v4(.loopback)])
            // An address needs no lookup; the name of a proxy does.
            let isAddress = kind == StreamKind.address.name
            let peer = try SilentPeer()
            let subject = try NetworkKind.named(kind).make("named.test", peer.port, false)
            defer { subject.close() }
            try subject.set(.resolver, to: resolver)
            if isAddress {
                try subject.set(.proxies, to: [ProxyRoute(SOCKSProxy(host: "named.test", port: peer.port))])
            }
            try subject.begin()
            try await peer.accept().pair.close()
            return resolver.names.withLock { $0 }.contains("named.test")
        },
        PropertyEffect("attemptDelay", of: connecting) { kind in
            // The first address does not respond: its queue is full.
            let full = try Socket(listeningAt: .ip(.v4(.loopback), port: 0), backlog: 0)
            defer { full.invalidate() }
            let address = try #require(full.localAddress)
            let filler = try await Socket.connected(to: address)
            defer { filler.invalidate() }
            let port = try #require(address.port)
            let other = try #require(IPv4Address("127.0.0.2"))
            let listener = try Socket(listeningAt: .ip(.v4(other), port: port))
            defer { listener.invalidate() }
            let addresses: [IPAddress] = [.v4(.loopback), .v4(other)]
            let subject: Subject
            switch kind {
            case StreamKind.address.name:
                subject = .pair(StreamPair(addresses: addresses.map { .ip($0, port: port) }, name: "named.test"))
            case StreamKind.found.name:
                subject = .pair(StreamPair(finder: KnownPlaces(addresses: addresses.map { .ip($0, port: port) })))
            default:
                subject = try NetworkKind.named(kind).make("named.test", port, false)
                try subject.set(.resolver, to: ListedResolver(addresses))
            }
            defer { subject.close() }
            // With the default delay, only the first would be tried within the time limit of the test.
            try subject.set(.attemptDelay, to: .seconds(3600))
            try subject.set(.openTimeout, to: .milliseconds(20))
            var early: StreamError?
            try? subject.open()
            early = await subject.failureOfOpening()
            guard early?.isPOSIX(ETIMEDOUT) == true, try listener.tryAccept() == nil else { return false }
            let again: Subject
            switch kind {
            case StreamKind.address.name:
                again = .pair(StreamPair(addresses: addresses.map { .ip($0, port: port) }, name: "named.test"))
            case StreamKind.found.name:
                again = .pair(StreamPair(finder: KnownPlaces(addresses: addresses.map { .ip($0, port: port) })))
            default:
                again = try NetworkKind.named(kind).make("named.test", port, false)
                try again.set(.resolver, to: ListedResolver(addresses))
            }
            defer { again.close() }
            try again.set(.attemptDelay, to: .milliseconds(1))
            try again.begin()
            try await listener.accept().invalidate()
            return true
        },
    ]

    // MARK: Files

    private static let local = [
        PropertyEffect("fileOffset", of: [.readFile, .writtenFile]) { kind in
            let file = try ScratchFile("0123456789")
            if kind == StreamKind.readFile.name {
                let stream = ReadStream(path: file.path)
                try stream.set(.fileOffset, to: 8)
                try stream.open()
                return try await stream.readAll(limit: 10) == Array("89".utf8)
            }
            let stream = WriteStream(path: file.path)
            try stream.set(.fileOffset, to: 8)
            try stream.open()
            try await stream.writeAll(Array("ab".utf8))
            stream.close()
            return file.content == "01234567ab"
        },
        PropertyEffect("appendToFile", of: [.writtenFile]) { _ in
            let file = try ScratchFile("0123")
            let stream = WriteStream(path: file.path)
            try stream.set(.appendToFile, to: true)
            try stream.open()
            try await stream.writeAll(Array("ab".utf8))
            stream.close()
            return file.content == "0123ab"
        },
    ]

    // MARK: FTP

    /// The commands that an FTP server receives from a stream that completes its work.
    private static func dialogue(
        _ kind: String, host: String = "127.0.0.1", _ server: ScriptedFTPServer = ScriptedFTPServer(),
        _ set: (Subject, UInt16) throws -> Void
    ) async throws -> [String] {
        let port = try server.start()
        let subject = try NetworkKind.named(kind).make(host, host == "127.0.0.1" ? port : 21, false)
        try subject.set(.ftp(\.pool), to: FTPSessionPool())
        try set(subject, port)
        await subject.work { !server.awaitsKeepAlive || server.commands.contains("NOOP") }
        server.stop()
        return server.commands
    }

    private static func sends(
        _ property: String, of kinds: [StreamKind] = ftp, _ command: String,
        by server: @escaping @Sendable () -> ScriptedFTPServer = { ScriptedFTPServer() }, host: String = "127.0.0.1",
        _ set: @escaping @Sendable (Subject, UInt16) throws -> Void
    ) -> PropertyEffect {
        PropertyEffect(property, of: kinds) { kind in
            try await dialogue(kind, host: host, server(), set).contains { $0.hasPrefix(command) }
        }
    }

    private static let transfers = ftp.filter { $0.honours(.ftp(\.keepAlive)) }

    private static let ofFTP = [
        sends(#"ftp(\.userName)"#, "USER ann") { subject, _ in try subject.set(.ftp(\.userName), to: "ann") },
        sends(#"ftp(\.password)"#, "PASS secret") { subject, _ in
            try subject.set(.ftp(\.userName), to: "ann")
            try subject.set(.ftp(\.password), to: "secret")
        },
        sends(#"ftp(\.account)"#, "ACCT books", by: { ScriptedFTPServer(wantsAccount: true) }) { subject, _ in
            try subject.set(.ftp(\.account), to: "books")
        },
        sends(#"ftp(\.proxy)"#, "USER anonymous@elsewhere.test", host: "elsewhere.test") { subject, port in
            try subject.set(.ftp(\.proxy), to: FTPProxy(host: "127.0.0.1", port: port))
        },
        sends(#"ftp(\.security)"#, "AUTH TLS") { subject, _ in try subject.set(.ftp(\.security), to: .required) },
        sends(#"ftp(\.usesPassiveMode)"#, of: transfers, "EPRT") { subject, _ in
            try subject.set(.ftp(\.usesPassiveMode), to: false)
        },
        sends(#"ftp(\.passiveModeDefault)"#, of: transfers, "EPRT") { subject, _ in
            try subject.set(.ftp(\.passiveModeDefault), to: false)
        },
        sends(#"ftp(\.keepAlive)"#, of: transfers, "NOOP", by: { ScriptedFTPServer(awaitsKeepAlive: true) }) {
            subject, _ in
            try subject.set(.ftp(\.keepAlive), to: .milliseconds(1))
        },
        sends(#"ftp(\.transferOffset)"#, of: [.readFTPFile, .writtenFTPFile, .ftpClient], "REST 3") { subject, _ in
            try subject.set(.ftp(\.transferOffset), to: 3)
        },
        sends(#"ftp(\.transfersText)"#, of: [.readFTPFile, .writtenFTPFile, .ftpClient], "TYPE A") { subject, _ in
            try subject.set(.ftp(\.transfersText), to: true)
        },
        sends(#"ftp(\.appends)"#, of: [.writtenFTPFile, .ftpClient], "APPE file") { subject, _ in
            try subject.set(.ftp(\.appends), to: true)
        },
        sends(#"ftp(\.fetchesResourceInfo)"#, of: [.readFTPFile, .ftpClient], "SIZE file") { subject, _ in
            try subject.set(.ftp(\.fetchesResourceInfo), to: true)
        },
        sends(#"ftp(\.listingCommand)"#, of: [.ftpListing, .ftpClient], "NLST") { subject, _ in
            try subject.set(.ftp(\.listingCommand), to: .names)
        },
        PropertyEffect(#"ftp(\.pool)"#, of: ftp) { kind in
            let pool = FTPSessionPool()
            _ = try await dialogue(kind) { subject, _ in try subject.set(.ftp(\.pool), to: pool) }
            return pool.idleCount == 1
        },
        PropertyEffect(#"ftp(\.keepsConnection)"#, of: ftp) { kind in
            let pool = FTPSessionPool()
            let commands = try await dialogue(kind) { subject, _ in
                try subject.set(.ftp(\.pool), to: pool)
                try subject.set(.ftp(\.keepsConnection), to: false)
            }
            return pool.idleCount == 0 && commands.contains { $0.hasPrefix("USER") }
        },
        PropertyEffect(#"ftp(\.replyTimeout)"#, of: ftp) { kind in
            let fixture = try KindFixture.make(kind)
            try fixture.subject.set(.ftp(\.replyTimeout), to: .milliseconds(1))
            try? fixture.subject.open()  // the limit may have passed by then
            return await fixture.subject.failureOfOpening()?.isPOSIX(ETIMEDOUT) == true
        },
    ]
}
