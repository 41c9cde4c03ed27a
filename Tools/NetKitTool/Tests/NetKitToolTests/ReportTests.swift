import Foundation
import Peers
import Testing

@testable import netkit

/// The report of a load: a redirect and a login have rows of their own, in every form.
@Suite struct ReportTests {
    /// A server that redirects to a page with a login.
    private static func server() throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            while let head = try? connection.readHead() {
                let text = head
                let isSigned = text.lowercased().contains("authorization: basic")
                let answer =
                    text.hasPrefix("GET /page")
                    ? isSigned
                        ? "200 OK\r\nSet-Cookie: id=topsecret\r\nContent-Length: 4\r\n\r\nbody"
                        : "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"<Room>\"\r\nContent-Length: 0\r\n\r\n"
                    : "302 Found\r\nLocation: /page\r\nContent-Length: 0\r\n\r\n"
                try connection.send("HTTP/1.1 \(answer)")
            }
        }
    }

    private func get(_ options: [String], _ environment: [String: String] = [:]) async throws -> Tool.Run {
        let server = try Self.server()
        return try await Tool.run(
            ["get", "-L", "-u", "ann:hunter2", "http://127.0.0.1:\(server.port)/"] + options, environment: environment)
    }

    @Test("A row for each redirect and login, and aligned bars") func waterfall() async throws {
        let run = try await get(["--report"], ["LC_ALL": "C"])
        let lines = run.errors.split(separator: "\n").map(String.init)
        #expect(run.status == 0 && lines.contains { $0.hasPrefix("redirect: GET ") }, "\(run.text)")
        #expect(lines.contains { $0.hasPrefix("login: GET ") && $0.contains("200 OK") }, "\(run.text)")
        let steps = lines.filter { !$0.contains("GET ") && $0.contains("#") }
        // The column of the time is the same in all rows.
        #expect(Set(steps.compactMap { $0.range(of: " ms")?.lowerBound.utf16Offset(in: $0) }).count == 1)
        #expect(steps.contains { $0.hasPrefix("body ") } && steps.contains { $0.hasPrefix("waiting ") })
        #expect(run.errors.utf8.allSatisfy { $0 < 0x7F } && !run.errors.contains("\u{1b}"))
    }

    @Test("JSON has all hops") func json() async throws {
        let run = try await get(["--json"])
        let object = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        let hops = try #require(object?["hops"] as? [[String: Any]])
        #expect(hops.map { $0["status"] as? Int } == [302, 401, 200])
        #expect(hops.map { $0["cause"] as? String } == ["request", "redirect", "login"])
    }

    @Test func styleOfTerminal() {
        #expect(!TerminalStyle(isTerminal: false, environment: [:]).hasColour)
        #expect(TerminalStyle(isTerminal: true, environment: ["LANG": "C.UTF-8"]).isUnicode)
        #expect(TerminalStyle(isTerminal: true, environment: [:]).hasColour)
        #expect(!TerminalStyle(isTerminal: true, environment: ["NO_COLOR": "1"]).hasColour)
        #expect(!TerminalStyle(isTerminal: true, environment: ["TERM": "dumb"]).hasColour)
        #expect(!TerminalStyle(isTerminal: true, environment: ["LC_ALL": "C", "LANG": "de_DE.UTF-8"]).isUnicode)
        #expect(TerminalStyle(isTerminal: true, environment: ["LC_ALL": "", "LANG": "de_DE.utf8"]).isUnicode)
    }
}
