import EventLoops
import FTPStream
import Foundation
import Glibc
import Peers
import StreamKitTesting
import Testing

/// Servers that lie, stall or attack. Data connections go to a separate server.
struct SecurityTests {
    /// A server that accepts any login, names a port for data, and then runs `body` with the control connection.
    private func server(
        dataPort: Int, _ body: @escaping @Sendable (ScriptedConnection) throws(PeerError) -> Void
    ) throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            try connection.read(until: "\r\n")  // USER
            try connection.send("230 In.\r\n")
            try connection.read(until: "\r\n")  // FEAT
            try connection.send("500 No.\r\n")
            try connection.read(until: "\r\n")  // TYPE
            try connection.send("200 OK.\r\n")
            try connection.expect("EPSV\r\n")
            try connection.send("229 Extended (|||\(dataPort)|)\r\n")
            try connection.read(until: "\r\n")  // RETR or STOR
            try body(connection)
        }
    }

    private func reader(_ server: ScriptedServer) throws -> ReadStream {
        let stream = try ReadStream(ftpURL: url("ftp://127.0.0.1:\(server.port)/x"))
        try stream.set(.ftp(\.pool), to: FTPSessionPool())
        return stream
    }

    private func failure(_ stream: ReadStream) async -> StreamError? {
        await #expect(throws: StreamError.self) { try await Style.async.readAll(stream) }
    }

    @Test("CVE-2021-22947: plaintext replies from before TLS are discarded")
    func bytesBeforeTheHandshakeAreRefused() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            try connection.expect("AUTH TLS\r\n")
            try connection.send("234 Go.\r\n230 You are in.\r\n")
            try connection.readToEnd()
        }
        let stream = try reader(server)
        try stream.set(.ftp(\.security), to: .required)
        let error = await failure(stream)
        #expect((error?.underlying as? FTPError)?.code == .notSecure)
    }

    /// CCC: bytes that follow the reply within TLS would be read as the reply to the first plaintext command.
    @Test func bytesAfterTheReplyToCCCAreRefused() async throws {
        let authority = try CertificateAuthority.shared()
        let identity = authority.server(.good)
        var configuration = StreamListener.Configuration()
        configuration.tls = TLSConfiguration(server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
        let listener = try StreamListener(port: 0, isLocal: true, configuration: configuration)
        let serving = Task {
            try await listener.run { client in
                var answer = "220 Hi.\r\n"
                while (try? await client.output.writeAll(Array(answer.utf8))) != nil,
                    let command = try? await client.input.read(upTo: 100), !command.isEmpty
                {
                    answer =
                        switch command.prefix(3) {
                        case Array("USE".utf8)[...]: "230 In.\r\n"
                        case Array("CCC".utf8)[...]: "200 Clear.\r\n257 And more.\r\n"
                        default: "200 OK.\r\n"
                        }
                }
            }
        }
        var security = FTPSecurity(control: .implicit)
        security.configuration.trust = .only(file: authority.root)
        security.clearsControl = true
        let stream = try ReadStream(ftpURL: url("ftp://localhost:\(listener.port ?? 0)/x"))
        try stream.set(.ftp(\.pool), to: FTPSessionPool())
        try stream.set(.ftp(\.security), to: security)
        let error = await failure(stream)
        #expect((error?.underlying as? FTPError)?.sentence.key == "ftp.endlessTLS", "\(error.debugDescription)")
        listener.stop()
        try await serving.value
    }

    @Test(
        "CVE-2018-1000300, CVE-2000-0973: replies that are too long, endless or missing",
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n\r\n", FTPError.Code.notAReply),
            ("220-" + String(repeating: "x", count: 10_000), .replyTooLong),
            ("220-x\r\n" + String(repeating: "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n", count: 3000), .replyTooLong),
            ("421 Too many users.\r\n", .connectionLost), ("", .connectionLost),
            ("220 \0\u{7F}\r\n530 No.\r\n", .loginRefused),
        ])
    func invalidGreetingsAreErrors(_ greeting: String, _ code: FTPError.Code) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send(greeting)
        }
        let error = await failure(try reader(server))
        // A server that disconnects at once may appear as a reset.
        #expect((error?.underlying as? FTPError)?.code == code || (error?.domain == .posix && code == .connectionLost))
    }

    // Parity: FT-045
    @Test func aSilentServerIsATimeout() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in try connection.readToEnd() }
        for style in Style.allCases {
            let stream = try reader(server)
            try stream.set(.ftp(\.replyTimeout), to: .milliseconds(50))
            let error = await #expect(throws: StreamError.self) { try await style.readAll(stream) }
            #expect(error?.isPOSIX(ETIMEDOUT) == true)
        }
    }

    /// The server names a port without a listener and then is silent: the error names the data connection.
    @Test func anUnreachableDataPortIsTheError() async throws {
        let data = try RefusedPort()
        let server = try server(dataPort: Int(data.port)) { connection throws(PeerError) in try connection.readToEnd() }
        let stream = try reader(server)
        try stream.set(.ftp(\.replyTimeout), to: .milliseconds(500))
        let error = await failure(stream)
        #expect(error?.isPOSIX(ECONNREFUSED) == true)
    }

    /// All data arrived, and then the control connection ended without a final reply.
    // Parity: FT-058
    @Test func aMissingFinalReplyIsAnError() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send([1, 2, 3]) }
        let server = try server(dataPort: data.port) { connection throws(PeerError) in
            try connection.send("150 Here.\r\n")
        }
        let error = await failure(try reader(server))
        #expect(error?.isPOSIX(ENOTCONN) == true)
    }

    /// Everything was sent, and the server reports at the very end that there is no space.
    @Test(arguments: Style.allCases)
    func aRefusalAfterTheUploadIsAnError(_ style: Style) async throws {
        let isReceived = Signal()
        let data = try ScriptedServer { connection throws(PeerError) in
            try connection.readToEnd()
            isReceived.fire()
        }
        let server = try server(dataPort: data.port) { connection throws(PeerError) in
            try connection.send("150 Go on.\r\n")
            try connection.wait(for: isReceived)
            try connection.send("452 Disk full.\r\n")
            try connection.readToEnd()
        }
        let stream = try WriteStream(ftpURL: url("ftp://127.0.0.1:\(server.port)/x"))
        try stream.set(.ftp(\.pool), to: FTPSessionPool())
        let error = await #expect(throws: StreamError.self) { try await style.writeAll(patterned(50_000), to: stream) }
        #expect(error?.domain == .ftp && error?.code == 452, "\(error.debugDescription)")
    }

    // MARK: Data connections

    private static let foreign = [
        "10,0,0,1", "192,0,2,1", "169,254,169,254", "255,255,255,255", "0,0,0,0", "127,0,0,2",
    ]

    // Parity: FT-055
    @Test(
        "CVE-2020-8284, CVE-2021-4189, CVE-2026-8328: the address in the reply to PASV is ignored",
        arguments: foreign)
    func theAddressInTheReplyToPASVIsIgnored(_ address: String) async throws {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send([1, 2, 3]) }
        let port = data.port
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in [
                "230 In.", "500 No.", "200 OK.", "500 No EPSV.", "227 (\(address),\(port >> 8),\(port & 255))",
                "150 Here.",
            ] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            try connection.send("226 Done.\r\n")
            try connection.readToEnd()
        }
        #expect(try await Style.async.readAll(reader(server)) == [1, 2, 3])
    }

    @Test("CVE-2020-8284: an address in the reply to EPSV is ignored")
    func anAddressInTheReplyToEPSVIsIgnored() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send([1, 2, 3]) }
        let port = data.port
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in ["230 In.", "500 No.", "200 OK.", "229 (|1|192.0.2.1|\(port)|)", "150 Here.\r\n226 Done."] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            try connection.readToEnd()
        }
        #expect(try await Style.async.readAll(reader(server)) == [1, 2, 3])
    }

    @Test("Data connection stealing: in active mode only the server's own address is accepted")
    func foreignDataConnectionsAreRejected() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in ["230 In.", "500 No.", "200 OK."] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            // EPRT |1|127.0.0.1|4711|
            let words = try connection.read(until: "\r\n").split(separator: "|")
            guard words.count >= 4, words[2] == "127.0.0.1", let port = UInt16(words[3]) else {
                throw PeerError(.refused, "no EPRT: \(words)")
            }
            try connection.send("200 OK.\r\n")
            try connection.read(until: "\r\n")
            try connection.send("150 Here.\r\n")
            let thief = try connected(to: port, from: "127.0.0.2")
            _ = write(thief, "stolen", 6)
            let own = try connected(to: port, from: "127.0.0.1")
            _ = write(own, "right", 5)
            Glibc.close(own)
            try connection.send("226 Done.\r\n")
            try connection.readToEnd()
            Glibc.close(thief)
        }
        let stream = try reader(server)
        try stream.set(.ftp(\.usesPassiveMode), to: false)
        #expect(try await Style.async.readAll(stream) == Array("right".utf8))
    }

    // MARK: Injection

    @Test(
        "CVE-2026-28296: no argument can turn one command into two", arguments: ["\r\n", "\n", "\r", "\0"])
    func everyStringIsOneCommand(_ end: String) async throws {
        let server = try await ServerKind.pyftpdlib.started()
        try server.write("b", [1])
        let client = try server.client()
        let path = FTPPath("a\(end)DELE files/b")
        let uses: [(String, () async throws -> Void)] = [
            ("list", { _ = try await client.list(path) }),
            ("entries", { for try await _ in client.entries(path) {} }),
            ("read", { _ = try await Style.async.readAll(client.reader(path)) }),
            ("read from", { _ = try await Style.async.readAll(client.reader(path, offset: 1)) }),
            ("write", { try await Style.async.writeAll([1], to: client.writer(path)) }),
            ("append", { try await Style.async.writeAll([1], to: client.appender(path)) }),
            ("mkdir", { try await client.makeDirectory(path) }), ("rmdir", { try await client.removeDirectory(path) }),
            ("remove", { try await client.remove(path) }),
            ("rename", { try await client.rename(path, to: "x") }),
            ("rename to", { try await client.rename("x", to: path) }),
            ("size", { _ = try await client.size(of: path) }),
            ("date", { _ = try await client.modificationDate(of: path) }),
            ("mode", { try await client.setMode(0o600, of: path) }),
            ("tree", { _ = try await client.download(path, to: "/nowhere") }),
        ]
        for (name, use) in uses {
            let error = await #expect(throws: StreamError.self, "\(name)") { try await use() }
            #expect((error?.underlying as? FTPError)?.code == .badArgument, "\(name)")
        }
        for property in [StreamProperty<String>.ftp(\.userName), .ftp(\.password), .ftp(\.account)] {
            let other = try server.client()
            #expect(throws: StreamError.self) { try other.set(property, to: "a\(end)DELE files/b") }
        }
        let proxied = try server.client()
        try proxied.set(.ftp(\.proxy), to: FTPProxy(host: "127.0.0.1", port: 1, userName: "a\(end)b", password: "c"))
        await #expect(throws: StreamError.self) { try await proxied.list() }
        #expect(try !server.commands().contains { $0.contains("DELE") })
        #expect(try server.read("b") == [1])
        #expect(try await client.list("files").count == 1)  // the session is still usable
    }

    // MARK: TLS

    @Test("CVE-2021-22946: a server that skips the TLS handshake is an error")
    func aSkippedHandshakeIsAnError() async throws {
        for answer in ["530 No.", "200 OK.", "334 More.", "232 You are in."] {
            let server = try ScriptedServer { connection throws(PeerError) in
                try connection.send("220 Hi.\r\n")
                try connection.expect("AUTH TLS\r\n")
                try connection.send(answer + "\r\n")
                let rest = try connection.readToEnd()
                if !rest.isEmpty { throw PeerError(.refused, "plaintext was sent: \(rest)") }
            }
            let stream = try reader(server)
            try stream.set(.ftp(\.security), to: .required)
            let error = await failure(stream)
            #expect((error?.underlying as? FTPError)?.code == .notSecure)
            stream.close()
            try await server.finished()
        }
    }

    /// An endless listing is aborted, by the limit of a line or by the limit of all data.
    @Test func anEndlessLineIsAnError() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in
            while true { try connection.send([UInt8](repeating: 0x61, count: 65_536)) }
        }
        let port = data.port
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in ["230 In.", "500 No.", "200 OK.", "229 (|||\(port)|)", "150 Here."] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            try connection.readToEnd()
        }
        let client = try FTPClient(url("ftp://127.0.0.1:\(server.port)/"))
        let error = await #expect(throws: StreamError.self) { try await client.list() }
        #expect(error?.underlying is ListingError)
    }
}

/// A connection from a certain address of loopback.
private func connected(to port: UInt16, from source: String) throws(PeerError) -> Int32 {
    func address(_ text: String, _ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, text, &address.sin_addr)
        return address
    }
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var (own, other) = (address(source, 0), address("127.0.0.1", port))
    let isBound = withUnsafePointer(to: &own) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
    }
    let isConnected = withUnsafePointer(to: &other) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
    }
    guard isBound, isConnected else { throw PeerError(.refused, "cannot connect from \(source)") }
    return descriptor
}
