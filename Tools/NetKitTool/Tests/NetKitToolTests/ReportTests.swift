import Foundation
import Peers
import Testing

@testable import netkit

/// The report of a load: a redirect and a login have rows of their own, in every form.
@Suite struct ReportTests {
    private func get(_ options: [String], _ environment: [String: String] = [:]) async throws -> Tool.Run {
        let server = try ScriptedServer.withLogin()
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

    @Test("The object of a transfer with an error status has an error, too") func errorStatus() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            _ = try connection.readHead()
            try connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        }
        let run = try await Tool.run(["get", "--json", "http://127.0.0.1:\(server.port)/"])
        let object = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        let error = try #require(object?["error"] as? [String: Any], "\(run.text)")
        #expect(error["sentence"] as? String == "The server responded: HTTP/1.1 404 Not Found." && run.status == 22)
    }

    @Test("The archive has every request, and no secrets") func archive() async throws {
        let folder = try TemporaryFolder()
        let (har, page) = (folder.file("a.har"), folder.file("a.html"))
        let run = try await get(["--har", har, "--report=html", page])
        #expect(run.status == 0 && run.output == "body", "\(run.text)")
        let data = try Data(contentsOf: URL(fileURLWithPath: har))
        let log = try #require(
            (try JSONSerialization.jsonObject(with: data) as? [String: Any])?["log"] as? [String: Any])
        let entries = try #require(log["entries"] as? [[String: Any]])
        #expect(log["version"] as? String == "1.2" && entries.count == 3)
        for entry in entries {
            let required = ["startedDateTime", "time", "request", "response", "cache", "timings"]
            #expect(required.allSatisfy { entry[$0] != nil })
            let timings = try #require(entry["timings"] as? [String: Double])
            let sum = timings.filter { $0.key != "ssl" && $0.value > 0 }.values.reduce(0, +)
            #expect(abs(sum - (entry["time"] as? Double ?? -1)) < 0.1, "\(timings)")
            #expect(entry["serverIPAddress"] as? String == "127.0.0.1")
        }
        let text = String(decoding: data, as: UTF8.self)
        #expect(!text.contains("topsecret") && !text.contains("hunter2") && !text.contains("YW5uOmh1bnRlcjI"))
        let html = try String(contentsOfFile: page, encoding: .utf8)
        #expect(html.contains("<!DOCTYPE html>") && html.contains("login: GET") && html.contains("200 OK"))
        #expect(!html.contains("src=") && !html.contains("<script") && !html.contains("hunter2"))
        let mode = try FileManager.default.attributesOfItem(atPath: har)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("Markup from a peer is escaped in the page") func escapesMarkup() {
        var page = HTMLPage(title: "<title>")
        page.add("<p>\(escaping: "<script>'\"&")</p>")
        #expect(page.text.text.contains("<p>&lt;script&gt;&#39;&quot;&amp;</p>"))
        #expect(page.text.text.contains("<h1>&lt;title&gt;</h1>"))
        // U+0D4E and U+0301 form one character with the sign after or before them.
        var joined = HTMLPage(title: "")
        joined.add("\(escaping: "\u{d4e}<b\u{d4e}>\u{d4e}\"\u{d4e}'\u{d4e}&<\u{301}")")
        let expected = "\u{d4e}&lt;b\u{d4e}&gt;\u{d4e}&quot;\u{d4e}&#39;\u{d4e}&amp;&lt;\u{301}"
        #expect(joined.text.text.utf8.contains(expected.utf8))
    }

    @Test func punctuationOfLocale() {
        let ascii = TerminalStyle(isTerminal: false, environment: ["LC_ALL": "C"])
        #expect(ascii.plain("“CN=é” …") == "\"CN=é\" ...")
        #expect(TerminalStyle(isTerminal: false, environment: ["LANG": "C.UTF-8"]).plain("“x”") == "“x”")
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
