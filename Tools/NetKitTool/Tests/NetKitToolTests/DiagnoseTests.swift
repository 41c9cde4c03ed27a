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
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("diagnose-\(UUID()).html")
        defer { try? FileManager.default.removeItem(at: folder) }
        let run = try await Tool.run(
            ["diagnose", "--html", folder.path, "http://127.0.0.1:9/"], environment: ["LC_ALL": "C.UTF-8"])
        let lines = run.output.split(separator: "\n")
        #expect(run.status == 1 && lines.contains { $0.hasPrefix("✘ connection ") }, "\(run.text)")
        #expect(lines.contains("- answer"), "\(run.text)")
        let page = try String(contentsOf: folder, encoding: .utf8)
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
}
