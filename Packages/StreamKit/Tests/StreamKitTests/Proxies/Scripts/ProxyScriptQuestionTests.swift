import FoundationEssentials
import Testing

@testable import StreamKit

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
        let url = try #require(URL(string: "http://h/" + String(repeating: "a", count: ProxyScriptQuestion.longestURL)))
        #expect(ProxyScriptQuestion(url)?.url == "http://h/")
    }
}
