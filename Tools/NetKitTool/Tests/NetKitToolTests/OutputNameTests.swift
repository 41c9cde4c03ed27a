import Foundation
import Peers
import Testing

@testable import netkit

/// The files, formats and rates of `netkit get`.
@Suite struct OutputNameTests {
    @Test(
        "names that servers suggest",
        arguments: [
            (#"attachment; filename="report.pdf""#, "report.pdf"), ("attachment; filename=plain.txt", "plain.txt"),
            (#"attachment; filename="../../etc/passwd""#, "passwd"), (#"attachment; filename="a\\b\\c.txt""#, "c.txt"),
            (#"attachment; filename="x.txt"; filename*=UTF-8''na%C3%AFve.txt"#, "naïve.txt"),
            (#"attachment; filename*=UTF-8''..%2F.ssh"#, nil), (#"attachment; filename=".bashrc""#, nil),
            ("filename=a/b.txt", "b.txt"), (#"attachment; filename="-rf""#, nil),
            (#"attachment; filename="a\#u{1b}[2J""#, nil), ("attachment", nil),
            (#"attachment; filename="""#, nil), (#"attachment; filename="x.part""#, nil),
            (#"inline; filename=".."#, nil),
            // U+0301 and U+0D4E form one character with the `/` before or after them.
            (#"attachment; filename*=UTF-8''%2Ftmp%2F%CC%81x"#, "\u{301}x"),
            (#"attachment; filename*=UTF-8''a%E0%B5%8E%2F.profile"#, nil),
            (#"attachment; filename=".\#u{301}bashrc""#, nil), (#"attachment; filename="-\#u{301}rf""#, nil),
            (#"attachment; filename="x\#u{D4E}.part""#, nil),
            (#"attachment;\#u{301}x; filename="a"\#u{301}.txt"#, "a"),
            (#"attachment; filename="a\"b.txt""#, "a\"b.txt"), ("attachment; filename", nil), ("; =; filename=;", nil),
        ])
    func suggestedNames(_ field: String, _ name: String?) {
        #expect(SuggestedName.name(field) == name)
    }

    @Test func namesInURLs() throws {
        #expect(try URLArgument.fileName(of: "http://a/b%CC%81") == "b\u{301}")
        for name in ["%2Ebashrc", "%2E%CC%81bashrc", "", "a%2Fb", "-", "%2Drf", "a%1Bb"] {
            #expect(throws: (any Error).self) { try URLArgument.fileName(of: "http://a/\(name)") }
        }
    }

    /// No byte of a field makes the parser trap or suggest a name with a folder.
    @Test func anyField() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("filename*=\"\\;/' .%ATF-8u\t")
        for _ in 0..<5000 {
            let field = String(
                (0..<Int.random(in: 0...40, using: &generator)).map { _ in alphabet.randomElement(using: &generator)! })
            let name = SuggestedName.name("attachment; filename" + field)
            #expect(name?.contains("/") != true && name?.hasPrefix(".") != true)
        }
    }

    @Test func rates() {
        var limit = RateLimit(rate: 1024)
        #expect(limit.pieceSize == 102)
        #expect(limit.pause(after: 512, now: 0) == .milliseconds(500))
        #expect(limit.pause(after: 512, now: 0.5) == .milliseconds(500))
        // The peer paused for ten seconds: the transfer does not catch up.
        #expect(limit.pause(after: 128, now: 11) == .milliseconds(125))
        #expect(RateLimit(rate: 1).pieceSize == 1)
    }

    @Test func aSlowTransferTakesItsTime() async throws {
        let server = try RequestTests.echo()
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let file = try folder.write(String(repeating: "0", count: 40_000), to: "zeros")
        let start = ContinuousClock.now
        let upload = try await Tool.run(
            ["get", "--limit-rate", "40000", "-T", file, "-o", "/dev/null", "http://127.0.0.1:\(server.port)/x"])
        // The last piece has no pause after it, and the answer comes at the same rate.
        #expect(upload.status == 0 && start.duration(to: .now) > .milliseconds(1700), "\(upload.text)")
    }

    private func server(_ fields: String, _ body: String = "body") throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            while (try? connection.readHead()) != nil {
                try connection.send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
    }

    private func run(_ options: String, in folder: TemporaryFolder, _ server: ScriptedServer, _ paths: String...)
        async throws
        -> Tool.Run
    {
        let urls = paths.map { "http://127.0.0.1:\(server.port)/\($0)" }.joined(separator: " ")
        return try await Tool.run(shell: "cd \(folder.path) && $netkit get \(options) \(urls)")
    }

    @Test func namesInAFolder() async throws {
        let server = try server("Content-Disposition: attachment; filename=\"../named.txt\"\r\n")
        let folder = try TemporaryFolder()
        defer { server.stop() }
        for _ in 0..<2 {
            let run = try await run("-OJ", in: folder, server, "x?y=1")
            #expect(run.status == 0, "\(run.text)")
        }
        let kept = try await run("-o named.txt --no-clobber -w '%{filename_effective}\\n'", in: folder, server, "x")
        #expect(kept.output == "named.txt.2\n", "\(kept.text)")
        let several = try await run("-Z -O", in: folder, server, "a", "b", "c")
        #expect(several.status == 0, "\(several.text)")
        let first = try await run("-o first -O", in: folder, server, "d", "e")
        #expect(first.status == 0, "\(first.text)")
        #expect(try folder.names == ["a", "b", "c", "e", "first", "named.txt", "named.txt.1", "named.txt.2"])
    }

    @Test func severalURLs() async throws {
        let server = try server("", "one\n")
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/"
        let run = try await Tool.run(["get", url, "http://127.0.0.1:1/", url])
        #expect(run.status == 7 && run.output == "one\none\n", "\(run.text)")
        #expect(run.errors.hasPrefix("netkit: http://127.0.0.1:1/: The connection"), "\(run.text)")
        let objects = try await Tool.run(["get", "--json", "-Z", url, url, url])
        #expect(objects.output.split(separator: "\n").count == 3, "\(objects.text)")
        // The transfers share their connection.
        let reused = try await Tool.run([
            "get", "-s", "-o", "/dev/null", "-o", "/dev/null", "-w", "%{time_connect} ", url, url + "x",
        ])
        #expect(reused.output.hasSuffix(" 0.000000 "), "\(reused.text)")
    }

    @Test func factsOfATransfer() async throws {
        let server = try RequestTests.echo()
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/"
        let format =
            "%{http_code} %{method} %{scheme} %{http_version} %{size_upload} %{remote_ip}:%{remote_port} %{exitcode} 100%%\\n"
        let run = try await Tool.run(["get", "-s", "-o", "/dev/null", "-d", "abc", "-w", format, url])
        #expect(run.output == "200 POST http 1.1 3 127.0.0.1:\(server.port) 0 100%\n", "\(run.text)")
        let failed = try await Tool.run(["get", "-w", "%{http_code} %{exitcode} %{errormsg}", "http://127.0.0.1:1/"])
        #expect(failed.output.hasPrefix("000 7 The connection to 127.0.0.1:1 was refused"), "\(failed.text)")
    }

    /// As with --json, and with curl: what the server sends is shown.
    @Test(
        "the cookies of a response are shown unless --hide-cookies is given",
        arguments: [["-i"], ["-I"], ["-v"], ["--json"]])
    func cookiesOfResponses(_ options: [String]) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nSet-Cookie: SID=value\r\nContent-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/"
        let shown = try await Tool.run(["get"] + options + [url])
        #expect(shown.status == 0 && shown.text.contains("SID=value"), "\(shown.text)")
        let hidden = try await Tool.run(["get", "--hide-cookies"] + options + [url])
        #expect(
            hidden.status == 0 && hidden.text.contains("Set-Cookie") && !hidden.text.contains("SID"), "\(hidden.text)")
    }

    @Test func verboseOutputHasNoSecrets() async throws {
        let server = try server("Set-Cookie: SID=secret\r\n")
        defer { server.stop() }
        let run = try await Tool.run([
            "get", "-v", "--hide-cookies", "--bearer", "secret", "-b", "A=secret", "http://127.0.0.1:\(server.port)/",
        ])
        for line in [
            "> GET / HTTP/1.1\n", "> Authorization: …\n", "> Cookie: …\n", "< HTTP/1.1 200 OK\n", "< Set-Cookie: …\n",
        ] {
            #expect(run.errors.contains(line) || run.errors.contains(line.replacing("…", with: "...")), "\(run.text)")
        }
        #expect(!run.text.contains("secret") && run.output == "body", "\(run.text)")
    }

    @Test func aBodyWithAnUnknownCodingIsRefused() async throws {
        let server = try server("Content-Encoding: compress\r\n")
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/"
        let run = try await Tool.run(["get", "--compressed", url])
        #expect(run.status == 61 && run.output.isEmpty && run.errors.contains("has the coding compress"), "\(run.text)")
        let raw = try await Tool.run(["get", url])
        #expect(raw.status == 0 && raw.output == "body", "\(raw.text)")
        let damaged = try self.server("Content-Encoding: br\r\n")
        defer { damaged.stop() }
        let broken = try await Tool.run(["get", "--compressed", "http://127.0.0.1:\(damaged.port)/"])
        #expect(broken.status == 61 && broken.errors.contains("cannot be decoded"), "\(broken.text)")
    }

    @Test func aStalledBodyTimesOut() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
            try connection.readToEnd()
        }
        defer { server.stop() }
        let run = try await Tool.run(["get", "--stall-timeout", "1", "http://127.0.0.1:\(server.port)/"])
        // On a busy machine, the head may have been late as well.
        #expect(run.status == 28 && ["part", ""].contains(run.output), "\(run.text)")
    }
}
