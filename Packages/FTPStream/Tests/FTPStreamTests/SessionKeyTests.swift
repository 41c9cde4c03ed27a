import Foundation
import Testing

@testable import FTPStream

/// Two jobs share a session only if server, proxy, login, security and connection properties are equal.
struct SessionKeyTests {
    private static func key(_ change: (inout FTPOptions) -> Void = { _ in }, url: String = "ftp://h/x") throws
        -> FTPSessionKey
    {
        var options = FTPOptions()
        options.userName = "ann"
        options.password = "secret"
        options.account = "books"
        options.security = .required
        change(&options)
        return try FTPSessionKey(options, at: FTPLocation(try #require(URL(string: url))), loop: .shared)
    }

    @Test("CVE-2023-27535: a session is not reused with another user, account, TLS configuration or proxy")
    func eachPropertyOfASessionCounts() throws {
        let tls13: TLSConfiguration = {
            var configuration = TLSConfiguration()
            configuration.minimumVersion = .tls13
            return configuration
        }()
        let unverified: TLSConfiguration = {
            var configuration = TLSConfiguration()
            configuration.verification = .insecureNone
            return configuration
        }()
        let keys = [
            try Self.key(), try Self.key(url: "ftp://other/x"), try Self.key(url: "ftp://h:2121/x"),
            try Self.key { $0.userName = "bob" }, try Self.key { $0.password = "other" },
            try Self.key { $0.account = "games" }, try Self.key { $0.account = nil },
            try Self.key { $0.security = .off }, try Self.key { $0.security = .preferred },
            try Self.key { $0.security = .implicit },
            try Self.key { $0.security = FTPSecurity(control: .required, data: .off) },
            try Self.key { $0.security = FTPSecurity(control: .required, data: .preferred) },
            try Self.key { $0.security?.clearsControl = true },
            try Self.key { $0.security?.configuration = tls13 },
            try Self.key { $0.connection[.tls] = unverified },
            try Self.key { $0.usesPassiveMode = false },
            try Self.key { $0.proxy = FTPProxy(host: "proxy") },
            try Self.key { $0.proxy = FTPProxy(host: "proxy", userName: "pat") },
            try Self.key { $0.connection[.failsWhenAddressIsRemoved] = true },
            try Self.key {
                $0.connection[.keepsAlive] = false
                $0.connection[.serviceType] = .voice
            },
            try Self.key { $0.connection[.localAddress] = .ip(.v4(.loopback), port: 0) },
            try Self.key { $0.connection[.socksProxy] = SOCKSProxy(host: "socks", port: 1080) },
            try Self.key { $0.connection[.proxies] = [ProxyRoute(SOCKSProxy(host: "socks", port: 1080))] },
        ]
        for (index, key) in keys.enumerated() {
            for other in keys.indices { #expect((key == keys[other]) == (index == other), "\(index) and \(other)") }
        }
    }

    /// Properties that do not affect the session need no other session.
    @Test func otherPropertiesDoNotCount() throws {
        #expect(try Self.key() == Self.key(url: "ftp://H/another/file;type=a"))
        #expect(try Self.key() == Self.key { $0.transferOffset = 5 })
        #expect(try Self.key() == Self.key { $0.replyTimeout = .seconds(1) })
        #expect(try Self.key { $0.userName = nil } == Self.key({ $0.userName = nil }, url: "ftp://h:21/x"))
    }

    @Test("tls on an ftp: stream requires TLS; otherwise user name and password would be sent in plaintext")
    func tlsIsRequired() throws {
        var configuration = TLSConfiguration()
        configuration.peerName = "other.test"
        let key = try Self.key {
            $0.security = nil
            $0.connection[.tls] = configuration
        }
        #expect(key.login.control == .required && key.login.data == .required && key.configuration == configuration)
        #expect(try Self.key { $0.security = nil }.login.control == .off)
        for stronger in [FTPSecurity.required, .implicit] {
            let key = try Self.key {
                $0.security = stronger
                $0.connection[.tls] = configuration
            }
            #expect(key.login.control == stronger.control && key.configuration == configuration)
        }
        for url in ["ftps://h/x", "ftps://h:990/x"] {
            let key = try Self.key(
                {
                    $0.security = nil
                    $0.connection[.tls] = configuration
                }, url: url)
            #expect(key.login.control != .off && key.configuration == configuration)
        }
    }

    @Test("tls contradicts a security that allows plaintext", arguments: [FTPSecurity.off, .preferred])
    func contradictions(_ weaker: FTPSecurity) {
        let error = #expect(throws: FTPError.self) {
            try Self.key {
                $0.security = weaker
                $0.connection[.tls] = TLSConfiguration()
            }
        }
        #expect(error?.code == .badArgument)
    }

    @Test("ftps: and a configuration of the security require TLS, too", arguments: [FTPSecurity.off, .preferred])
    func impliedRequirements(_ weaker: FTPSecurity) throws {
        var configured = weaker
        configured.configuration.minimumVersion = .tls13
        for (security, url) in [(weaker, "ftps://h/x"), (weaker, "ftps://h:2121/x"), (configured, "ftp://h/x")] {
            let error = #expect(throws: FTPError.self) { try Self.key({ $0.security = security }, url: url) }
            #expect(error?.sentence.key == "ftp.contradictorySecurity", "\(url)")
        }
        let key = try Self.key({ $0.security = .required }, url: "ftps://h:2121/x")
        #expect(key.login.control == .required)
    }

    @Test(
        "TLS on data connections requires TLS on the control connection",
        arguments: [FTPSecurity.Data.preferred, .required])
    func dataAlone(_ data: FTPSecurity.Data) throws {
        let alone = FTPSecurity(control: .off, data: data)
        let error = #expect(throws: FTPError.self) { try Self.key { $0.security = alone } }
        #expect(error?.sentence.key == "ftp.dataWithoutControl")
        #expect(FTPSecurity(control: .off).data == .off && FTPSecurity(control: .preferred).data == .required)
        #expect(try Self.key { $0.security = FTPSecurity(control: .off) }.login.data == .off)
    }

    @Test("a password for an FTP proxy requires a user name")
    func proxyPassword() {
        let error = #expect(throws: FTPError.self) { try Self.key { $0.proxy = FTPProxy(host: "p", password: "x") } }
        #expect(error?.sentence.key == "ftp.proxyPassword")
    }

    @Test("no description of an FTP proxy contains its password")
    func proxyText() {
        let proxy = FTPProxy(host: "::1", userName: "pat", password: "hunter2")
        var dumped = ""
        dump(proxy, to: &dumped)
        #expect("\(proxy)" == "ftp [::1]:21" && "\(FTPProxy(host: "p", port: 2121))" == "ftp p:2121")
        for text in ["\(proxy)", String(reflecting: proxy), "\(Optional(proxy) as Any)", dumped] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test("tls does not replace the configuration of the security")
    func differentConfigurations() throws {
        var configured = FTPSecurity.required
        configured.configuration.minimumVersion = .tls13
        let error = #expect(throws: FTPError.self) {
            try Self.key {
                $0.security = configured
                $0.connection[.tls] = TLSConfiguration()
            }
        }
        #expect(error?.code == .badArgument)
        let key = try Self.key {
            $0.security = configured
            $0.connection[.tls] = configured.configuration
        }
        #expect(key.configuration == configured.configuration)
    }

    @Test("a client refuses properties that it does not honour, and values that a command cannot contain")
    func invalidPropertiesOfAClient() throws {
        let client = try FTPClient(try #require(URL(string: "ftp://ftp.example.org/")))
        #expect(throws: StreamError.self) { try client.set(.fileOffset, to: 5) }
        #expect(throws: StreamError.self) { try client.set(.ftp(\.password), to: "a\r\nDELE x") }
        #expect(client.reader("x", offset: 5)[.ftp(\.transferOffset)] == 5)
        #expect(client.writer("x", offset: 5)[.ftp(\.transferOffset)] == 5)
        #expect(client.appender("x")[.ftp(\.appends)] == true)
    }

    @Test("appending and an offset cannot be combined")
    func appendsAtOffset() throws {
        let stream = try WriteStream(ftpURL: try #require(URL(string: "ftp://127.0.0.1:9/x")))
        try stream.set(.ftp(\.appends), to: true)
        try stream.set(.ftp(\.transferOffset), to: 5)
        #expect(throws: StreamError.self) { try stream.open() }
    }
}
