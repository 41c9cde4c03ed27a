import Foundation
import StreamKit
import StreamKitFoundation
import Testing

/// Proxy settings from dictionaries with the keys of Apple's systems.
struct ProxyDictionaryTests {
    private func choices(_ settings: ProxySettings, _ url: String) throws -> [String] {
        settings.choices(for: try #require(URL(string: url))).map(\.description)
    }

    // Parity: SK-127
    @Test("SK-127: a missing Enable is on, and a missing port the default")
    func hosts() throws {
        let settings = try ProxySettings(dictionary: [
            "HTTPProxy": "h.test", "HTTPSProxy": "s.test", "HTTPSPort": 3128, "HTTPSEnable": 1, "FTPProxy": "f.test",
            "FTPEnable": false, "SOCKSProxy": "k.test", "RTSPProxy": "r.test", "ProxyAutoDiscoveryEnable": 1,
        ])
        #expect(try choices(settings, "http://a.test/") == ["http://h.test:80", "socks5h://k.test:1080"])
        #expect(try choices(settings, "https://a.test/") == ["http://s.test:3128", "socks5h://k.test:1080"])
        #expect(try choices(settings, "ftp://a.test/") == ["socks5h://k.test:1080"])
        #expect(settings.usesPassiveFTP == nil && settings.script == nil && !settings.bypassesSimpleNames)
        #expect(try ProxySettings(dictionary: [:]).isEmpty)
    }

    // Parity: SK-127
    @Test("SK-127: exceptions, passive mode and scripts")
    func rest() throws {
        var values: [String: Any] = [
            "HTTPProxy": "h.test", "ExceptionsList": ["*.inner.test", "10/8"], "ExcludeSimpleHostnames": 1,
            "FTPPassive": 0, "ProxyAutoConfigURLString": "http://wpad/wpad.dat", "ProxyAutoConfigEnable": 0,
        ]
        var settings = try ProxySettings(dictionary: values)
        for url in ["http://a.inner.test/", "http://10.1.2.3/", "http://intranet/", "http://localhost/"] {
            #expect(try choices(settings, url) == ["direct"], "\(url)")
        }
        #expect(settings.usesPassiveFTP == false && settings.script == nil)
        values["ProxyAutoConfigEnable"] = nil
        settings = try ProxySettings(dictionary: values)
        #expect(settings.script == .url("http://wpad/wpad.dat"))
        values["ProxyAutoConfigJavaScript"] = "function FindProxyForURL(url, host) {}"
        settings = try ProxySettings(dictionary: values)
        #expect(settings.script == .text("function FindProxyForURL(url, host) {}"))
    }

    @Test(
        "an invalid value is an error with its key",
        arguments: [
            ["HTTPProxy": ""], ["HTTPProxy": 5], ["HTTPProxy": "h", "HTTPPort": 0],
            ["HTTPProxy": "h", "HTTPPort": 70_000],
            ["HTTPProxy": "h", "HTTPPort": "x"], ["ExceptionsList": "a"], ["FTPPassive": "yes"],
            ["ProxyAutoConfigURLString": 1],
        ] as [[String: any Sendable]])
    func invalid(_ values: [String: any Sendable]) throws {
        let error = #expect(throws: StreamError.self) { try ProxySettings(dictionary: values) }
        #expect(error?.isPOSIX(EINVAL) == true)
        #expect(values.keys.contains { error?.description.contains($0) == true })
        // A value that is off is not read.
        #expect(throws: Never.self) { try ProxySettings(dictionary: ["HTTPEnable": 0, "HTTPProxy": 5]) }
    }
}
