import Glibc
import HostResolver
import Testing

@testable import StreamKit

@Suite("SK-120: settings in a file") struct ProxySettingsFileTests {
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

    @Test("no file, no settings; a file that is too large or cannot be read is an error")
    func files() throws {
        let file = TestFile()
        #expect(try ProxySettings.file(file.path) == nil)
        #expect(try ProxySettings.file(file.path + "/below") == nil)
        let good = TestFile(Array("http_proxy=a".utf8))
        #expect(try ProxySettings.file(good.path)?.http.count == 1)
        let large = TestFile(Array(repeating: UInt8(ascii: "#"), count: ProxySettings.largestFile + 1))
        #expect(throws: StreamError(posix: EFBIG)) { try ProxySettings.file(large.path) }
        #expect(throws: StreamError(posix: EISDIR)) { try ProxySettings.file("/") }
        #expect(throws: Never.self) { try ProxySettings.file("/dev/null") }
    }
}
