import EventLoops
import FTPStream
import Foundation
import Glibc
import Peers
import Testing

/// Servers that lie, stall or attack. Data connections go to a server of their own.
struct SecurityTests {
    /// A server that lets anybody in, names a port for data, and then does what `body` says with the control connection.
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
        try stream.set(.ftpPool, to: FTPSessionPool())
        return stream
    }

    private func failure(_ stream: ReadStream) async -> StreamError? {
        await #expect(throws: StreamError.self) { try await Style.async.readAll(stream) }
    }

    @Test func bytesBetweenLeaveAndHandshake() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            try connection.expect("AUTH TLS\r\n")
            try connection.send("234 Go.\r\n230 You are in.\r\n")
            try connection.readToEnd()
        }
        let stream = try reader(server)
        try stream.set(.ftpSecurity, to: .required)
        let error = await failure(stream)
        #expect((error?.underlying as? FTPError)?.code == .notSecure)
    }

    @Test(arguments: [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", FTPError.Code.notAReply),
        ("220-" + String(repeating: "x", count: 10_000), .replyTooLong),
        ("220-x\r\n" + String(repeating: "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n", count: 3000), .replyTooLong),
        ("421 Too many users.\r\n", .connectionLost), ("", .connectionLost),
        ("220 \0\u{7F}\r\n530 No.\r\n", .loginRefused),
    ])
    func greetings(_ greeting: String, _ code: FTPError.Code) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send(greeting)
        }
        let error = await failure(try reader(server))
        // A server that hangs up at once may be seen as a reset.
        #expect((error?.underlying as? FTPError)?.code == code || (error?.domain == .posix && code == .connectionLost))
    }

    @Test func silence() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in try connection.readToEnd() }
        for style in Style.allCases {
            let stream = try reader(server)
            try stream.set(.ftpReplyLimit, to: .milliseconds(50))
            let error = await #expect(throws: StreamError.self) { try await style.readAll(stream) }
            #expect(error?.isPOSIX(ETIMEDOUT) == true)
        }
    }

    /// The server sends us to a port where nobody listens, and says nothing more: that is what is told.
    @Test func noDataConnection() async throws {
        let data = try ScriptedServer { _ throws(PeerError) in }
        data.stop()
        let server = try server(dataPort: data.port) { connection throws(PeerError) in try connection.readToEnd() }
        let stream = try reader(server)
        try stream.set(.ftpReplyLimit, to: .milliseconds(500))
        let error = await failure(stream)
        #expect(error?.isPOSIX(ECONNREFUSED) == true)
    }

    /// All data came, and then the control connection went away without a word.
    @Test func noLastWord() async throws {
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send([1, 2, 3]) }
        let server = try server(dataPort: data.port) { connection throws(PeerError) in
            try connection.send("150 Here.\r\n")
        }
        let error = await failure(try reader(server))
        #expect(error?.isPOSIX(ENOTCONN) == true)
    }

    /// Everything was sent, and the server finds at the very end that there is no room.
    @Test(arguments: Style.allCases)
    func lateRefusal(_ style: Style) async throws {
        let gone = Signal()
        let data = try ScriptedServer { connection throws(PeerError) in
            try connection.readToEnd()
            gone.fire()
        }
        let server = try server(dataPort: data.port) { connection throws(PeerError) in
            try connection.send("150 Go on.\r\n")
            try connection.wait(for: gone)
            try connection.send("452 Disk full.\r\n")
            try connection.readToEnd()
        }
        let stream = try WriteStream(ftpURL: url("ftp://127.0.0.1:\(server.port)/x"))
        try stream.set(.ftpPool, to: FTPSessionPool())
        let error = await #expect(throws: StreamError.self) { try await style.writeAll(patterned(50_000), to: stream) }
        #expect(error?.domain == .ftp && error?.code == 452, "\(error.debugDescription)")
    }

    /// Names that lead out of the folder write nothing there.
    @Test func aTreeStaysInItsFolder() async throws {
        let listing = ["../up.txt", "/tmp/absolute.txt", "..", ".", "a/b", ""].map { "type=file;size=1; \($0)\r\n" }
            .joined()
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send(listing) }
        let dataPort = data.port
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 Hi.\r\n")
            for reply in ["230 In.", "211-F\r\n MLST type*;size*;\r\n211 End"] {
                try connection.read(until: "\r\n")
                try connection.send(reply + "\r\n")
            }
            try connection.read(until: "\r\n")
            try connection.send("229 Extended (|||\(dataPort)|)\r\n")
            try connection.expect("MLSD tree\r\n")
            try connection.send("150 Here.\r\n226 Done.\r\n")
            try connection.readToEnd()
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-tree-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let client = try FTPClient(url("ftp://127.0.0.1:\(server.port)/"))
        let report = try await client.download("tree", to: folder.appendingPathComponent("in").path)
        #expect(report.files == 0 && report.directories == 1)
        #expect(report.skipped.count == 3 && report.skipped.allSatisfy { $0.reason == .unsafeName })
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.path) == ["in"])
    }

    @Test func aTreeThereAndBack() async throws {
        let server = PyFTPServer()
        try await start(server)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-tree-\(UUID())")
        let (source, target) = (folder.appendingPathComponent("source"), folder.appendingPathComponent("target"))
        try FileManager.default.createDirectory(
            at: source.appendingPathComponent("a/b c"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, count) in [("1", 0), ("a/2", 1000), ("a/b c/é", 200_000)] {
            try Data(patterned(count)).write(to: source.appendingPathComponent(name))
        }
        try FileManager.default.createSymbolicLink(
            atPath: source.appendingPathComponent("link").path, withDestinationPath: "/etc")
        let client = try FTPClient(url(server.url(user: "ann")))
        client.set(.ftpPassword, to: "open sesame")
        let sent = try await client.upload(source.path, to: "files/tree")
        #expect(sent.files == 3 && sent.directories == 3 && sent.bytes == 201_000 && sent.skipped.count == 1)
        #expect(try await client.upload(source.path, to: "files/tree").files == 3)  // again, over what is there
        let fetched = try await client.download("files/tree", to: target.path)
        #expect(fetched.files == 3 && fetched.directories == 3 && fetched.bytes == 201_000)
        for name in ["1", "a/2", "a/b c/é"] {
            #expect(
                try Data(contentsOf: source.appendingPathComponent(name))
                    == Data(contentsOf: target.appendingPathComponent(name)))
        }
        #expect(server.commands().count { $0.hasPrefix("USER") } == 1)
    }
}
