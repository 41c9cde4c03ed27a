import Foundation
import Glibc
import Peers
import Testing

@testable import netkit

/// The files that `netkit get -o` writes.
@Suite struct OutputFileTests {
    /// Two transfers at the same time do not mix their bytes in one partial file.
    @Test func aFileHasOneWriter() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("file")
        let first = try OutputFile(path: path, keeping: 0)
        try first.write(Array("first".utf8).span.bytes)
        #expect(throws: OutputFile.Failure.self) { _ = try OutputFile(path: path, keeping: 0) }
        let second = try OutputFile(path: path, keeping: 0, keepsExisting: true)
        try second.write(Array("second".utf8).span.bytes)
        #expect(try first.finish() == path)
        #expect(try second.finish() == path + ".1")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "first")
        #expect(try String(contentsOfFile: path + ".1", encoding: .utf8) == "second")
        // The partial file was renamed, so the name is free again.
        let third = try OutputFile(path: path, keeping: 0)
        try third.finish()
        #expect(try folder.names.count == 2)
    }

    /// Answers one request with `head`, a length and `body`.
    private static func server(_ head: String = "HTTP/1.1 200 OK\r\n", _ body: String = "new") throws -> ScriptedServer
    {
        try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
    }

    @Test(
        "a 206 that does not begin at the requested offset is refused", arguments: ["bytes 0-2/6", "bytes 2-4/6", nil])
    func refusesAnotherRange(_ range: String?) async throws {
        let field = range.map { "Content-Range: \($0)\r\n" } ?? ""
        let server = try Self.server("HTTP/1.1 206 Partial Content\r\n\(field)", "XYZ")
        let folder = try TemporaryFolder()
        let (file, partial) = (folder.file("file"), try folder.write("abc", to: "file.part"))
        let run = try await Tool.run(["get", "--resume", "-o", file, "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 33 && run.errors.contains("did not resume at byte 3"), "\(run.text)")
        #expect(try String(contentsOfFile: partial, encoding: .utf8) == "abc")
    }

    @Test func aSymbolicLinkStaysAndThePartialFileIsPrivate() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut")
        }
        let whole = try Self.server()
        let folder = try TemporaryFolder()
        let (link, target) = (folder.file("link"), try folder.write("old", to: "target"))
        try #require(chmod(target, 0o600) == 0 && symlink("target", link) == 0)
        let cut = try await Tool.run(["get", "-o", link, "http://127.0.0.1:\(server.port)/"])
        var status = stat()
        #expect(cut.status == 18 && stat(target + ".part", &status) == 0, "\(cut.text)")
        #expect(status.st_mode & 0o7777 == 0o600)
        let run = try await Tool.run(["get", "-o", link, "http://127.0.0.1:\(whole.port)/"])
        #expect(run.status == 0, "\(run.text)")
        #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "new")
        #expect(stat(target, &status) == 0 && status.st_mode & 0o7777 == 0o600)
    }

    @Test("a link or pipe at the place of the partial file is not written", arguments: [true, false])
    func refusesASpecialPartialFile(_ isLink: Bool) async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        let (file, other) = (folder.file("file"), try folder.write("other", to: "other"))
        try #require((isLink ? symlink(other, file + ".part") : mkfifo(file + ".part", 0o600)) == 0)
        let run = try await Tool.run(["get", "-o", file, "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 23 && run.errors.contains("symbolic link or special file"), "\(run.text)")
        #expect(try String(contentsOfFile: other, encoding: .utf8) == "other")
    }

    @Test func theFileHasTheLastNameOfTheURL() async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        let line = "cd \(folder.path) && $netkit get -s -O 'http://127.0.0.1:\(server.port)/a/b%20c.txt?d=/e'"
        let run = try await Tool.run(shell: line)
        #expect(run.status == 0 && run.text.isEmpty, "\(run.text)")
        #expect(try folder.names == ["b c.txt"])
    }

    @Test func theHeadIsPrintedBeforeTheBody() async throws {
        let server = try Self.server("HTTP/1.1 200 OK\r\nA: b\r\n")
        let run = try await Tool.run(["get", "-i", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0 && run.output.hasPrefix("HTTP/1.1 200 OK\n"), "\(run.text)")
        #expect(run.output.contains("A: b\n") && run.output.hasSuffix("\n\nnew"), "\(run.text)")
    }

    /// The first run sends cookies of the command line and stores those of the response, the second sends all of them.
    @Test func cookiesAreSentAndStored() async throws {
        let folder = try TemporaryFolder()
        let jar = folder.file("jar")
        for (options, sent) in [(["-b", "a=b; c=d", "-b", jar], "a=b; c=d"), (["-b", jar], "a=b; c=d; k=v")] {
            let server = try Self.server("HTTP/1.1 200 OK\r\nSet-Cookie: k=v\r\n")
            let run = try await Tool.run(["get", "-c", jar] + options + ["http://127.0.0.1:\(server.port)/"])
            #expect(run.status == 0 && run.output == "new", "\(run.text)")
            let received = try await server.finished().map(\.text).joined()
            #expect(received.contains("Cookie: \(sent)\r\n"), "\(received)")
        }
        var status = stat()
        #expect(stat(jar, &status) == 0 && status.st_mode & 0o7777 == 0o600)
    }

    @Test func aDeviceIsWrittenDirectly() async throws {
        let server = try Self.server()
        let run = try await Tool.run(["get", "-o", "/dev/stdout", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0 && run.output == "new", "\(run.text)")
    }

    /// Standard input is read from its offset, which another program may have advanced.
    @Test func theRestOfStandardInputIsUploaded() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            _ = try connection.read(until: "\r\n0\r\n\r\n")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let folder = try TemporaryFolder()
        try folder.write("first\nsecond\n", to: "in")
        let run = try await Tool.run(
            shell:
                "(dd bs=6 count=1 of=/dev/null 2>/dev/null; $netkit get --data-binary @- http://127.0.0.1:\(server.port)/) "
                + "< \(folder.path)/in")
        #expect(run.status == 0, "\(run.text)")
        let received = try await server.finished().map(\.text).joined()
        #expect(received.contains("second\n") && !received.contains("first"), "\(received)")
    }
}
