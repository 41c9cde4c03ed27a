import FoundationEssentials
import HostResolver
import Testing

@testable import StreamKit
@testable import StreamProxies

/// The conversation between a program and the process that runs a script, without either.
struct ProxyScriptConversationTests {
    private typealias Conversation = ProxyScriptConversation

    private static func make() throws -> Conversation {
        let url = try #require(URL(string: "http://www.example/a"))
        return Conversation("var x;", try #require(ProxyScriptQuestion(url)))
    }

    private static func frame(_ letter: Unicode.Scalar, _ text: String = "") -> [UInt8] {
        Conversation.frame(letter, Array(text.utf8))
    }

    private static let ready = frame("R", ProxyScriptEngine.javaScriptCore.name)
    private static let old = frame("R", ProxyScriptEngine.pacparser.name)

    @Test func succeedsAtEverySplit() throws {
        let bytes = Self.ready + Self.frame("N", "a.example") + Self.frame("O") + Self.frame("A", "PROXY p:1")
        for split in 0...bytes.count {
            var conversation = try Self.make()
            var steps: [Conversation.Step] = []
            for part in [bytes[..<split], bytes[split...]] where !part.isEmpty {
                conversation.receive(part)
                while case let step = try conversation.next(), step != .receive {
                    steps.append(step)
                    if case .finish = step { break }
                }
            }
            let request = Self.frame("Q", "http://www.example/a\u{0}www.example\u{0}var x;")
            let proxy = ProxyChoice.server(ProxyServer(.http, host: "p", port: 1))
            #expect(steps == [.send(request), .lookUp("a.example"), .lookUp(nil), .finish([proxy])])
        }
    }

    @Test func repliesHoldAddressesAlone() throws {
        var conversation = try Self.make()
        conversation.receive(Self.ready + Self.frame("N", "a") + Self.frame("O"))
        _ = try conversation.next()
        _ = try conversation.next()
        let addresses = ["192.0.2.1", "fe80::1%1", "2001:DB8::1"].compactMap { IPAddress($0) }
        let replies = (conversation.found(addresses), conversation.found([]))
        #expect(replies.0 == Self.frame("L", "192.0.2.1;2001:db8::1"))
        #expect(replies.1 == Self.frame("L"))
        _ = try conversation.next()
        let own = conversation.found([])
        #expect(own == Self.frame("L", "127.0.0.1"))
    }

    @Test(
        arguments: [
            ([], "ended before it was ready", nil),
            (
                frame("M"), "Install the Debian package libjavascriptcoregtk-6.0-1, or libpacparser1.",
                .scriptNotRunnable
            ),
            (frame("A", "DIRECT"), "ended before it was ready", nil),
            (frame("R", "another engine"), "ended before it was ready", nil),
            (frame("N", "a"), "ended before it was ready", nil),
            (ready, "without an answer", nil),
            (ready + [0x41, 9, 0, 0, 0] + "DIRECT".utf8, "without an answer", nil),
            (ready + ready, "failed", nil),
            (ready + frame("P", "line 1: missing ;"), "cannot be read: line 1: missing ;.", .scriptInvalid),
            (ready + frame("F", "\u{1B}[31mred\n"), "failed: ?[31mred.", nil),
            (old + frame("P", "line 1"), "cannot be read: line 1. libpacparser knows only", .scriptNotRunnable),
            (old + frame("F", "line 1"), "package libjavascriptcoregtk-6.0-1 knows today's.", nil),
            (ready + frame("I"), "failed: it gave no reason.", nil),
            (ready + [0x41, 1, 0x40, 0, 0], "longer than the limit of 16384", nil),
            (ready + [0x41, 0xFF, 0xFF, 0xFF, 0xFF], "longer than the limit of 16384", nil),
            (ready + (0...ProxyScript.maximumNames).flatMap { frame("N", "n\($0)") }, "more than 64 names", nil),
        ] as [([UInt8], String, StreamErrorReason?)])
    func fails(_ bytes: [UInt8], _ words: String, _ reason: StreamErrorReason?) throws {
        var conversation = try Self.make()
        conversation.receive(bytes)
        let error = #expect(throws: StreamError.self) {
            while true {
                let step = try conversation.next()
                if step == .receive { conversation.receive([]) }
            }
        }
        #expect(error?.domain == .http && error?.code == 308 && error?.reason == reason)
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func answersNeedNotBeText() throws {
        var conversation = try Self.make()
        conversation.receive(Self.ready + Conversation.frame("A", [0xFF, 0x3B] + Array("PROXY a:1".utf8)))
        _ = try conversation.next()
        let step = try conversation.next()
        #expect(step == .finish([.server(ProxyServer(.http, host: "a", port: 1))]))
    }
}

/// The questions to scripts.
struct ProxyScriptQuestionTests {
    @Test(arguments: [
        ("http://www.example/a/b?c=d#e", "http://www.example/a/b?c=d", "www.example"),
        ("HTTP://Me:Secret@WWW.example:8080", "http://www.example:8080/", "www.example"),
        ("https://www.example/secret?token=1", "https://www.example/", "www.example"),
        ("ftp://h/dir/file", "ftp://h/dir/file", "h"),
        ("socket://h:22", "socket://h:22/", "h"),
        ("http://[2001:DB8::1]:80/", "http://[2001:db8::1]:80/", "2001:db8::1"),
        ("http://h/it's?a='b'", "http://h/it%27s?a=%27b%27", "h"),
    ])
    func tells(_ text: String, _ url: String, _ host: String) throws {
        let parsed = try #require(URL(string: text))
        let question = try #require(ProxyScriptQuestion(parsed))
        #expect(question.url == url && question.host == host)
    }

    @Test(arguments: ["file:///etc/hosts", "relative", "mailto:me@example"])
    func noHost(_ text: String) throws {
        let parsed = try #require(URL(string: text))
        #expect(ProxyScriptQuestion(parsed) == nil)
    }

    /// No URL can end the JavaScript string that contains it.
    @Test(arguments: ["'", "%27", "\\", "%5C", "\"", "%0A", "\u{2028}", "<", "`"])
    func harmless(_ letter: String) throws {
        for text in ["http://h/\(letter)", "http://h/?\(letter)", "http://a\(letter)b/"] {
            guard let url = URL(string: text), let question = ProxyScriptQuestion(url) else { continue }
            let all = question.url + question.host
            #expect(!all.contains { "'\"\\`<".contains($0) || $0.isNewline || !$0.isASCII }, "\(all)")
        }
    }

    @Test func long() throws {
        let url = try #require(
            URL(string: "http://h/" + String(repeating: "a", count: ProxyScriptQuestion.maximumURLLength)))
        #expect(ProxyScriptQuestion(url)?.url == "http://h/")
    }
}

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
        // U+0301 and U+0D4E form one character with the delimiter before or after them.
        ("PROXY a:1;\u{301}x; DIRECT", ["http://a:1", "direct"]), ("PROXY a\u{D4E}@b:1; DIRECT", ["direct"]),
    ])
    func reads(_ text: String, _ expected: [String]) throws {
        #expect(try ProxyScriptAnswer(text).choices.map(\.description) == expected)
    }

    @Test(arguments: [
        "PROXY", "undefined", "null", "QUIC a:1", "PROXY a b", "PROXY a:0", "\u{0}", "DIRECT now",
        "PROXY a:1\u{37E}DIRECT",
    ])
    func refuses(_ text: String) {
        let error = #expect(throws: StreamError.self) { try ProxyScriptAnswer(text) }
        #expect(error?.domain == .http && error?.code == 308)
        #expect(error?.description.contains("names no proxy") == true)
    }

    @Test func bounded() {
        let most = ProxyScriptAnswer.maximumEntries
        let entries = (1...most + 1).map { "PROXY a:\($0)" }
        #expect((try? ProxyScriptAnswer(entries.dropLast().joined(separator: ";")).choices.count) == most)
        let error = #expect(throws: StreamError.self) { try ProxyScriptAnswer(entries.joined(separator: ";")) }
        #expect(error?.description.contains("64") == true)
    }
}
