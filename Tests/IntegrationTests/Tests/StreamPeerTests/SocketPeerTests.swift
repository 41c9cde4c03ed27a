import Dispatch
import Foundation
import HostResolver
import Peers
import StreamKit
import StreamKitTesting
import Testing

/// Our sockets with socat, on either side.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SocketPeerTests {
    private static let text = Array("hello\n".utf8)

    private struct Unexpected: Error {}

    /// The events of a socket, in order.
    private struct Events {
        let record: @Sendable (Socket, SocketEvent) -> Void
        var iterator: AsyncStream<SocketEvent>.Iterator

        init() {
            let (events, continuation) = AsyncStream<SocketEvent>.makeStream()
            record = { continuation.yield($1) }
            iterator = events.makeAsyncIterator()
        }
    }

    private func address(_ port: Int) throws -> SocketAddress { try #require(SocketAddress("127.0.0.1:\(port)")) }

    private func echo(over socket: Socket) async throws {
        try await socket.sendAll(Self.text)
        var received: [UInt8] = []
        while received.count < Self.text.count {
            let message = try await socket.receive(upTo: 100)
            if message.bytes.isEmpty { break }
            received += message.bytes
        }
        #expect(received == Self.text)
        socket.invalidate()
    }

    // Parity: SK-140, SK-149, SK-150 (socat)
    @Test func eachKindOfSocketIsEchoed() async throws {
        let tcp = try await started(Socat(.echo))
        defer { tcp.stop() }
        let unix = try await started(Socat(.echoUnix))
        defer { unix.stop() }
        let udp = try await started(Socat(.echoDatagrams))
        defer { udp.stop() }
        let path = SocketAddress.unix(try UnixSocketAddress(path: try unix.path))
        for (family, type, address) in [
            (SocketFamily.ipv4, SocketType.stream, try address(tcp.port)), (.unix, .stream, path),
            (.ipv4, .datagram, try address(udp.port)),
        ] {
            let socket = try Socket(family, type)
            try await socket.connect(to: address)
            try await echo(over: socket)
            // In the background: the outcome is an event.
            let later = try Socket(family, type)
            var events = Events()
            try later.setClient([.connect], events.record)
            later.schedule(on: .loop(.shared))
            try later.beginConnecting(to: address)
            guard case .connected? = await events.iterator.next() else { throw Unexpected() }
            try later.setClient([], nil)
            try await echo(over: later)
        }
        // Without a connection, each datagram names its peer.
        let socket = try Socket(.ipv4, .datagram)
        let server = try address(udp.port)
        try await socket.sendAll(Self.text, to: server)
        let message = try await socket.receive(upTo: 100)
        #expect(message.bytes == Self.text && message.sender == server)
        socket.invalidate()
    }

    /// A pair to an address, and one to a family, type and protocol.
    // Parity: SK-014 (socat)
    @Test func streamsToASignature() async throws {
        let unix = try await started(Socat(.echoUnix))
        defer { unix.stop() }
        let tcp = try await started(Socat(.echo))
        defer { tcp.stop() }
        let socket = try Socket(.ipv4, .stream, protocol: .tcp)
        try await socket.connect(to: try address(tcp.port))
        for pair in [
            StreamPair(address: .unix(try UnixSocketAddress(path: try unix.path))), try socket.makeStreams(),
        ] {
            try pair.open()
            try await pair.output.writeAll(Self.text)
            var received: [UInt8] = []
            while received.count < Self.text.count { received += try await pair.input.read(upTo: 100) }
            #expect(received == Self.text)
            pair.close()
        }
        #expect(!socket.isValid)
    }

    // Parity: SK-144, SK-145, SK-156 (socat)
    @Test(arguments: ["TCP4:127.0.0.1", "TCP6:[::1]"])
    func clientsOfBothFamiliesAreAccepted(_ peer: String) async throws {
        let listeners = try Socket.listeners(onPort: 0, isLocal: true)
        defer { listeners.forEach { $0.invalidate() } }
        let port = try #require(listeners.first?.localAddress?.port)
        var arrivals = Events()
        for listener in listeners {
            try listener.setClient([.accept], arrivals.record)
            listener.schedule(on: .queue(DispatchQueue(label: "accept")))
        }
        // socat ends its output after the input, and prints what it receives.
        async let result = Command(Program("socat"), ["-t", "60", "-", "\(peer):\(port)"], input: Self.text).run()
        guard case .accepted(let socket)? = await arrivals.iterator.next() else { throw Unexpected() }
        var events = Events()
        try socket.setClient([.data], events.record)
        socket.schedule(on: .queue(DispatchQueue(label: "data")))
        var received: [UInt8] = []
        while case .data(let message)? = await events.iterator.next() {
            received += message.bytes
            if message.bytes.isEmpty { break }  // the end, as one last event without bytes
        }
        #expect(received == Self.text)
        try socket.setClient([], nil)
        try await socket.sendAll(Array("bye\n".utf8))
        socket.invalidate()
        #expect(try await result.text == "bye\n")
    }

    // Parity: SK-146, SK-147 (socat)
    @Test func eventsCanBeSwitched() async throws {
        let server = try await started(Socat(.echo))
        defer { server.stop() }
        let socket = try Socket()
        try await socket.connect(to: try address(server.port))
        var events = Events()
        try socket.setClient([.data, .write], events.record)
        socket.disable([.data])
        socket.schedule(on: .queue(DispatchQueue(label: "events")))
        guard case .writable? = await events.iterator.next() else { throw Unexpected() }
        // The echo arrives while its events are disabled; the next event is again that of writing, once it is enabled.
        try await socket.sendAll(Self.text)
        socket.enable([.write])
        guard case .writable? = await events.iterator.next() else { throw Unexpected() }
        socket.enable([.data])
        guard case .data(let message)? = await events.iterator.next() else { throw Unexpected() }
        #expect(message.bytes == Self.text)
        socket.invalidate()
    }

    /// The packets' DSCP as a raw socket sees it, on both families (RFC 8325: voice is 46, EF).
    // Parity: SK-060 (Linux, python3)
    @Test(arguments: ["127.0.0.1", "::1"])
    func theServiceTypeIsInThePackets(_ host: String) async throws {
        let server = try await started(Socat(.shell("cat"), at: host))
        defer { server.stop() }
        let sniffer = LineProgram(
            "/usr/bin/python3",
            [
                "-c",
                """
                import socket, struct
                s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)); s.bind(("lo", 0))
                print("ready", flush=True)
                while True:
                    p = s.recv(65535)
                    six = p[0] >> 4 == 6
                    tos = (struct.unpack("!H", p[:2])[0] >> 4) & 255 if six else p[1]
                    head = 40 if six else (p[0] & 15) * 4
                    if (p[6] if six else p[9]) == 6 and struct.unpack("!H", p[head + 2:head + 4])[0] == \(server.port):
                        print("dscp", tos >> 2, flush=True)
                """,
            ])
        try sniffer.start()
        defer { sniffer.stop() }
        #expect(await sniffer.says("ready"), "\(sniffer.log)")
        let pair = StreamPair(host: host, port: UInt16(server.port))
        try pair.set(.serviceType, to: .voice)
        try pair.open()
        try await pair.output.writeAll(Self.text)
        #expect(try await pair.input.read(upTo: 100) == Self.text)
        pair.close()
        #expect(await sniffer.says("dscp 46", times: 3), "\(sniffer.log)")
        #expect(!sniffer.log.contains("dscp 0\n"), "\(sniffer.log)")
    }

    // MARK: TLS

    /// s_server sends its second certificate to clients that name `localhost`, otherwise the first.
    // Parity: SK-094, SK-099 (openssl)
    @Test(arguments: [false, true])
    func opensslSeesTheNameAndWeSeeItsCertificate(_ sendsName: Bool) async throws {
        let authority = try CertificateAuthority.shared()
        let (first, second) = (authority.server(.wrongHost), authority.server(.good))
        let server = try await started(
            OpenSSLServer(
                .statusPage, identity: first,
                options: ["-servername", "localhost", "-cert2", second.chain, "-key2", second.key]))
        defer { server.stop() }
        let pair = StreamPair(host: "localhost", port: UInt16(server.port))
        try pair.set(
            .tls,
            to: try trustingPeers { tls in
                tls.verification = .insecureNone
                if !sendsName { tls.serverNameIndication = .off }
            })
        try pair.open()
        try await pair.output.opened()
        let chain = try #require(pair[.tlsInformation]?.peerCertificates)
        let leaf = try await Command(
            "openssl", "x509", "-in", sendsName ? second.chain : first.chain, "-outform", "DER"
        ).run()
        #expect(chain.first?.der == leaf.output)
        pair.close()
    }

    /// Whether a handshake succeeds; a failure is one of TLS.
    private func isAccepted(_ server: OpenSSLServer, _ tls: TLSConfiguration) async throws -> Bool {
        let pair = StreamPair(host: "localhost", port: UInt16(server.port))
        defer { pair.close() }
        try pair.set(.tls, to: tls)
        try pair.open()
        do throws(StreamError) {
            try await pair.output.opened()
            return true
        } catch {
            #expect(error.domain == .ssl, "\(error)")
            return false
        }
    }

    enum Relaxation: CaseIterable {
        case expired
        case anyRoot
        case noNameCheck
        case nothing
    }

    // Parity: SK-096 (openssl)
    @Test(arguments: Relaxation.allCases)
    func eachRelaxationAcceptsItsFault(_ relaxation: Relaxation) async throws {
        let certificate: ServerCertificate =
            switch relaxation {
            case .expired: .expired
            case .anyRoot: .unknownRoot
            case .noNameCheck: .wrongHost
            case .nothing: .selfSigned
            }
        let server = try await started(OpenSSLServer(.statusPage, certificate: certificate))
        defer { server.stop() }
        for isRelaxed in [false, true] {
            let tls = try trustingPeers { tls in
                guard isRelaxed else { return }
                switch relaxation {
                case .expired: tls.insecureAllowsExpiredCertificates = true
                case .anyRoot: tls.insecureAllowsAnyRoot = true
                case .noNameCheck: tls.verification = .insecureNoNameCheck
                case .nothing: tls.verification = .insecureNone
                }
            }
            #expect(try await isAccepted(server, tls) == isRelaxed)
        }
    }

    /// An expired root, which made the server's certificate, is accepted on request only.
    // Parity: SK-096 (faketime, openssl)
    @Test func anExpiredRootIsAcceptedOnRequest() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("root-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("subjectAltName=DNS:localhost\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/names"))
        let script = """
            cd "$0"
            new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
            faketime '2020-01-01 00:00:00' openssl req -x509 $new -keyout ca.key -out ca.pem -days 30 -subj '/CN=old root'
            openssl req $new -keyout leaf.key -out leaf.csr -subj /CN=localhost
            openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out leaf.pem
            """
        let made = try await Command("sh", "-ec", script, folder).run()
        #expect(made.status == 0, "\(made.text)")
        var identity = try CertificateAuthority.shared().server(.good)
        identity.chain = "\(folder)/leaf.pem"
        identity.key = "\(folder)/leaf.key"
        let server = try await started(OpenSSLServer(.statusPage, identity: identity))
        defer { server.stop() }
        for isRelaxed in [false, true] {
            var tls = TLSConfiguration()
            tls.trust = .only(file: "\(folder)/ca.pem")
            tls.insecureAllowsExpiredRoots = isRelaxed
            #expect(try await isAccepted(server, tls) == isRelaxed)
        }
    }
}
