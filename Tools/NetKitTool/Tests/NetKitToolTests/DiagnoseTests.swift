import Foundation
import Glibc
import Peers
import Testing

/// The ladder of `diagnose`, as text and as a page.
@Suite struct DiagnoseTests {
    private static func server() throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            _ = try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
    }

    @Test("A line for each rung, in ASCII where the locale asks for it") func ladder() async throws {
        let server = try Self.server()
        let url = "http://127.0.0.1:\(server.port)/"
        let run = try await Tool.run(["diagnose", url], environment: ["LC_ALL": "C"])
        let lines = run.output.split(separator: "\n")
        let connection = try #require(lines.first { $0.hasPrefix("ok   connection ") }, "\(run.text)")
        #expect(connection.contains(" ms  127.0.0.1:\(server.port)"), "\(run.text)")
        #expect(run.status == 0 && lines.contains { $0.hasPrefix("ok   answer ") }, "\(run.text)")
        #expect(run.output.utf8.allSatisfy { $0 < 0x7F && $0 != 0x1B })
    }

    @Test("A broken rung has a cross, and those above it are not checked") func broken() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("page.html")
        let run = try await Tool.run(
            ["diagnose", "--html", file, "http://127.0.0.1:9/"], environment: ["LC_ALL": "C.UTF-8"])
        let lines = run.output.split(separator: "\n")
        #expect(run.status == 1 && lines.contains { $0.hasPrefix("✘ connection ") }, "\(run.text)")
        #expect(lines.contains("- answer"), "\(run.text)")
        let page = try String(contentsOfFile: file, encoding: .utf8)
        #expect(page.contains(#"<tr class="down"><td>✘</td><td>connection</td>"#) && !page.contains("src="))
    }

    @Test(
        "Options of the watch that do not fit together are refused",
        arguments: [
            (["--interval", "1"], "--interval requires --watch"),
            (["--watch", "--interval", "0"], "--interval must be"),
            (["--watch", "--html", "x"], "--html cannot be combined"),
        ])
    func refuses(_ options: [String], _ words: String) async throws {
        let run = try await Tool.run(["diagnose", "http://127.0.0.1:9/"] + options)
        #expect(run.status == 64 && run.text.contains(words), "\(run.text)")
    }

    @Test func ownRoots() async throws {
        let nginx = Nginx(listeners: [.tls])
        try nginx.start()
        let url = nginx.url(.tls, "/hello")
        let root = try CertificateAuthority.shared().root
        let run = try await Tool.run(["diagnose", "--cacert", root, url])
        #expect(run.status == 0, "\(run.text)")
        let untrusted = try await Tool.run(["diagnose", url])
        #expect(untrusted.status == 1 && untrusted.output.contains("security: "), "\(untrusted.text)")
        let unreadable = try await Tool.run(["diagnose", "--cacert", "/nowhere", url])
        #expect(unreadable.status == 23, "\(unreadable.text)")
    }

    @Test func aGivenProxy() async throws {
        let squid = Squid()
        try squid.start()
        let server = try Self.server()
        let url = "http://127.0.0.1:\(server.port)/"
        let run = try await Tool.run(["diagnose", "-x", "http://127.0.0.1:\(squid.port)", url])
        #expect(run.status == 0 && run.output.contains("proxy "), "\(run.text)")
        let dead = try await Tool.run(["diagnose", "-x", "http://127.0.0.1:1", url])
        #expect(dead.status == 1 && dead.output.contains("The proxy 127.0.0.1:1 cannot be reached"), "\(dead.text)")
    }

    @Test(arguments: ["basic", "digest"])
    func aLogin(_ scheme: String) async throws {
        let apache = Apache()
        try apache.start()
        try apache.write("name.txt", Array("hello".utf8))
        let url = apache.url(.plain, "/\(scheme)/name.txt")
        let none = try await Tool.run(["diagnose", url])
        #expect(none.status == 1 && none.output.contains("requires authentication ("), "\(none.text)")
        let right = try await Tool.run(["diagnose", "-u", "alice:open sesame", url])
        #expect(right.status == 0, "\(right.text)")
        let wrong = try await Tool.run(["diagnose", "-u", "alice:wrong", url])
        let reason = "rejected the credentials: Wrong user name or password"
        #expect(wrong.status == 1 && wrong.output.contains(reason), "\(wrong.text)")
    }

    @Test(arguments: [
        (["--cacert", "/c"], "Options for proxies and TLS require a URL."),
        (["-x", "http://h.invalid"], "Options for proxies and TLS require a URL."),
        (["-u", "a:b", "ftp://h.invalid/"], "A login requires an http or https URL."),
        (["-u", "a:b", "--watch", "http://h.invalid/"], "A login cannot be combined with"),
    ])
    func refusesOptionsWithoutMeaning(_ options: [String], _ words: String) async throws {
        let run = try await Tool.run(["diagnose"] + options)
        #expect(run.status == 64 && run.text.contains(words), "\(run.text)")
    }
}
