import EventLoops
import Foundation
import HTTPMessage
import HostResolver
import NetKit
import Peers
import StreamKit
import Testing

/// Streams and loads through real proxies.
@Suite(.serialized) struct ProxyTests {
    /// The proxies, one of each for all tests.
    private enum Shared {
        static let dante = started(Dante())
        static let microsocks = started(Microsocks())
        static let guarded = started(Microsocks(user: "alice", password: "open sesame"))
        static let ssh = started(SSHProxy())
        static let squid = started(Squid())
        static let asking = started(Squid(asksForPassword: true))
        static let tinyproxy = started(Tinyproxy())

        private static func started<P: Peer>(_ peer: P) -> Result<P, any Error> {
            Result {
                try peer.start()
                return peer
            }
        }
    }

    enum SOCKSCase: String, CaseIterable, CustomTestStringConvertible {
        case dante5, dante5Here, dante4, dante6, microsocks5, microsocks5Here, microsocksPassword, ssh5, ssh4, ssh4a

        /// The cases of the proxies that this release of Debian has.
        static let ofThisRelease = allCases.filter { Dante.omission == nil || !$0.rawValue.hasPrefix("dante") }

        var testDescription: String { rawValue }

        fileprivate func proxy() throws -> SOCKSProxy {
            switch self {
            case .dante5: try SOCKSProxy(host: "127.0.0.1", port: port(Shared.dante))
            case .dante5Here: try SOCKSProxy(host: "127.0.0.1", port: port(Shared.dante), resolvesNamesHere: true)
            case .dante4: try SOCKSProxy(host: "127.0.0.1", port: port(Shared.dante), version: .v4, user: "me")
            case .dante6: try SOCKSProxy(host: "::1", port: port(Shared.dante))
            case .microsocks5: try SOCKSProxy(host: "127.0.0.1", port: port(Shared.microsocks))
            case .microsocks5Here:
                try SOCKSProxy(host: "127.0.0.1", port: port(Shared.microsocks), resolvesNamesHere: true)
            case .microsocksPassword:
                try SOCKSProxy(host: "127.0.0.1", port: port(Shared.guarded), user: "alice", password: "open sesame")
            case .ssh5: try SOCKSProxy(host: "127.0.0.1", port: port(Shared.ssh))
            case .ssh4: try SOCKSProxy(host: "127.0.0.1", port: port(Shared.ssh), version: .v4)
            case .ssh4a:
                try SOCKSProxy(host: "127.0.0.1", port: port(Shared.ssh), version: .v4, resolvesNamesHere: false)
            }
        }

        private func port(_ peer: Result<some Peer, any Error>) throws -> UInt16 { UInt16(try peer.get().port) }
    }

    private func http(_ peer: Result<some Peer, any Error>, _ change: (inout HTTPProxy) throws -> Void = { _ in })
        throws
        -> ProxyRoute
    {
        var proxy = HTTPProxy(host: "127.0.0.1", port: UInt16(try peer.get().port))
        try change(&proxy)
        return ProxyRoute(proxy)
    }

    private func overTLS(_ squid: Result<Squid, any Error>) throws -> HTTPProxy {
        HTTPProxy(host: "localhost", port: UInt16(try squid.get().tlsPort), tls: try trustingPeers())
    }

    // MARK: SOCKS

    // Parity: SK-110, SK-111, SK-112, SK-115 (dante, microsocks, nginx, OpenSSH)
    @Test(
        "SK-110…SK-112, SK-115: every version, plain and with TLS, names and addresses",
        arguments: SOCKSCase.ofThisRelease)
    func eachVersionOfSOCKS(_ sample: SOCKSCase) async throws {
        let nginx = try SharedNginx.get()
        try nginx.write("proxied", patterned(50_000))
        let proxy = try sample.proxy()
        for (index, host) in ["localhost", "127.0.0.1"].enumerated() {
            for listener in [HTTPListener.plain, .tls] {
                let loaded = try await get(nginx.url(listener, "/proxied", host: host), Style.number(index)) {
                    try $0.set(.socksProxy, to: proxy)
                    try $0.trustPeers()
                }
                #expect(loaded.error == nil)
                #expect(loaded.body == patterned(50_000))
                #expect(loaded.stream.report.steps.contains { if case .proxy = $0.kind { true } else { false } })
                #expect(loaded.stream[.tlsInformation]?.isVerified == (listener == .tls ? true : nil))
            }
        }
    }

    /// The error of opening a connection to a local port through a proxy.
    private func failure(
        _ sample: SOCKSCase, port: UInt16, change: (inout SOCKSProxy) -> Void = { _ in }
    ) async throws -> StreamError? {
        var proxy = try sample.proxy()
        change(&proxy)
        let pair = StreamPair(host: "127.0.0.1", port: port)
        try pair.set(.socksProxy, to: proxy)
        defer { pair.close() }
        do throws(StreamError) {
            try pair.open()
            try await pair.input.opened()
            return nil
        } catch {
            return error
        }
    }

    // Parity: SK-114 (dante)
    @Test("SK-114: refusals of Dante, with their codes", .enabled(if: Dante.omission == nil, "\(Dante.omission ?? "")"))
    func refusalsOfDante() async throws {
        let dead = try UnansweredPort.closed()
        #expect(try await failure(.dante5, port: Dante.forbiddenPort)?.socksFailure == .notAllowed)
        #expect(try await failure(.dante5, port: dead)?.socksFailure == .connectionRefused)
        #expect(try await failure(.dante4, port: dead)?.socksFailure == .requestFailed)
    }

    // Parity: SK-114 (microsocks)
    @Test("SK-114: refusals of proxies, with their codes") func socksRefusals() async throws {
        let dead = try UnansweredPort.closed()
        #expect(try await failure(.microsocks5, port: dead)?.socksFailure == .connectionRefused)
        #expect(
            try await failure(.microsocksPassword, port: dead) { $0.password = "wrong" }?.socksFailure?.networkErrorCode
                == 122)
        #expect(
            try await failure(.microsocksPassword, port: dead) { ($0.user, $0.password) = (nil, nil) }?.socksFailure
                == .noAcceptableMethod)
        // It answers with the reply of version 5 that no method is acceptable.
        let version = try await failure(.microsocks5, port: dead) { $0.version = .v4 }
        #expect(version?.socksFailure == SOCKSFailure(.version, 5))
    }

    // MARK: HTTP

    // Parity: HM-092, HM-093, SK-116 (nginx, squid, tinyproxy)
    @Test(
        "HM-092, HM-093: http in absolute form, https through a tunnel", arguments: [HTTPListener.plain, .tls],
        Style.allCases)
    func httpProxies(_ listener: HTTPListener, _ style: Style) async throws {
        let nginx = try SharedNginx.get()
        try nginx.write("proxied", patterned(50_000))
        let squid = try ProxyRoute(overTLS(Shared.squid))
        for route in [try http(Shared.squid), try http(Shared.tinyproxy), squid] {
            let loaded = try await get(nginx.url(listener, "/proxied"), style) {
                try $0.set(.proxies, to: [route])
                try $0.trustPeers()
            }
            #expect(loaded.error == nil)
            #expect(loaded.body == patterned(50_000))
            #expect(loaded.stream[.httpProxyResponse]?.status.code == (listener == .tls ? 200 : nil))
            #expect(loaded.stream[.tlsInformation]?.isVerified == (listener == .tls ? true : nil))
        }
    }

    @Test("chains: tunnel in tunnel, TLS in TLS, SOCKS in between") func chainsOfProxies() async throws {
        let nginx = try SharedNginx.get()
        let squid = try overTLS(Shared.squid)
        let tinyproxy = HTTPProxy(host: "127.0.0.1", port: UInt16(try Shared.tinyproxy.get().port))
        let socks = try SOCKSCase.microsocks5.proxy()
        for hops: [any StreamProxy] in [
            [tinyproxy, squid], [squid, tinyproxy], [socks, squid], [squid, socks], [socks, tinyproxy, squid],
        ] {
            for listener in [HTTPListener.plain, .tls] {
                let loaded = try await get(nginx.url(listener, "/hello")) {
                    try $0.set(.proxies, to: [ProxyRoute(hops: hops)])
                    try $0.trustPeers()
                }
                #expect(loaded.text == "hello\n", "\(hops.map(\.kind)) \(listener) \(String(describing: loaded.error))")
            }
        }
    }

    // Parity: HM-094, SK-116 (nginx, squid)
    @Test("HM-094: a 407 is the response, with its challenge; with credentials the request succeeds")
    func proxiesWithALogin() async throws {
        let nginx = try SharedNginx.get()
        let port = UInt16(try Shared.asking.get().port)
        for listener in [HTTPListener.plain, .tls] {
            let refused = try await get(nginx.url(listener, "/hello")) {
                try $0.set(.proxies, to: [try http(Shared.asking)])
                try $0.trustPeers()
            }
            #expect(refused.error == nil)
            #expect(refused.status == 407)
            #expect(refused.response?.fields[.proxyAuthenticate] == "Basic realm=\"peers\"")
            // The refusal of the tunnel has a body, which is not the origin's.
            #expect(refused.body.isEmpty == (listener == .tls))
            #expect(refused.stream[.httpProxyResponse]?.body.isEmpty == (listener == .tls ? false : nil))
            let server = ProxyServer(.http, host: "127.0.0.1", port: port, user: "alice", password: "open sesame")
            let known = try await get(nginx.url(listener, "/request")) {
                try $0.set(.proxies, to: [ProxyRoute(try server.hop())])
                try $0.trustPeers()
            }
            #expect(known.status == 200)
            let own = try await get(
                nginx.url(listener, "/request"), fields: [(.proxyAuthorization, "Basic YWxpY2U6b3BlbiBzZXNhbWU=")]
            ) {
                try $0.set(.proxies, to: [try http(Shared.asking)])
                try $0.trustPeers()
            }
            #expect(own.status == 200)
        }
    }

    @Test("proxy credentials never reach the origin", arguments: [false, true])
    func proxyCredentialsNeverReachTheOrigin(_ isTunnel: Bool) async throws {
        let origin = try Origin { _ in .init(body: "ok") }
        defer { origin.stop() }
        let server = ProxyServer(
            .http, host: "127.0.0.1", port: UInt16(try Shared.asking.get().port), user: "alice", password: "open sesame"
        )
        // With a second proxy behind it, the first one sees only a tunnel.
        let hops: [any StreamProxy] =
            isTunnel ? [try server.hop(), try SOCKSCase.microsocks5.proxy()] : [try server.hop()]
        let loaded = try await get(origin.url(), fields: [(.proxyAuthorization, "Basic YWxpY2U6b3BlbiBzZXNhbWU=")]) {
            try $0.set(.proxies, to: [ProxyRoute(hops: hops)])
        }
        #expect(loaded.text == "ok")
        let direct = try await get(origin.url(), fields: [(.proxyAuthorization, "Basic YWxpY2U6b3BlbiBzZXNhbWU=")])
        #expect(direct.text == "ok")
        #expect(origin.requests.map { $0["Proxy-Authorization"] } == [[], []])
        #expect(origin.requests.map(\.target) == ["/", "/"])
    }

    // Parity: SK-116 (squid)
    @Test("refusals of a tunnel: status, fields, body, and the failed step") func refusedTunnels() async throws {
        let dead = try UnansweredPort.closed()
        for (url, status) in [("https://blocked.test/", 403), ("https://127.0.0.1:\(dead)/", 503)] {
            let loaded = try await get(url) { try $0.set(.proxies, to: [try http(Shared.squid), .direct]) }
            #expect(loaded.error?.domain == .http && loaded.error?.code == 310)
            #expect(loaded.error?.description.contains("\(status)") == true)
            let refusal = try #require(loaded.error?.underlying as? HTTPProxyRefusal)
            #expect(refusal.response.status.code == status)
            #expect(!refusal.response.body.isEmpty)
            #expect(loaded.stream[.httpProxyResponse] == refusal.response)
            #expect(loaded.response == nil)
            let failed = loaded.stream.report.steps.filter { if case .failed = $0.outcome { true } else { false } }
            #expect(failed.contains { $0.kind == .proxy("HTTP", refusal.proxy) })
        }
        // For an http URL, the refusal is an ordinary response.
        let plain = try await get("http://blocked.test/") { try $0.set(.proxies, to: [try http(Shared.squid)]) }
        #expect(plain.status == 403 && !plain.body.isEmpty)
    }

    // Parity: HM-095, HM-106 (nginx, squid)
    @Test("HM-095: the next proxy is used if one cannot be reached, but not if one refuses")
    func theNextProxyIsUsedIfOneIsUnreachable() async throws {
        let nginx = try SharedNginx.get()
        let dead = ProxyRoute(HTTPProxy(host: "127.0.0.1", port: try UnansweredPort.closed()))
        let deadSOCKS = ProxyRoute(SOCKSProxy(host: "127.0.0.1", port: try UnansweredPort.closed()))
        for listener in [HTTPListener.plain, .tls] {
            for routes in [[dead, deadSOCKS, try http(Shared.squid)], [deadSOCKS, dead, .direct]] {
                let loaded = try await get(nginx.url(listener, "/hello")) {
                    try $0.set(.proxies, to: routes)
                    try $0.trustPeers()
                }
                #expect(loaded.text == "hello\n")
            }
            let none = try await get(nginx.url(listener, "/hello")) { try $0.set(.proxies, to: [dead, deadSOCKS]) }
            #expect(none.error?.isPOSIX(111) == true)
            #expect(none.error?.networkErrorNumber == nil, "the last proxy is a SOCKS proxy")
            // HM-106: the error of an HTTP proxy that cannot be reached has CFNetwork's number.
            let one = try await get(nginx.url(listener, "/hello")) { try $0.set(.proxies, to: [dead]) }
            #expect(one.error?.isPOSIX(111) == true)
            #expect(one.error?.networkErrorNumber == .httpProxyConnectionFailure)
        }
    }

    // Parity: HM-090 (microsocks, nginx, squid)
    @Test("HM-090: connections are kept only for the same proxies")
    func connectionsAreKeptForTheSameProxies() async throws {
        let nginx = try SharedNginx.get()
        let pool = HTTPConnectionPool()
        defer { pool.drain() }
        let squid = try http(Shared.squid)
        let socks = ProxyRoute(try SOCKSCase.microsocks5.proxy())
        func load(_ listener: HTTPListener, _ routes: [ProxyRoute]) async throws {
            let loaded = try await get(nginx.url(listener, "/hello")) {
                try $0.set(.proxies, to: routes)
                try $0.trustPeers()
                try $0.set(.http(\.pool), to: pool)
                try $0.set(.http(\.keepsConnection), to: true)
            }
            #expect(loaded.text == "hello\n")
        }
        for listener in [HTTPListener.plain, .tls] {
            for routes in [[squid], [socks], []] {
                let before = pool.idleCount
                try await load(listener, routes)
                #expect(pool.idleCount == before + 1)
                try await load(listener, routes)
                #expect(pool.idleCount == before + 1)
            }
        }
    }

    @Test("any stream can use a tunnel, including the target's first bytes")
    func anyStreamCanUseATunnel() async throws {
        let greeter = Socat(.shell("echo hello; exec cat"))
        try greeter.start()
        defer { greeter.stop() }
        for route in [try http(Shared.squid), try http(Shared.tinyproxy), ProxyRoute(try SOCKSCase.ssh5.proxy())] {
            let pair = StreamPair(host: "127.0.0.1", port: UInt16(greeter.port))
            try pair.set(.proxies, to: [route])
            try pair.open()
            try await pair.output.writeAll(Array("ping\n".utf8))
            var received: [UInt8] = []
            while received.count < 11 { received += try await pair.input.read(upTo: 11 - received.count) }
            #expect(String(decoding: received, as: UTF8.self) == "hello\nping\n")
            #expect(pair[.proxyRoute] == route)
            pair.close()
        }
    }
}

extension UnansweredPort {
    /// A port without a listener.
    static func closed() throws -> UInt16 { UInt16(try PortPool.take(1)[0]) }

    /// The origin was not reached: no part of the proxy's refusal may be attributed to it.
    @Test(arguments: Style.allCases)
    func aRefusedTunnelIsAttributedToTheProxy(_ style: Style) async throws {
        let proxy = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(
                "HTTP/1.1 407 Login Required\r\nProxy-Authenticate: Basic realm=p\r\nSet-Cookie: session=proxy\r\n"
                    + "Strict-Transport-Security: max-age=1\r\nContent-Length: 2\r\n\r\nno")
        }
        let loaded = try await get("https://origin.example/", style) {
            try $0.set(.proxies, to: [ProxyRoute(hops: [HTTPProxy(host: "127.0.0.1", port: UInt16(proxy.port))])])
        }
        let response = try #require(loaded.stream[.httpResponse])
        #expect(loaded.error == nil && response.status == .proxyAuthenticationRequired && loaded.body.isEmpty)
        #expect(response.url == nil)
        #expect(response.fields.map(\.name) == ["Proxy-Authenticate", "Content-Length"])
        #expect(loaded.stream[.httpAnsweringProxy]?.host == "127.0.0.1")
        #expect(loaded.stream[.httpProxyResponse]?.fields[.setCookie] == "session=proxy")
        #expect(loaded.stream[.httpProxyResponse]?.url == nil)
    }
}
