import FTPStream
import Foundation
import Peers
import Testing

/// Against pyftpdlib: MLSD, passwords, and faulty servers.
struct PyFTPServerTests {
    private func client(_ server: PyFTPServer) throws -> FTPClient {
        let client = try FTPClient(url(server.url(user: "ann")))
        try client.set(.ftp(\.password), to: "open sesame")
        return client
    }

    @Test func factsArePreferred() async throws {
        let server = PyFTPServer()
        try await start(server)
        try server.write("été 日本.txt", [1, 2, 3])
        try server.write("-R", [1])
        let entries = try await client(server).list("files")
        #expect(Set(entries.map(\.name)) == ["été 日本.txt", "-R"])
        #expect(entries.allSatisfy { $0.format == .facts && $0.kind == .file && $0.date?.zone == .utc })
        #expect(server.commands().contains("MLSD files") && server.commands().contains("OPTS UTF8 ON"))
    }

    @Test(arguments: [FTPListingCommand.list, .names, .facts])
    func eachListingCommand(_ command: FTPListingCommand) async throws {
        let server = PyFTPServer()
        try await start(server)
        let client = try client(server)
        try client.set(.ftp(\.listingCommand), to: command)
        try await client.makeDirectory("files/sub dir")
        try await Style.async.writeAll([1], to: client.writer("files/sub dir/a b"))
        #expect(try await client.list("files/sub dir").map(\.name) == ["a b"])
        // The session is in another directory now, and paths are still relative to the login directory.
        #expect(try await Style.async.readAll(client.reader("files/sub dir/a b")) == [1])
        #expect(try await client.list("files").map(\.name) == ["sub dir"])
    }

    /// The address in the reply to PASV is ignored; otherwise the connection would go to another host.
    @Test func dataConnectionsGoOnlyToTheControlConnectionsPeer() async throws {
        let server = PyFTPServer(masquerade: "192.0.2.1")
        try await start(server)
        try server.write("a", [1, 2])
        let client = try client(server)
        #expect(try await Style.async.readAll(client.reader("files/a")) == [1, 2])
        #expect(try await client.command(FTPCommand("PASV")).text.contains("192,0,2,1"))
    }

    /// pyftpdlib itself would forget the second session: see `PyFTPServer`.
    @Test(.timeLimit(.minutes(5))) func theEndOfASessionInActiveModeDoesNotAffectAnother() async throws {
        let server = PyFTPServer()
        try await start(server)
        try server.write("a", [1, 2])
        let client = try client(server)
        try client.set(.ftp(\.usesPassiveMode), to: false)
        #expect(try await Style.async.readAll(client.reader("files/a")) == [1, 2])
        let second = StreamPair(host: "127.0.0.1", port: try #require(url(server.url()).port.map(UInt16.init)))
        try second.open()
        var lines = second.input.lines().makeAsyncIterator()
        #expect(try await lines.next()?.hasPrefix("220") == true)
        #expect(try await client.command(FTPCommand("QUIT")).code == 221)
        try await second.output.writeAll(Array("USER ann\r\n".utf8))
        #expect(try await lines.next()?.hasPrefix("331") == true)
        second.close()
    }

    /// The data connection ends, and only then the server reports that the file was incomplete.
    // Parity: FT-009 (pyftpdlib)
    @Test(arguments: Style.allCases)
    func aDownloadCutShortIsAnError(_ style: Style) async throws {
        let server = PyFTPServer(cutsAfter: 100_000)
        try await start(server)
        try server.write("a", patterned(1_000_000))
        let stream = try ReadStream(ftpURL: url(server.url("files/a")))
        try stream.set(.ftp(\.pool), to: FTPSessionPool())
        let error = await #expect(throws: StreamError.self) { try await style.readAll(stream) }
        #expect(error?.domain == .ftp && error?.code == 426)
    }

    /// The server is killed between its 150 and its 226: both connections end, without a reply.
    // Parity: FT-058 (pyftpdlib)
    @Test func aServerThatIsKilledDuringADownloadIsAnError() async throws {
        let server = PyFTPServer()
        try await start(server)
        // More than the buffers of both sides hold.
        try server.write("a", patterned(64_000_000))
        let stream = try ReadStream(ftpURL: url(server.url("files/a")))
        try stream.set(.ftp(\.pool), to: FTPSessionPool())
        try stream.open()
        var count = try await stream.read(upTo: 1000).count
        kill(try #require(server.process.pid), SIGKILL)
        let error = await #expect(throws: StreamError.self) {
            while case let more = try await stream.read(upTo: 1 << 20).count, more > 0 { count += more }
        }
        #expect(error != .cancelled && count < 64_000_000 && stream.status == .error)
        stream.close()
    }

    // Parity: FT-038 (pyftpdlib)
    @Test func aSessionThatTheServerEndedIsReplaced() async throws {
        let server = PyFTPServer(idleTimeout: 1)
        try await start(server)
        try server.write("a", [1])
        let client = try client(server)
        #expect(try await Style.async.readAll(client.reader("files/a")) == [1])
        #expect(await server.logs { $0.contains("Control connection timed out") || $0.contains("FTP session closed") })
        #expect(try await Style.async.readAll(client.reader("files/a")) == [1])
        #expect(server.commands().count { $0.hasPrefix("USER") } == 2)
    }
}
