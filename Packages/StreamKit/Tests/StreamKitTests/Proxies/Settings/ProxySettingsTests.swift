import FoundationEssentials
import Glibc
import HostResolver
import Testing

@testable import StreamKit
@testable import StreamProxies

@Suite("SK-120, SK-124 to SK-128: choosing proxies") struct ProxySettingsTests {
    private func choices(_ settings: ProxySettings, _ url: String) throws -> [String] {
        settings.choices(for: try #require(URL(string: url))).map(\.description)
    }

    // Parity: SK-124
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

    // Parity: SK-128
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

    // Parity: SK-120, SK-127
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

@Suite("SK-120: settings in a file") struct ProxySettingsFileTests {
    // Parity: SK-127
    @Test("every name, quotes, export, comments, several proxies")
    func reads() throws {
        let settings = try ProxySettings(
            fileText: """
                # a comment = http_proxy
                  export http_proxy = "http://a.test:1, socks5://b.test"

                HTTPS_PROXY='c.test:2'
                ftp_proxy=d.test\r
                all_proxy = socks5h://e.test
                no_proxy=f.test,10/8
                exclude_simple_hostnames = YES
                bypass_loopback=off
                ftp_passive = 1
                auto_config_url = http://wpad/wpad.dat
                PATH=/usr/bin
                """)
        #expect(settings.http.map(\.description) == ["http://a.test:1", "socks5://b.test:1080"])
        #expect(settings.https == [ProxyServer(.http, host: "c.test", port: 2)])
        #expect(settings.ftp == [ProxyServer(.http, host: "d.test")])
        #expect(settings.others == [ProxyServer(.socks5h, host: "e.test")])
        #expect(settings.bypass == ProxyBypassList(noProxy: "f.test,10/8"))
        #expect(settings.bypassesSimpleNames && !settings.bypassesLoopback && settings.usesPassiveFTP == true)
        #expect(settings.script == .url("http://wpad/wpad.dat"))
        let exceptions = try ProxySettings(fileText: "exceptions = a.test, *.b.test")
        #expect(exceptions.bypass == ProxyBypassList(exceptions: ["a.test", "*.b.test"]))
        #expect(try ProxySettings(fileText: "") == ProxySettings())
        #expect(try ProxySettings(fileText: "http_proxy=\nauto_config_url=").isEmpty)
    }

    @Test(
        "an error names the line and does not repeat it",
        arguments: [
            "http_proxy", "http_proxy = \"http://me:s3cr3t@a", "http_proxy = 'http://me:s3cr3t@a\"",
            "all_proxy = x://me:s3cr3t@a", "ftp_passive = s3cr3t",
        ])
    func wrongLines(_ line: String) throws {
        let error = try #require(throws: StreamError.self) { try ProxySettings(fileText: "# first\n\n\(line)\n") }
        #expect(error.isPOSIX(EINVAL))
        #expect("\(error)".hasPrefix("Line 3 of the proxy settings is invalid."))
        #expect(!error.debugDescription.contains("s3cr3t"))
    }

    @Test("lines end as in other programs: text in other scripts cannot end a comment")
    func lineEnds() throws {
        for separator in ["\u{85}", "\u{2028}", "\u{C}"] {
            let settings = try ProxySettings(fileText: "# by hand\(separator)http_proxy=evil\r\nhttps_proxy = b\r\n")
            #expect(settings.http.isEmpty && settings.https.map(\.host) == ["b"])
        }
    }

    @Test("no file, no settings; a file that is too large or cannot be read is an error")
    func files() throws {
        let file = TestFile()
        #expect(try ProxySettings.file(file.path) == nil)
        #expect(try ProxySettings.file(file.path + "/below") == nil)
        let good = TestFile(Array("http_proxy=a".utf8))
        #expect(try ProxySettings.file(good.path)?.http.count == 1)
        let large = TestFile(Array(repeating: UInt8(ascii: "#"), count: ProxySettings.maximumFileSize + 1))
        #expect(throws: StreamError(posix: EFBIG)) { try ProxySettings.file(large.path) }
        #expect(throws: StreamError(posix: EISDIR)) { try ProxySettings.file("/") }
        #expect(throws: Never.self) { try ProxySettings.file("/dev/null") }
    }
}

/// The sources of a machine's settings (SK-120).
struct SystemProxySettingsTests {
    @Test func sourcesOfSettings() {
        #expect(
            ProxySettings.systemFiles { ["HOME": "/home/ann"][$0] }
                == ["/home/ann/.config/netkit/proxies", "/etc/netkit/proxies"])
        #expect(
            ProxySettings.systemFiles { ["HOME": "/home/ann", "XDG_CONFIG_HOME": "/conf"][$0] }
                == ["/conf/netkit/proxies", "/etc/netkit/proxies"])
        #expect(
            ProxySettings.systemFiles { ["HOME": "/home/ann", "XDG_CONFIG_HOME": "relative"][$0] }.first
                == "/home/ann/.config/netkit/proxies")
        #expect(ProxySettings.systemFiles { _ in nil } == ["/etc/netkit/proxies"])
    }

    @Test("The environment, the user's file, the machine's: the first that applies is used as a whole")
    func order() throws {
        var template = Array("/tmp/netkit-proxies-XXXXXX".utf8CString)
        let folder = String(cString: try #require(mkdtemp(&template)))
        let (user, machine) = ("\(folder)/user", "\(folder)/machine")
        defer {
            unlink(user)
            unlink(machine)
            rmdir(folder)
        }
        func write(_ text: String, _ path: String) throws {
            let stream = WriteStream(path: path)
            try stream.open()
            try stream.writeAll(Array(text.utf8))
            stream.close()
        }
        func system(_ variables: [String: String] = [:]) throws -> ProxySettings? {
            try ProxySettings.system(
                .environment(variables), hasBypass: variables["no_proxy"] != nil, files: [user, machine])
        }
        #expect(try system() == nil)
        #expect(try system(["no_proxy": "*"]) == nil)
        try write("http_proxy = http://machine:1\nno_proxy = .example\n", machine)
        #expect(try system()?.http.first?.host == "machine")
        #expect(try system(["http_proxy": "http://env:1"])?.http.first?.host == "env")
        #expect(try system(["http_proxy": "http://env:1"])?.bypass == ProxyBypassList.none, "sources are not mixed")
        let bypassed = try #require(try system(["no_proxy": "other"]))
        #expect(bypassed.http.first?.host == "machine" && bypassed.bypass == ProxyBypassList(noProxy: "other"))
        try write("# none\n", user)
        #expect(try system()?.isEmpty == true, "an existing file takes effect")
        try write("http_proxy = :::\n", user)
        #expect(throws: StreamError.self) { try system() }
    }
}
