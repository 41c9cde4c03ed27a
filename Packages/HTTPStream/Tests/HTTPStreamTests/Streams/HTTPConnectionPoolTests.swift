import EventLoops
import FoundationEssentials
import Glibc
import HTTPAuth
import HTTPMessage
import HostResolver
@_spi(Packages) import StreamKit
import Testing

@testable import HTTPStream

@Suite struct HTTPConnectionPoolTests {
    /// A connection whose peer the test controls.
    private struct Wire {
        let connection: HTTPConnection
        let peer: CInt

        init(_ url: String = "http://example.org/", _ properties: StreamProperties = StreamProperties()) throws {
            var ends: [CInt] = [0, 0]
            #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            peer = ends[1]
            let pair = StreamPair(descriptor: ends[0], ownership: .owned)
            try pair.open()
            connection = HTTPConnection(pair: pair, key: try key(url, properties), limits: .default)
        }

        /// Closes the connection at once, even while a child process of another test holds a copy of the descriptor.
        func endPeer() {
            shutdown(peer, CInt(SHUT_RDWR))
            close(peer)
        }
    }

    private static func key(
        _ url: String = "http://example.org/", _ properties: StreamProperties = StreamProperties()
    ) throws -> HTTPConnectionKey {
        HTTPConnectionKey(try HTTPOrigin(#require(URL(string: url))), properties, loop: .shared)
    }

    @Test func lastInFirstOut() throws {
        let pool = HTTPConnectionPool()
        let wires = try [Wire(), Wire()]
        wires.forEach { pool.put($0.connection) }
        #expect(pool.idleCount == 2)
        #expect(pool.take(try Self.key("http://other.example/")) { $0.pair.close() } == nil)
        #expect(pool.take(try Self.key()) { $0.pair.close() } === wires[1].connection)
        #expect(pool.take(try Self.key()) { $0.pair.close() } === wires[0].connection)
        #expect(pool.take(try Self.key()) { $0.pair.close() } == nil)
        #expect(pool.idleCount == 0)
        wires.forEach { $0.endPeer() }
    }

    /// A connection with options, a login, a proxy or a loop of its own is not found by the URL alone.
    @Test func aURLFindsOnlyUsualConnections() throws {
        let url = "https://example.org/"
        let origin = try HTTPOrigin(#require(URL(string: url)))
        let loop = EventLoop(name: "other")
        var tls = TLSConfiguration()
        tls.peerName = "other.example"
        func properties(_ change: (inout StreamProperties) -> Void) -> StreamProperties {
            var properties = StreamProperties()
            change(&properties)
            return properties
        }
        let none = StreamProperties()
        let unusual = [
            HTTPConnectionKey(origin, properties { $0[.tls] = tls }, loop: .shared),
            HTTPConnectionKey(
                origin, properties { $0[.proxies] = [.init(HTTPProxy(host: "proxy", port: 1))] }, loop: .shared),
            HTTPConnectionKey(origin, properties { $0[.socksProxy] = SOCKSProxy(host: "a") }, loop: .shared),
            HTTPConnectionKey(origin, none, loop: .shared, ownLogin: Secret("NTLM x")),
            HTTPConnectionKey(origin, none, loop: loop),
        ]
        func isUsual(_ key: HTTPConnectionKey, for text: String, _ properties: StreamProperties) -> Bool {
            var text = text
            return text.withUTF8 { key.isUsual(for: $0, properties, loop: ObjectIdentifier(EventLoop.shared)) }
        }
        for key in unusual { #expect(!isUsual(key, for: url, none)) }
        let usual = HTTPConnectionKey(origin, none, loop: .shared)
        #expect(isUsual(usual, for: url, none) && !isUsual(usual, for: "http://example.org/", none))
    }

    /// A load whose options are copies of an earlier one's takes the connection by its URL; not one that was redirected to that origin, which
    /// may get other TLS options there.
    @Test func aLoadTakesTheConnectionOfItsURL() throws {
        var options = HTTPOptions.userAgent
        options.tls.peerName = "other.example"
        options.versions = .http1
        options.pool = HTTPConnectionPool()
        let wire = try Wire("https://example.org/", options.connection)
        options.pool.put(wire.connection)
        let (settings, _) = try LoadSettings.checked(options)
        func take(_ fetch: borrowing Fetch, _ settings: LoadSettings) throws -> HTTPConnection? {
            var deferred = DeferredActions()
            guard let url = fetch.url else { return nil }
            return try settings.takeUsual(for: fetch, at: url, .shared, .now, trusting: .zero, &deferred)
        }
        func fetch(_ text: String) throws -> Fetch {
            let url = try #require(URL(string: text))
            return Fetch(try HTTPRequest(method: .get, url: url), body: nil)
        }
        var redirected = try fetch("https://example.com/")
        var head = try HTTPResponse(status: .found)
        try head.fields.set("https://example.org/", for: .location)
        let hop = try redirected.redirect(after: head, CrossOriginPolicy())
        redirected.follow(try #require(hop))
        #expect(try take(redirected, settings) == nil)
        var login = try HTTPRequest(method: .get, url: #require(URL(string: "https://example.org/")))
        try login.fields.set("Negotiate x", for: .authorization)
        #expect(try take(Fetch(login, body: nil), settings) == nil)
        var others = options
        others.tls.peerName = "other.example"
        let (equal, _) = try LoadSettings.checked(others)
        #expect(try take(fetch("https://example.org/"), equal) == nil)
        #expect(try take(fetch("https://example.org/x"), settings) === wire.connection)
        // A connection of HTTP/1.1, for an upgrade, although others may use HTTP/2 only.
        options.tls.applicationProtocols = ["h2"]
        let (newer, _) = try LoadSettings.checked(options)
        let other = try Wire("https://example.org/", newer.options.connection)
        options.pool.put(other.connection)
        #expect(try take(fetch("https://example.org/x"), newer) == nil)
        other.endPeer()
        options.pool.drain()
        wire.endPeer()
        wire.connection.pair.close()
    }

    /// The connection to a proxy, which takes requests for any `http` origin, is not one to an origin at the proxy's address.
    @Test func aURLDoesNotFindAConnectionToAProxy() throws {
        var properties = StreamProperties()
        properties[.proxies] = [.init(HTTPProxy(host: "proxy.example", port: 8080))]
        let origin = try HTTPOrigin(#require(URL(string: "http://example.org/")))
        let key = HTTPConnectionKey(origin, properties, loop: .shared)
        for text in ["http://example.org/", "http://proxy.example:8080/"] {
            var text = text
            let isUsual = text.withUTF8 {
                key.isUsual(for: $0, properties, loop: ObjectIdentifier(EventLoop.shared))
            }
            #expect(!isUsual)
        }
    }

    /// Requests with copies of the same properties find a connection of `https` by their URL. Those with other properties need a key,
    /// and so do all whose properties name a route, or TLS where the URL does not use it.
    @Test func aURLFindsAConnectionByCopiesOfItsProperties() throws {
        func properties(_ change: (inout StreamProperties) -> Void) -> StreamProperties {
            var properties = StreamProperties()
            change(&properties)
            return properties
        }
        func finds(_ text: String, _ own: StreamProperties, with others: StreamProperties) throws -> Bool {
            let key = HTTPConnectionKey(try HTTPOrigin(#require(URL(string: text))), own, loop: .shared)
            var text = text
            return text.withUTF8 { key.isUsual(for: $0, others, loop: ObjectIdentifier(EventLoop.shared)) }
        }
        let tls = properties { $0[.tls] = TLSConfiguration() }
        let time = properties { $0[.openTimeout] = .seconds(1) }
        #expect(try finds("https://example.org/", tls, with: tls))
        // It does not distinguish connections, and their keys do not keep it.
        #expect(try !finds("https://example.org/", time, with: time))
        #expect(try !finds("https://example.org/", tls, with: properties { $0[.tls] = TLSConfiguration() }))
        #expect(try !finds("https://example.org/", tls, with: StreamProperties()))
        #expect(try !finds("http://example.org/", tls, with: tls))
        let routed = [
            properties { $0[.proxies] = [.init(HTTPProxy(host: "proxy", port: 1))] },
            properties { $0[.socksProxy] = SOCKSProxy(host: "a") },
        ]
        for route in routed {
            #expect(try !finds("https://example.org/", route, with: route))
        }
    }

    @Test func aURLTakesTheConnectionOfItsOriginAlone() throws {
        let pool = HTTPConnectionPool()
        let wire = try Wire("http://example.org/")
        pool.put(wire.connection)
        func take(_ text: String) throws -> HTTPConnection? {
            let url = try #require(URL(string: text))
            return pool.takeUsual(
                for: url, StreamProperties(), loop: ObjectIdentifier(EventLoop.shared), at: .now, trusting: .zero
            ) {
                $0.pair.close()
            }
        }
        for other in [
            "https://example.org/", "http://example.org.evil/", "http://example.org@evil/", "http://example.org:81/",
            "http://example.or/", "http://user@example.org/",
        ] {
            #expect(try take(other) == nil)
        }
        #expect(try take("http://example.org/x") === wire.connection)
        #expect(try take("http://example.org/x") == nil)
        wire.endPeer()
        wire.connection.pair.close()
    }

    /// A connection that the peer has closed, or on which it has sent anything, is not returned.
    @Test(arguments: [false, true])
    func checksBeforeItReturns(_ says: Bool) throws {
        let pool = HTTPConnectionPool()
        let wire = try Wire()
        pool.put(wire.connection)
        if says { #expect(write(wire.peer, "x", 1) == 1) } else { wire.endPeer() }
        #expect(pool.take(try Self.key()) { $0.pair.close() } == nil)
        #expect(wire.connection.pair.input.status == .closed)
        if says { wire.endPeer() }
    }

    /// A connection that a read has just emptied is not checked if the request may be sent twice; otherwise it always is.
    @Test(arguments: [
        ("http://example.org/", true, true), ("http://example.org/", false, false),
        ("https://example.org/", true, false),
    ])
    func trustsAConnectionThatWasJustEmptied(_ url: String, _ mayRepeat: Bool, _ isTrusted: Bool) throws {
        let pool = HTTPConnectionPool()
        let wire = try Wire(url)
        #expect(write(wire.peer, "x", 1) == 1)
        #expect(try wire.connection.link.fill() == 1)
        wire.connection.link.buffer.remove(1)
        pool.put(wire.connection)
        wire.endPeer()
        let trust = mayRepeat ? Duration.seconds(3600) : .zero
        #expect((pool.take(try Self.key(url), trusting: trust) { $0.pair.close() } != nil) == isTrusted)
        wire.connection.pair.close()
    }

    /// A read that filled its buffer, or one that is too long ago, does not prove that no bytes have arrived since.
    @Test func trustsNothingElse() throws {
        let wire = try Wire()
        #expect(write(wire.peer, "x", 1) == 1)
        #expect(try wire.connection.link.fill() == 1)
        wire.connection.link.buffer.remove(1)
        wire.endPeer()
        let now = Moment.now
        #expect(wire.connection.isIdle(now, trusting: .seconds(3600)))
        #expect(!wire.connection.isIdle(now + .seconds(3600), trusting: .seconds(3600)))
        wire.connection.link.isDrained = false
        #expect(!wire.connection.isIdle(now, trusting: .seconds(3600)))
        wire.connection.pair.close()
    }

    @Test func limits() throws {
        let pool = HTTPConnectionPool(limits: .init(perOrigin: 2, total: 3, idle: .seconds(60)))
        let a = try (0..<3).map { _ in try Wire("http://a.example/") }
        let b = try (0..<2).map { _ in try Wire("http://b.example/") }
        (a + b).forEach { pool.put($0.connection) }
        #expect(pool.idleCount == 3)
        let open = (a + b).map { $0.connection.pair.input.status == .open }
        #expect(open == [false, false, true, true, true])
        pool.drain()
        #expect(pool.idleCount == 0)
        #expect((a + b).allSatisfy { $0.connection.pair.input.status == .closed })
        (a + b).forEach { $0.endPeer() }
    }

    @Test func expiredConnectionsAreClosed() throws {
        let pool = HTTPConnectionPool(limits: .init(idle: .zero))
        let wire = try Wire()
        pool.put(wire.connection)
        #expect(pool.take(try Self.key()) { $0.pair.close() } == nil)
        pool.drain()
        wire.endPeer()
    }

    @Test("CVE-2022-27782, CVE-2026-8932: connections that differ in any property are separate")
    func keys() throws {
        typealias Change = (String, (inout StreamProperties) -> Void)
        func tls(_ what: String, _ change: @escaping (inout TLSConfiguration) -> Void) -> Change {
            (
                what,
                {
                    var configuration = $0[.tls] ?? TLSConfiguration()
                    change(&configuration)
                    $0[.tls] = configuration
                }
            )
        }
        let changes: [Change] = [
            ("own address", { $0[.localAddress] = .ip(.v4(.loopback), port: 0) }),
            ("service type", { $0[.serviceType] = .voice }),
            ("keep-alive", { $0[.keepsAlive] = true }),
            ("delay", { $0[.sendsAtOnce] = false }),
            ("resolver", { $0[.resolver] = SystemResolver.shared }),
            ("SOCKS", { $0[.socksProxy] = SOCKSProxy(host: "a") }),
            ("SOCKS user", { $0[.socksProxy] = SOCKSProxy(host: "a", user: "ann", password: "1") }),
            ("SOCKS password", { $0[.socksProxy] = SOCKSProxy(host: "a", user: "ann", password: "2") }),
            ("proxy", { $0[.proxies] = [ProxyRoute(HTTPProxy(host: "a", port: 1))] }),
            ("other proxy", { $0[.proxies] = [ProxyRoute(HTTPProxy(host: "a", port: 2))] }),
            ("direct", { $0[.proxies] = [.direct] }),
            tls("trust") { $0.trust = .only([]) },
            tls("verification") { $0.verification = .insecureNone },
            tls("name") { $0.peerName = "other.example" },
            tls("SNI") { $0.serverNameIndication = .off },
            tls("SNI of another") { $0.serverNameIndication = .name("other.example") },
            tls("version") { $0.maximumVersion = .tls12 },
            tls("ciphers") { $0.cipherList = "ECDHE+AESGCM" },
            tls("group") { $0.sessionGroup = "g" },
            tls("truncation") { $0.allowsTruncation = true },
        ]
        var keys = [("nothing", try Self.key("https://example.org/"))]
        for (what, change) in changes {
            var properties = StreamProperties()
            change(&properties)
            let key = try Self.key("https://example.org/", properties)
            for (other, earlier) in keys { #expect(key != earlier, "\(what) is no other than \(other)") }
            #expect(try Self.key("https://example.org/", properties) == key, "\(what)")
            #expect(key.hashValue == keys[0].1.hashValue)
            keys.append((what, key))
        }
        // Properties of TLS make no difference without TLS.
        var properties = StreamProperties()
        properties[.tls] = TLSConfiguration()
        #expect(try Self.key("http://example.org/", properties) == Self.key())
    }
}

@Suite(.timeLimit(.minutes(5))) struct DescriptorTests {
    /// Loads while the process has no free descriptor, from a port at which nothing listens. Nothing suspends meanwhile: the runtime
    /// needs descriptors, too.
    ///
    /// Another thread may still close a descriptor of an earlier load. Then the load gets that far, and the next one does not.
    static func loadWithoutDescriptors(_ pool: HTTPConnectionPool) throws -> StreamError? {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = 256
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        var taken: [CInt] = []
        defer { taken.forEach { close($0) } }
        var error: StreamError?
        repeat {
            while case let copy = dup(0), copy >= 0 { taken.append(copy) }
            error = try load(url, pool)
        } while error?.isPOSIX(ECONNREFUSED) == true
        return error
    }

    private static func load(_ url: URL, _ pool: HTTPConnectionPool) throws -> StreamError? {
        let stream = ReadStream(request: try HTTPRequest(method: .get, url: url), pool: pool)
        defer { stream.close() }
        do throws(StreamError) {
            try stream.open()
            _ = try stream.readAll(limit: 100)
            return nil
        } catch {
            return error
        }
    }

    /// In a process of its own, because its table of descriptors is used up.
    @Test("without a free descriptor, a load is an error, and a later one succeeds") func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            let server = try TurnServer(Array(repeating: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", count: 2))
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
            var configuration = HTTPSession.Configuration()
            configuration.options.pool = HTTPConnectionPool()
            configuration.proxies = .direct
            let session = HTTPSession(configuration)
            guard try await session.get(url).status == .ok else { exit(1) }
            configuration.options.pool.drain()
            guard try DescriptorTests.loadWithoutDescriptors(configuration.options.pool)?.isPOSIX(EMFILE) == true else {
                exit(2)
            }
            guard try await session.get(url).status == .ok else { exit(3) }
        }
    }
}

extension HTTPConnection {
    /// The link of a connection of HTTP/1.1.
    var link: HTTP1Link {
        guard case .http1(let link) = line else { preconditionFailure("a connection of HTTP/2") }
        return link
    }
}
