import FoundationEssentials
import Glibc
import Testing

@testable import StreamKit

@Suite("SK-120, SK-124 to SK-128: choosing proxies") struct ProxySettingsTests {
    private func choices(_ settings: ProxySettings, _ url: String) throws -> [String] {
        settings.choices(for: try #require(URL(string: url))).map(\.description)
    }

    @Test("SK-124: the scheme's proxies, then those for every URL, else direct")
    func order() throws {
        var settings = ProxySettings()
        #expect(settings.isEmpty)
        #expect(try choices(settings, "http://a.test/") == ["direct"])
        settings.http = [try ProxyServer("h1"), try ProxyServer("h2")]
        settings.ftp = [try ProxyServer("f")]
        settings.others = [try ProxyServer("socks5h://s"), try ProxyServer("h1")]
        #expect(try choices(settings, "http://a.test/") == ["http://h1:80", "http://h2:80", "socks5h://s:1080"])
        #expect(try choices(settings, "HTTPS://a.test/") == ["socks5h://s:1080", "http://h1:80"])
        #expect(try choices(settings, "ftp://a.test/") == ["http://f:80", "socks5h://s:1080", "http://h1:80"])
        #expect(try choices(settings, "ftps://a.test/").first == "http://f:80")
        #expect(try choices(settings, "imap://a.test/").first == "socks5h://s:1080")
        #expect(try choices(settings, "file:///a") == ["direct"])
        settings.script = .url("http://wpad/wpad.dat")
        #expect(try choices(settings, "http://a.test/") == ["script at http://wpad/wpad.dat"])
        #expect(!settings.isEmpty)
    }

    @Test("SK-128: this machine, simple names and the list are direct; the scheme has a default port")
    func bypass() throws {
        var settings = ProxySettings()
        settings.others = [try ProxyServer("p")]
        settings.script = .text("…")
        settings.bypass = ProxyBypassList(noProxy: "a.test:443,b.test:21")
        for url in [
            "http://localhost/", "http://x.localhost/", "http://127.9.9.9/", "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            #expect(try choices(settings, url) == ["direct"], "\(url)")
        }
        #expect(try choices(settings, "https://a.test/") == ["direct"])
        #expect(try choices(settings, "http://a.test/") == ["script"])
        #expect(try choices(settings, "http://a.test:443/") == ["direct"])
        #expect(try choices(settings, "ftp://b.test/") == ["direct"])
        #expect(try choices(settings, "http://intranet/") == ["script"])
        settings.bypassesSimpleNames = true
        #expect(try choices(settings, "http://intranet/") == ["direct"])
        settings.bypassesLoopback = false
        #expect(try choices(settings, "http://127.0.0.1/") == ["script"])
    }

    @Test(
        "SK-120: the environment, in both cases, and never HTTP_PROXY",
        arguments: [
            ([:], "http", "direct"),
            (["http_proxy": "p:1"], "http", "http://p:1"),
            (["http_proxy": "p:1"], "https", "direct"),
            (["HTTP_PROXY": "evil:1"], "http", "direct"),
            (["HTTP_PROXY": "evil:1", "ALL_PROXY": "p:1"], "http", "http://p:1"),
            (["HTTPS_PROXY": "p:1"], "https", "http://p:1"),
            (["HTTPS_PROXY": "p:1", "https_proxy": "q:1"], "https", "http://q:1"),
            (["HTTPS_PROXY": "p:1", "https_proxy": ""], "https", "http://p:1"),
            (["FTP_PROXY": "p:1"], "ftp", "http://p:1"),
            (["all_proxy": "socks5://p"], "http", "socks5://p:1080"),
            (["http_proxy": "p:1", "all_proxy": "socks5://q"], "http", "http://p:1, socks5://q:1080"),
            (["all_proxy": "p:1", "no_proxy": "a.test"], "http", "direct"),
            (["all_proxy": "p:1", "NO_PROXY": "a.test"], "http", "direct"),
            (["all_proxy": "p:1", "no_proxy": "b.test", "NO_PROXY": "a.test"], "http", "http://p:1"),
            (["all_proxy": "p:1", "no_proxy": "*"], "http", "direct"),
        ] as [([String: String], String, String)])
    func environment(_ variables: [String: String], _ scheme: String, _ expected: String) throws {
        let settings = try ProxySettings.environment(variables)
        #expect(try choices(settings, "\(scheme)://a.test/").joined(separator: ", ") == expected)
    }

    @Test("an error names the variable and does not repeat its value")
    func badVariable() throws {
        let error = try #require(throws: StreamError.self) {
            try ProxySettings.environment(["HTTPS_PROXY": "gopher://me:s3cr3t@p"])
        }
        #expect(error.isPOSIX(EINVAL))
        #expect("\(error)".contains("HTTPS_PROXY") && !error.debugDescription.contains("s3cr3t"))
    }

    @Test("this process's own environment is read")
    func ownEnvironment() throws {
        _ = try ProxySettings.environment()
    }
}
