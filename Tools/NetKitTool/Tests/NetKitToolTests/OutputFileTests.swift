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

    /// Otherwise the pipe, or a disk that does not answer, would stop all transfers.
    @Test("with -Z, a pipe that is not read stops no other transfer") func aPipeThatIsNotRead() async throws {
        let folder = try TemporaryFolder()
        let (pipe, copy) = (folder.file("pipe"), folder.file("copy"))
        try #require(mkfifo(pipe, 0o600) == 0)
        let large = String(repeating: "x", count: 1 << 20)
        let server = try ScriptedServer { connection throws(PeerError) in
            while let head = try? connection.readHead() {
                // The third transfer begins when one of the others has ended, which the first one cannot before the pipe is read.
                if head.hasPrefix("GET /third ") {
                    let bytes = try? FileHandle(forReadingAtPath: pipe)?.readToEnd()
                    _ = FileManager.default.createFile(atPath: copy, contents: bytes)
                }
                let body = head.hasPrefix("GET /first ") ? large : "small"
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
        defer { server.stop() }
        let files = ["-o", pipe, "-o", folder.file("second"), "-o", folder.file("third")]
        let urls = ["first", "second", "third"].map { "http://127.0.0.1:\(server.port)/\($0)" }
        let run = try await Tool.run(["get", "-Z", "--parallel-max", "2"] + files + urls)
        #expect(run.status == 0, "\(run.text)")
        #expect(try String(contentsOfFile: copy, encoding: .utf8) == large)
        #expect(try folder.names == ["copy", "pipe", "second", "third"])
    }

    /// Answers one request with `head`, a length and `body`.
    private static func server(_ head: String = "HTTP/1.1 200 OK\r\n", _ body: String = "new") throws -> ScriptedServer
    {
        try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
    }

    /// Another user may have made the file so that everybody can change it, or that it runs as its owner.
    @Test(
        "the mode of another user's file is not taken over",
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: [(0o666, nil), (0o6777, nil), (0o644, 0o640), (0o600, nil)] as [(mode_t, mode_t?)])
    func theFileOfAnotherUser(_ mode: mode_t, _ own: mode_t?) async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        let file = try folder.write("old", to: "file")
        try #require(own != nil || chown(file, 65534, 65534) == 0)
        try #require(chmod(file, own ?? mode) == 0)
        let run = try await Tool.run(["get", "-o", file, "http://127.0.0.1:\(server.port)/"])
        var status = stat()
        #expect(run.status == 0 && stat(file, &status) == 0, "\(run.text)")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "new")
        #expect(status.st_uid == 0 && status.st_mode & 0o7022 == 0, "\(String(status.st_mode, radix: 8))")
        if let own { #expect(status.st_mode & 0o7777 == own) }
    }

    /// A partial file, cookie file or key log that another user has prepared could be changed after it was written.
    @Test(
        "a file that another user has prepared is not written",
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: [
            ("-o", "file", "file.part"), ("-c", "jar", "jar.part"), ("--har", "har", "har.part"), ("-D", "d", "d.part"),
        ])
    func theFileThatAnotherUserPrepared(_ option: String, _ name: String, _ prepared: String) async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        let other = try folder.write("", to: prepared)
        try #require(chown(other, 65534, 65534) == 0 && chmod(other, 0o666) == 0)
        let run = try await Tool.run(["get", option, folder.file(name), "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 23 && run.errors.contains("it belongs to another user; remove it first"), "\(run.text)")
        #expect(try String(contentsOfFile: other, encoding: .utf8).isEmpty)
    }

    /// As the kernel does in /tmp.
    @Test(
        "a link of another user is not followed", .enabled(if: geteuid() == 0, "only root can give files away"))
    func theLinkOfAnotherUser() async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        let (link, target) = (folder.file("link"), try folder.write("old", to: "target"))
        try #require(symlink(target, link) == 0 && lchown(link, 65534, 65534) == 0)
        let run = try await Tool.run(["get", "-o", link, "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 23 && run.errors.contains("it belongs to another user"), "\(run.text)")
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "old")
    }

    @Test("-i and -I write the head to the file, with its empty line", arguments: [["-i"], ["-I"], ["-i", "-D"]])
    func theHeadInTheFile(_ options: [String]) async throws {
        let server = try RequestTests.echo()
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let (file, dump) = (folder.file("file"), folder.file("dump"))
        let options = options + (options.last == "-D" ? [dump] : [])
        let run = try await Tool.run(["get", "-o", file] + options + ["http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0 && run.output.isEmpty, "\(run.text)")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        #expect(parts[0].hasPrefix("HTTP/1.1 200 OK\r\nContent-Length: "), "\(text)")
        #expect(parts.count == 2 && (parts[1].isEmpty || parts[1].hasPrefix("GET / ")), "\(text)")
        #expect(parts.last?.isEmpty == options.contains("-I"))
        if options.contains("-D") {
            #expect(try String(contentsOfFile: dump, encoding: .utf8) == parts[0] + "\r\n\r\n")
        }
    }

    @Test func foldersAndDatesOfFiles() async throws {
        let server = try Self.server("HTTP/1.1 200 OK\r\nLast-Modified: Wed, 06 May 2020 07:08:09 GMT\r\n")
        let folder = try TemporaryFolder()
        let run = try await Tool.run([
            "get", "-R", "--create-dirs", "--output-dir", folder.file("new"), "-o", "a/file",
            "http://127.0.0.1:\(server.port)/",
        ])
        var status = stat()
        #expect(run.status == 0 && stat(folder.file("new/a/file"), &status) == 0, "\(run.text)")
        #expect(status.st_mtim.tv_sec == 1_588_748_889)
    }

    @Test("cookies are kept without a file", arguments: [["-b", ""], ["-b", "/dev/null"], ["-b", "/nowhere/x"]])
    func noCookieFile(_ options: [String]) async throws {
        let folder = try TemporaryFolder()
        let server = try Self.server("HTTP/1.1 200 OK\r\nSet-Cookie: k=v\r\n")
        let run = try await Tool.run(
            ["get"] + options + ["-c", folder.file("jar"), "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0 && run.output == "new", "\(run.text)")
        #expect(try String(contentsOfFile: folder.file("jar"), encoding: .utf8).contains("\tk\tv\n"))
    }

    /// One odd line does not cost the others.
    @Test("cookies of files", arguments: [[], ["-j"]]) func cookiesOfFiles(_ options: [String]) async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\nnot a cookie\nset-cookie: b=2\r\n"
                + "127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tc\t3\n", to: "file")
        let server = try RequestTests.echo()
        defer { server.stop() }
        let run = try await Tool.run(["get", "-b", file] + options + ["http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0 && run.errors.contains("\(file), line 2, is not a cookie: "), "\(run.text)")
        let line = run.output.split(separator: "\r\n").first { $0.hasPrefix("Cookie: ") }?.dropFirst("Cookie: ".count)
        let sent = Set(line?.split(separator: "; ").map(String.init) ?? [])
        #expect(sent == (options.isEmpty ? ["a=1", "b=2", "c=3"] : ["c=3"]), "\(run.text)")
    }

    /// A head that `-D` has written is a cookie file, whose other lines are no mistakes.
    @Test func aHeadIsACookieFile() async throws {
        let folder = try TemporaryFolder()
        let head = "HTTP/1.1 200 OK\r\nX-Powered-By: x\r\nSet-Cookie: a=1\r\n\r\n"
        let server = try RequestTests.echo()
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/"
        let run = try await Tool.run(["get", "-b", try folder.write(head, to: "head"), url])
        #expect(run.status == 0 && run.errors.isEmpty && run.output.contains("Cookie: a=1\r\n"), "\(run.text)")
        let odd = try await Tool.run(["get", "-b", try folder.write(head + "not a cookie\n", to: "odd"), url])
        #expect(odd.status == 0 && odd.errors.contains("not a cookie") && odd.output.contains("Cookie: a=1\r\n"))
        // Without Set-Cookie, it is some other file.
        let other = try await Tool.run(["get", "-b", try folder.write("Cookie: a=1\n", to: "other"), url])
        #expect(other.errors.contains("has no cookie that can be read"), "\(other.text)")
    }

    /// A user who makes a pipe in a folder of all could read what is written, or let the program wait for ever.
    @Test(
        "a pipe of another user is not written", .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: ["-o", "-c", "-D", "--har"])
    func foreignPipes(_ option: String) async throws {
        let folder = try TemporaryFolder()
        let server = try Self.server("HTTP/1.1 200 OK\r\n")
        try #require(mkfifo(folder.file("pipe"), 0o666) == 0 && chown(folder.file("pipe"), 65534, 65534) == 0)
        let run = try await Tool.run(["get", option, folder.file("pipe"), "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 23 && run.errors.contains("it belongs to another user"), "\(run.text)")
    }

    /// Without a length, it could not be told whether the file that replaces the partial one is complete.
    @Test func aWholeWithoutALengthDoesNotReplaceAPart() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.0 200 OK\r\n\r\nwhole")
            try connection.readToEnd()
        }
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

    /// A file that is continued becomes its own partial file, unless it must not be written.
    @Test func aRefusedFileKeepsItsName() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("abc", to: "file")
        try #require(link(file, folder.file("other")) == 0)
        #expect(throws: OutputFile.Failure.self) { _ = try OutputFile(path: file, keeping: 3) }
        #expect(try folder.names.sorted() == ["file", "other"])
    }

    @Test func theFileHasTheLastNameOfTheURL() async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        let line = "cd \(folder.path) && $netkit get -s -O 'http://127.0.0.1:\(server.port)/a/b%20c.txt?d=/e'"
        let run = try await Tool.run(shell: line)
        #expect(run.status == 0 && run.text.isEmpty, "\(run.text)")
        #expect(try folder.names == ["b c.txt"])
    }

    @Test("a file that cannot be written costs no other one") func severalFilesAboutTheTransfer() async throws {
        let folder = try TemporaryFolder()
        let server = try Self.server("HTTP/1.1 200 OK\r\nETag: \"a\"\r\n")
        let options = [
            "--etag-save", "/nowhere/etag", "--har", folder.file("har"), "-c", "/nowhere/jar", "-D",
            folder.file("head"),
        ]
        let run = try await Tool.run(["get"] + options + ["http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 23 && run.output == "new", "\(run.text)")
        #expect(run.errors.contains("/nowhere/etag") && run.errors.contains("/nowhere/jar"), "\(run.text)")
        #expect(try folder.names == ["har", "head"])
    }

    @Test func theHeadIsPrintedBeforeTheBody() async throws {
        let server = try Self.server("HTTP/1.1 200 OK\r\nA: b\r\n")
        let run = try await Tool.run(["get", "-i", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0 && run.output.hasPrefix("HTTP/1.1 200 OK\n"), "\(run.text)")
        #expect(run.output.contains("A: b\n") && run.output.hasSuffix("\n\nnew"), "\(run.text)")
    }

    /// The first run sends cookies of the command line and stores those of the response, the second sends these.
    @Test func cookiesAreSentAndStored() async throws {
        let folder = try TemporaryFolder()
        let jar = folder.file("jar")
        for (options, sent) in [(["-b", "a=b; c=d", "-b", jar], "a=b; c=d"), (["-b", jar], "k=v")] {
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
            _ = try connection.read(until: "second\n")
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
