import Glibc
import HostResolver
import Testing

@testable import StreamKit
@testable import StreamProxies

@Suite("proxies as settings name them") struct ProxyServerTests {
    // Parity: SK-126
    @Test(
        "kinds, ports, users",
        arguments: [
            ("proxy.example", ProxyServer(.http, host: "proxy.example", port: 80)),
            ("proxy.example:3128/", ProxyServer(.http, host: "proxy.example", port: 3128)),
            ("HTTP://proxy.example", ProxyServer(.http, host: "proxy.example", port: 80)),
            ("https://proxy.example", ProxyServer(.https, host: "proxy.example", port: 443)),
            ("socks4://10.0.0.1", ProxyServer(.socks4, host: "10.0.0.1", port: 1080)),
            ("socks4a://10.0.0.1:9", ProxyServer(.socks4a, host: "10.0.0.1", port: 9)),
            ("socks5://[::1]:9050", ProxyServer(.socks5, host: "::1", port: 9050)),
            ("socks5h://[::1]", ProxyServer(.socks5h, host: "::1", port: 1080)),
            ("socks://p", ProxyServer(.socks5h, host: "p", port: 1080)),
            ("http://me@p:1", ProxyServer(.http, host: "p", port: 1, user: "me")),
            ("http://me:a%40b%3Ac@p:1", ProxyServer(.http, host: "p", port: 1, user: "me", password: "a@b:c")),
            ("http://me:a:b@c@p:1", ProxyServer(.http, host: "p", port: 1, user: "me", password: "a:b@c")),
            ("http://:@p", ProxyServer(.http, host: "p", port: 80, user: "", password: "")),
            // U+0301 and U+0D4E form one character with the delimiter before or after them.
            ("http://me:\u{301}a@p:1", ProxyServer(.http, host: "p", port: 1, user: "me", password: "\u{301}a")),
            ("http://me\u{D4E}@p:1", ProxyServer(.http, host: "p", port: 1, user: "me\u{D4E}")),
        ])
    func reads(_ text: String, _ server: ProxyServer) throws {
        #expect(try ProxyServer(text) == server)
    }

    @Test(
        "an invalid text is refused and not repeated",
        arguments: [
            "", "http://", "ldap://s3cr3t@p", "http://me:s3cr3t@p:0", "http://me:s3cr3t@p:65536",
            "http://me:s3cr3t@p:x",
            "http://me:s3cr3t@p:1:2", "http://me:s3cr3t@p/path", "http://me:s3cr3t@p?q", "http://me:s3cr3t%4@p",
            "http://me:s3cr3t%ff@p", "http://me:s3cr3t@[p]", "http://me:s3cr3t@[::1]x", "http://me:s3cr3t@a b",
            "http://me:s3cr3t@::1", "http://me:s3cr3t@p:+1", "http://s3cr3t:1:2", "socks4://me:s3cr3t@p",
            "socks4a://me:s3cr3t@p", "http://p:1/\u{301}@evil.example", "http://p?\u{301}@evil.example",
        ])
    func refuses(_ text: String) throws {
        let error = try #require(throws: StreamError.self) { try ProxyServer(text) }
        #expect(error.isPOSIX(EINVAL))
        #expect(!error.debugDescription.contains("s3cr3t"))
    }

    @Test("no description contains the password")
    func secrets() throws {
        let server = try ProxyServer("socks5://me:s3cr3t@p")
        var dumped = "\(server) \(String(reflecting: server)) \(ProxyChoice.server(server))"
        dump(server, to: &dumped)
        #expect(!dumped.contains("s3cr3t"))
        #expect("\(server)" == "socks5://p:1080")
    }

    @Test("a chain: the route begins with the nearest proxy, and no description contains a password")
    func chains() throws {
        var far = try ProxyServer("socks5://far")
        var middle = try ProxyServer("socks5://me:s3cr3t@middle")
        middle.via = [try ProxyServer("socks4://near")]
        far.via = [middle]
        #expect(far.route?.hops.map(\.host) == ["near", "middle", "far"])
        #expect(far.socksProxy?.host == "far")
        #expect("\(far)" == "socks4://near:1080 socks5://middle:1080 socks5://far:1080")
        var dumped = ""
        dump(far, to: &dumped)
        #expect(dumped.contains("middle") && !dumped.contains("s3cr3t"))
        far.via.append(try ProxyServer("http://p"))
        #expect(far.route == nil, "HTTPStream makes routes of HTTP proxies")
        #expect(far != (try ProxyServer("socks5://far")))
    }

    // Parity: SK-125
    @Test("SOCKS proxies become hops; HTTP proxies do not")
    func routes() throws {
        let proxy = try #require(try ProxyServer("socks4a://me@p").socksProxy)
        #expect(proxy == SOCKSProxy(host: "p", version: .v4, user: "me", resolvesNamesHere: false))
        #expect(try ProxyServer("socks5://p").socksProxy?.nameLookup == .here(.all))
        #expect(try ProxyServer("socks4://p").socksProxy?.nameLookup == .here(.v4))
        #expect(try ProxyServer("socks5h://p").socksProxy?.nameLookup == .byProxy)
        #expect(try ProxyServer("http://p").route == nil)
        #expect(try ProxyServer("socks5h://p").route?.description == "SOCKS5 p:1080")
    }
}
