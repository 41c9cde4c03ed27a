import FTPStream
import Foundation
import Peers
import Testing

/// Against pyftpdlib: MLSD, passwords, and servers that misbehave.
struct PyFTPServerTests {
    private func client(_ server: PyFTPServer) throws -> FTPClient {
        let client = try FTPClient(url(server.url(user: "ann")))
        client.set(.ftpPassword, to: "open sesame")
        return client
    }

    @Test func factsFirst() async throws {
        let server = PyFTPServer()
        try await start(server)
        try server.write("été 日本.txt", [1, 2, 3])
        try server.write("-R", [1])
        let entries = try await client(server).list()
        #expect(Set(entries.map(\.name)) == ["été 日本.txt", "-R"])
        #expect(entries.allSatisfy { $0.format == .facts && $0.kind == .file && $0.date?.zone == .utc })
        #expect(server.commands.contains("MLSD") && server.commands.contains("OPTS UTF8 ON"))
    }

    @Test(arguments: [FTPListingCommand.list, .names, .facts])
    func otherListings(_ command: FTPListingCommand) async throws {
        let server = PyFTPServer()
        try await start(server)
        let client = try client(server)
        client.set(.ftpListingCommand, to: command)
        try await client.makeDirectory("sub dir")
        try await Style.async.writeAll([1], to: client.writer("sub dir/a b"))
        #expect(try await client.list("sub dir").map(\.name) == ["a b"])
        // The session is in another directory now, and paths are still the log-in's.
        #expect(try await Style.async.readAll(client.reader("sub dir/a b")) == [1])
        #expect(try await client.list().map(\.name) == ["sub dir"])
    }

    @Test func everythingOneDoes() async throws {
        let server = PyFTPServer()
        try await start(server)
        let client = try client(server)
        try await Style.async.writeAll(patterned(1234), to: client.writer("a"))
        #expect(try await client.size(of: "a") == 1234)
        #expect(try await client.modificationDate(of: "a").secondsSince1970() > 1_700_000_000)
        try await client.setMode(0o600, of: "a")
        #expect(try await client.list().first?.mode == 0o600)
        try await client.rename("a", to: "b \"c\"")
        try await client.remove("b \"c\"")
        #expect(try await client.list().isEmpty)
        #expect(try await client.command(FTPCommand("NOOP")).code == 200)
        #expect(try await client.command(FTPCommand("XYZZY")).code == 500)
        let error = await #expect(throws: StreamError.self) { try await client.remove("nothing") }
        #expect(error?.code == 550)
        #expect(server.commands.count { $0.hasPrefix("USER") } == 1)
    }

    @Test func aWrongPassword() async throws {
        let server = PyFTPServer()
        try await start(server)
        let stream = try ReadStream(ftpURL: url(server.url("x", user: "ann:wrong")))
        let error = await #expect(throws: StreamError.self) { try await Style.async.readAll(stream) }
        #expect(error?.code == 530)
        #expect((error?.underlying as? FTPError)?.code == .loginRefused)
        #expect(error.map { "\($0)".contains("wrong") } == false)
    }

    /// The address in the answer to PASV is not believed, or this would go to another host.
    @Test func dataGoesToTheControlConnectionsPeerOnly() async throws {
        let server = PyFTPServer(masquerade: "192.0.2.1")
        try await start(server)
        try server.write("a", [1, 2])
        let client = try client(server)
        #expect(try await Style.async.readAll(client.reader("a")) == [1, 2])
        #expect(try await client.command(FTPCommand("PASV")).text.contains("192,0,2,1"))
    }

    /// The data connection ends, and only then the server says that the file was not all there.
    @Test(arguments: Style.allCases)
    func aDownloadCutShortIsAnError(_ style: Style) async throws {
        let server = PyFTPServer(cutsAfter: 100_000)
        try await start(server)
        try server.write("a", patterned(1_000_000))
        let stream = try ReadStream(ftpURL: url(server.url("a")))
        try stream.set(.ftpPool, to: FTPSessionPool())
        let error = await #expect(throws: StreamError.self) { try await style.readAll(stream) }
        #expect(error?.domain == .ftp && error?.code == 426)
    }

    @Test func aSessionThatTheServerEndedIsReplaced() async throws {
        let server = PyFTPServer(idleLimit: 1)
        try await start(server)
        try server.write("a", [1])
        let client = try client(server)
        #expect(try await Style.async.readAll(client.reader("a")) == [1])
        while !server.log.contains("Control connection timed out") && !server.log.contains("FTP session closed") {
            await Task.yield()
        }
        #expect(try await Style.async.readAll(client.reader("a")) == [1])
        #expect(server.commands.count { $0.hasPrefix("USER") } == 2)
    }
}
