import Foundation
import NetKit
import Peers
import Testing

@testable import netkit

/// HTTP/2 and HTTP/1.1: the choice, and what is shown.
@Suite(.timeLimit(.minutes(5))) struct VersionTests {
    /// Runs a command with a server that has the file `hello`.
    private func run(
        _ arguments: [String], _ implementation: HTTP2Server.Implementation, isSecure: Bool, count: Int = 1
    ) async throws -> Tool.Run {
        let server = HTTP2Server(implementation, isSecure: isSecure)
        try server.start()
        defer { server.stop() }
        try server.write("hello", Array("hello\n".utf8))
        let trust = isSecure ? ["--cacert", try CertificateAuthority.shared().root] : []
        let urls = (0..<count).map { server.url("/hello?\($0)") }
        return try await Tool.run(arguments + trust + urls)
    }

    @Test(
        "the version that a server with both speaks",
        arguments: [
            ([], "2"), (["--http2"], "2"), (["--http2", "--http2"], "2"), (["--http2-prior-knowledge"], "2"),
            (["--http1.1"], "1.1"),
        ])
    func choice(_ options: [String], _ version: String) async throws {
        let run = try await run(["get", "-w", "%{http_version}"] + options, .nginx, isSecure: true)
        #expect(run.status == 0 && run.output == "hello\n\(version)", "\(run.text)")
    }

    @Test("without TLS, HTTP/2 is used on demand only") func priorKnowledge() async throws {
        let known = try await run(["get", "--http2-prior-knowledge", "-i"], .nghttpd, isSecure: false)
        #expect(known.status == 0 && known.output.hasPrefix("HTTP/2 200 \n"), "\(known.text)")
        #expect(known.output.hasSuffix("\n\nhello\n"), "\(known.text)")
        for option in ["--http1.1", "--http2"] {
            let server = try RequestTests.echo()
            defer { server.stop() }
            let run = try await Tool.run(["get", option, "http://127.0.0.1:\(server.port)/"])
            #expect(run.status == 0 && run.output.hasPrefix("GET / HTTP/1.1\r\n"), "\(run.text)")
            #expect(!run.output.lowercased().contains("upgrade"), "\(run.text)")
        }
    }

    @Test("several URLs share a connection", arguments: [[], ["-Z"], ["-Z", "--parallel-max", "20"]], [false, true])
    func sharing(_ options: [String], isSecure: Bool) async throws {
        let run = try await run(
            ["get", "--http2-prior-knowledge", "-s", "-w", "%{num_connects}\\n"] + options, .nghttpd,
            isSecure: isSecure, count: 20)
        let lines = run.output.split(separator: "\n")
        #expect(run.status == 0 && lines.count { $0 == "hello" } == 20, "\(run.text)")
        #expect(lines.count { $0 == "1" } == 1 && lines.count { $0 == "0" } == 19, "\(run.text)")
    }

    @Test("all forms of output name HTTP/2 alike") func output() async throws {
        let folder = try TemporaryFolder()
        let (har, page, heads) = (folder.file("har"), folder.file("page"), folder.file("heads"))
        let run = try await run(
            ["get", "-v", "--json", "--report", "-D", heads, "--har", har, "--report=html", page], .nghttpd,
            isSecure: true)
        #expect(run.status == 0, "\(run.text)")
        let lines = run.errors.split(separator: "\n")
        #expect(lines.contains("< HTTP/2 200 "), "\(run.text)")
        #expect(lines.contains { $0.hasPrefix("* ") && $0.contains("HTTP/2 200 OK") }, "\(run.text)")
        #expect(lines.contains { $0.hasPrefix("waiting ") && $0.hasSuffix("HTTP/2 200 OK") }, "\(run.text)")
        let object = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        let hops = try #require(object?["hops"] as? [[String: Any]])
        let steps = try #require(hops.first?["steps"] as? [[String: Any]])
        let place = try #require(steps.first { $0["stream"] != nil })
        #expect(place["stream"] as? Int == 1 && place["connection"] as? Int == 1 && place["others"] as? Int == 0)
        #expect(place["step"] as? String == "stream 1 on connection 1 (h2), 0 others")
        #expect(lines.contains { $0.hasPrefix("stream 1 on connection 1 (h2)") }, "\(run.text)")
        #expect(object?["version"] as? String == "HTTP/2" && hops.map { $0["version"] as? String } == ["HTTP/2"])
        let files = try [har, page, heads].map { try String(contentsOfFile: $0, encoding: .utf8) }
        #expect(files[0].contains(#""connection":"1""#) && files[1].contains("stream 1 on connection 1 (h2), 0 others"))
        #expect(files[2].hasPrefix("HTTP/2 200 \r\n") && files[0].contains(#""httpVersion":"HTTP/2""#))
        #expect((files + [run.text]).allSatisfy { !$0.contains("HTTP/2.0") }, "\(files) \(run.text)")
    }

    @Test("an error status has its phrase") func errorStatus() async throws {
        let server = HTTP2Server(.nghttpd, isSecure: false)
        try server.start()
        defer { server.stop() }
        let run = try await Tool.run(["get", "-f", "--http2-prior-knowledge", server.url("/missing")])
        #expect(
            run.status == 22 && run.errors == "netkit: The server responded: HTTP/2 404 Not Found.\n", "\(run.text)")
    }

    @Test("a server without HTTP/2, with TLS", arguments: [[], ["http/1.1"]])
    func secureServerWithoutHTTP2(_ protocols: [String]) async throws {
        let server = OpenSSLServer(.statusPage, applicationProtocols: protocols)
        try server.start()
        defer { server.stop() }
        let line = ["get", "--cacert", try CertificateAuthority.shared().root, "https://localhost:\(server.port)/"]
        let usual = try await Tool.run(line + ["--http2", "-w", "%{http_version}"])
        #expect(usual.status == 0 && usual.output.hasSuffix("1.0"), "\(usual.text)")
        let run = try await Tool.run(line + ["--http2-prior-knowledge"])
        // Without a list of its own, the server ignores the client's.
        let (status, words): (Int32, String) =
            protocols.isEmpty ? (8, "The server does not speak HTTP/2") : (35, "no application protocol")
        #expect(run.status == status && run.output.isEmpty && run.errors.contains(words), "\(run.text)")
    }

    @Test("a server without HTTP/2, and without TLS") func serverWithoutHTTP2() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            // Closing with unread bytes could destroy the answer.
            try connection.readToEnd()
        }
        defer { server.stop() }
        let run = try await Tool.run(["get", "--http2-prior-knowledge", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 8 && run.errors.contains("the peer speaks HTTP/1.1 and not HTTP/2"), "\(run.text)")
    }

    @Test(
        "names of versions and statuses",
        arguments: [
            (HTTPVersion.http10, "HTTP/1.0", "HTTP/1.0 404 Not Found", "HTTP/1.0 404 Not Found"),
            (.http11, "HTTP/1.1", "HTTP/1.1 404 Not Found", "HTTP/1.1 404 Not Found"),
            (.http20, "HTTP/2", "HTTP/2 404 ", "HTTP/2 404 Not Found"),
        ])
    func names(_ version: HTTPVersion, _ name: String, _ line: String, _ status: String) throws {
        let response = try HTTPResponse(status: .notFound, version: version)
        #expect(version.shown == name && response.firstLine == line && response.shownStatus == status)
    }
}
