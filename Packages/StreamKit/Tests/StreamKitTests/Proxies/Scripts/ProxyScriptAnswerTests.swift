import Testing

@testable import StreamKit

/// The answers of scripts (SK-131).
struct ProxyScriptAnswerTests {
    @Test(arguments: [
        ("DIRECT", ["direct"]),
        ("", ["direct"]), (" ; ;", ["direct"]),
        ("PROXY a:1; SOCKS5 b:2; DIRECT", ["http://a:1", "socks5h://b:2", "direct"]),
        ("proxy a.example ;https b", ["http://a.example:80", "https://b:443"]),
        ("SOCKS c; SOCKS4 d:9;HTTP e:8", ["socks5h://c:1080", "socks4://d:9", "http://e:8"]),
        ("PROXY\ta:1;\nPROXY a:1;PROXY [::1]:3128", ["http://a:1", "http://[::1]:3128"]),
        ("QUIC a:1; PROXY b:2; PROXY c d; PROXY; PROXY e:99999; PROXY f:x", ["http://b:2"]),
        ("PROXY user@a:1; PROXY a/b:1; DIRECT", ["direct"]),
        ("DIRECT;", ["direct"]), (";DIRECT", ["direct"]),
    ])
    func reads(_ text: String, _ expected: [String]) throws {
        #expect(try ProxyScriptAnswer(text).choices.map(\.description) == expected)
    }

    @Test(arguments: ["PROXY", "undefined", "null", "QUIC a:1", "PROXY a b", "PROXY a:0", "\u{0}", "DIRECT now"])
    func refuses(_ text: String) {
        let error = #expect(throws: StreamError.self) { try ProxyScriptAnswer(text) }
        #expect(error?.domain == .http && error?.code == 308)
        #expect(error?.description.contains("names no proxy") == true)
    }

    @Test func bounded() {
        let most = ProxyScriptAnswer.mostEntries
        let entries = (1...most + 1).map { "PROXY a:\($0)" }
        #expect((try? ProxyScriptAnswer(entries.dropLast().joined(separator: ";")).choices.count) == most)
        let error = #expect(throws: StreamError.self) { try ProxyScriptAnswer(entries.joined(separator: ";")) }
        #expect(error?.description.contains("64") == true)
    }
}
