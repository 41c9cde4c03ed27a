import EventLoops
import Glibc
import HostResolver
import HostResolverTesting
import StreamKitTesting
import Testing

@testable import StreamKit
@testable import StreamProxies

@Suite(.timeLimit(.minutes(5))) struct ProxiedStreamTests {
    private let resolver = ScriptedResolver()
    private static let authority = SharedAuthority()

    private func properties(_ routes: ProxyRoute..., change: (inout StreamProperties) -> Void = { _ in })
        -> StreamProperties
    {
        var properties = StreamProperties()
        properties[.resolver] = resolver
        properties[.proxies] = routes
        change(&properties)
        return properties
    }

    private func socks(_ proxy: FakeProxy, here: Bool = false) -> SOCKSProxy {
        SOCKSProxy(host: "127.0.0.1", port: proxy.port, resolvesNamesHere: here)
    }

    // Parity: SK-110, SK-111
    @Test("SK-110, SK-111: the proxy gets the name, and the target's first bytes arrive")
    func opens() async throws {
        let proxy = try FakeProxy { connection in
            let asked = try connection.acceptSOCKS(reply: [5, 0, 0, 1, 192, 0, 2, 9, 4, 56] + Array("220 hello".utf8))
            guard asked == [3, 8] + Array("www.test".utf8) + [0, 80] else { throw FakeFailure("\(asked)") }
            try connection.send(connection.read(4))
            guard connection.readSome().isEmpty else { throw FakeFailure("no end") }
        }
        let pair = StreamPair(host: "www.test", port: 80, properties: properties())
        try pair.set(.socksProxy, to: socks(proxy))
        try pair.open()
        try await pair.output.writeAll(Array("ping".utf8))
        var received: [UInt8] = []
        while received.count < 13 { received += try await pair.input.read(upTo: 13 - received.count) }
        #expect(received == Array("220 helloping".utf8))
        #expect(resolver.requests.isEmpty)
        #expect(pair[.remoteHostName] == "www.test" && pair[.remotePort] == 80)
        #expect(pair[.remoteAddress] == proxy.listener.address)
        #expect(pair[.socksBoundAddress] == .ip(IPAddress("192.0.2.9")!, port: 1080))
        #expect(pair[.proxyRoute] == ProxyRoute(socks(proxy)))
        #expect(pair[.nativeDescriptor] != nil && pair.input.descriptor == pair[.nativeDescriptor])
        try await pair.output.finish()
        #expect(try await pair.input.read(upTo: 1) == [])
        pair.close()
        let steps = pair.report.steps
        #expect(steps.map(\.kind) == [.connect(proxy.listener.address), .proxy("SOCKS5", "127.0.0.1:\(proxy.port)")])
        #expect(steps.last?.outcome == .succeeded("connected to www.test:80, from 192.0.2.9:1080"))
        #expect(steps.allSatisfy { $0.time != nil })
        #expect(pair[.proxyRoute] == ProxyRoute(socks(proxy)))
        await proxy.finished()
    }

    // Parity: SK-123
    @Test("SK-123: no proxy is used unless set, and it can be set only before opening")
    func notUnlessSet() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(address: listener.address)
        try pair.open()
        try await pair.input.opened()
        #expect(pair[.proxyRoute] == nil)
        #expect(throws: StreamError.self) { try pair.set(.socksProxy, to: SOCKSProxy(host: "a")) }
        #expect(throws: StreamError.self) { try pair.set(.proxies, to: [.direct]) }
    }

    // Parity: SK-115
    @Test("SK-115: TLS to the target goes through the proxy, and is with the target")
    func tls() async throws {
        let server = try Listener(.ip(.v4(.loopback), port: 0))
        let port = try #require(server.address.port)
        let proxy = try FakeProxy { connection in
            try connection.acceptSOCKS()
            try connection.relay(to: port)
        }
        let pair = StreamPair(
            host: "www.example.org", port: 443,
            properties: properties(ProxyRoute(socks(proxy))) { $0[.tls] = Self.authority.client })
        try pair.open()
        let far = StreamPair(descriptor: try await onThread { try server.accept() }, ownership: .owned)
        try far.set(.tls, to: Self.authority.server)
        try far.open()
        try await far.output.writeAll(Array("hello".utf8))
        #expect(try await pair.input.read(upTo: 9) == Array("hello".utf8))
        #expect(pair[.tlsInformation]?.peerCertificates.first == Self.authority.certificate)
        #expect(pair[.exporterBinding] != nil && pair[.exporterBinding] == far[.exporterBinding])
        #expect(pair.report.steps.map(\.kind).last == .tls("www.example.org"))
        pair.close()
        #expect(try await far.input.read(upTo: 9) == [])
        far.close()
        await proxy.finished()
    }

    /// What conversations have received of the TLS with their proxies.
    private final class Begins: Sendable {
        let bindings = Locked<[[UInt8]?]>([])
        let protocols = Locked<[String?]>([])
    }

    /// A proxy behind TLS that sends one byte and receives none.
    private struct Knocker: StreamProxy {
        let port: UInt16
        let begins: Begins
        let kind = "knocker"
        let host = "127.0.0.1"
        var tls: TLSConfiguration? {
            var configuration = ProxiedStreamTests.authority.client
            configuration.peerName = "www.example.org"
            configuration.applicationProtocols = ["knocks", "rings"]
            return configuration
        }

        func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine { Knock(begins: begins) }

        static func == (left: Knocker, right: Knocker) -> Bool { left.port == right.port }

        func hash(into hasher: inout Hasher) { hasher.combine(port) }
    }

    private struct Knock: TunnelMachine {
        let begins: Begins
        var hasKnocked = false
        var refusal: TunnelRefusal? { nil }

        func begin(over tls: TLSInformation?, boundBy binding: [UInt8]?) {
            begins.bindings.withLock { $0.append(binding) }
            begins.protocols.withLock { $0.append(tls?.applicationProtocol) }
        }

        mutating func next() throws(StreamError) -> TunnelAction {
            defer { hasKnocked = true }
            return hasKnocked ? .established("knocked") : .send([1])
        }

        func receive(_ bytes: [UInt8]) throws(StreamError) {}

        func receiveEnd() throws(StreamError) { throw .closed }
    }

    @Test("a proxy behind TLS: the conversation gets its binding and protocol, and the stream does not show its TLS")
    func bindingOfTheProxy() async throws {
        let server = try Listener(.ip(.v4(.loopback), port: 0))
        let begins = Begins()
        let proxy = Knocker(port: try #require(server.address.port), begins: begins)
        let pair = StreamPair(host: "www.test", port: 80, properties: properties(ProxyRoute(proxy)))
        try pair.open()
        let far = StreamPair(descriptor: try await onThread { try server.accept() }, ownership: .owned)
        var tls = Self.authority.server
        tls.applicationProtocols = ["rings"]
        try far.set(.tls, to: tls)
        try far.open()
        #expect(try await far.input.read(upTo: 1) == [1])
        try await pair.input.opened()
        let binding = try #require(far[.serverEndPointBinding])
        #expect(begins.bindings.withLock { $0 } == [binding] && begins.protocols.withLock { $0 } == ["rings"])
        #expect(pair[.tlsInformation] == nil && pair[.serverEndPointBinding] == nil)
        #expect(pair[.nativeDescriptor] != nil && pair[.remoteAddress] == server.address)
        pair.close()
        #expect(try await far.input.read(upTo: 1) == [])
        far.close()
    }

    @Test("opening is a value: its steps wait for nothing, and the lookup's time is limited")
    func stepsByHand() throws {
        let route = ProxyRoute(SOCKSProxy(host: "127.0.0.1", port: 1, resolvesNamesHere: true))
        resolver.script("slow.test", [])  // it never ends by itself
        for limit in [Duration.nanoseconds(1), .seconds(60)] {
            let properties = properties(route) { $0[.openTimeout] = limit }
            let connection = Connection(to: .host("slow.test", port: 80), properties, loop: .shared)
            var opening = try ProxiedOpening(to: .host("slow.test", port: 80), through: [route], properties)
            if limit < .seconds(1) {
                #expect(throws: StreamError.self) { try opening.advance(connection) }
                #expect(connection.report.failure?.kind == .lookup("slow.test"))
            } else {
                guard case .wait(let wait) = try opening.advance(connection) else {
                    Issue.record("it does not wait")
                    continue
                }
                #expect(wait.points.count == 1 && wait.deadline != nil)
                opening.abandon(connection)
                #expect(connection.report.steps.map(\.kind) == [.lookup("slow.test")])
            }
            connection.close()
        }
    }

    // Parity: SK-124
    @Test("SK-124: the next route when a proxy cannot be reached, disconnects, or speaks another protocol")
    func fallsBack() async throws {
        let dead = try RefusedPort()
        let breaking = try FakeProxy { try $0.expect([5, 1, 0]) }
        let web = try FakeProxy {
            try $0.expect([5, 1, 0])
            try $0.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        }
        let good = try FakeProxy { connection in
            try connection.acceptSOCKS()
            _ = connection.readSome()
        }
        let deadProxy = SOCKSProxy(host: "127.0.0.1", port: dead.port)
        let pair = StreamPair(
            host: "www.test", port: 80,
            properties: properties(
                ProxyRoute(deadProxy), ProxyRoute(socks(breaking)), ProxyRoute(socks(web)), ProxyRoute(socks(good))))
        try pair.open()
        try await pair.input.opened()
        #expect(pair[.proxyRoute] == ProxyRoute(socks(good)))
        let outcomes = pair.report.steps.map { step in
            if case .failed(let error) = step.outcome { "\(error.domain.rawValue)/\(error.code)" } else { "good" }
        }
        #expect(outcomes == ["1/\(ECONNREFUSED)", "good", "5/2", "good", "5/\(1 << 16 + 72)", "good", "good"])
        pair.close()
        await breaking.finished()
        await web.finished()
        await good.finished()
    }

    @Test("a refusal is reported, and no other route is tried")
    func refused() async throws {
        let proxy = try FakeProxy { try $0.acceptSOCKS(reply: [5, 2]) }
        let other = try FakeProxy()
        let pair = StreamPair(
            host: "www.test", port: 80,
            properties: properties(ProxyRoute(socks(proxy)), ProxyRoute(socks(other)), .direct))
        let error = await failure(of: pair)
        #expect(error?.socksFailure == .notAllowed)
        #expect(
            "\(try #require(error))"
                == "SOCKS5 127.0.0.1:\(proxy.port) does not allow connections to www.test:80.")
        #expect(pair.report.failure?.kind == .proxy("SOCKS5", "127.0.0.1:\(proxy.port)"))
        #expect(pair.input.status == .error)
        await #expect(throws: StreamError(.notAllowed, .closed)) { try await pair.output.opened() }
        await proxy.finished()
    }

    @Test("curl#17222: with names looked up here, the next address is tried on a new connection")
    func nextAddress() async throws {
        resolver.script("www.test", addresses: ["::1", "192.0.2.1"])
        let proxy = try FakeProxy(
            { connection in
                guard try connection.acceptSOCKS(reply: [5, 8, 0, 1, 0, 0, 0, 0, 0, 0]).first == 4 else {
                    throw FakeFailure("not IPv6")
                }
            },
            { connection in
                guard try connection.acceptSOCKS() == [1, 192, 0, 2, 1, 0, 80] else { throw FakeFailure("not IPv4") }
                _ = connection.readSome()
            })
        let pair = StreamPair(host: "www.test", port: 80, properties: properties(ProxyRoute(socks(proxy, here: true))))
        try pair.open()
        try await pair.input.opened()
        #expect(pair.report.steps.first?.kind == .lookup("www.test"))
        #expect(pair.report.steps.first?.outcome == .succeeded("2 addresses"))
        #expect(resolver.requests.count == 1)
        pair.close()
        await proxy.finished()
    }

    @Test("a name that cannot be looked up here is sent to no proxy")
    func unknownName() async throws {
        let proxy = try FakeProxy()
        let pair = StreamPair(
            host: "missing.test", port: 80,
            properties: properties(ProxyRoute(socks(proxy, here: true)), ProxyRoute(socks(proxy))))
        let error = await failure(of: pair)
        #expect(error?.domain == .netDB)
        #expect(pair.report.failure?.kind == .lookup("missing.test"))
    }

    @Test(
        "CVE-2023-38545: a name over 255 bytes causes no query and no connection",
        arguments: [256, 65_536])
    func longName(_ length: Int) async throws {
        let proxy = try FakeProxy()
        for here in [false, true] {
            let pair = StreamPair(
                host: String(repeating: "a", count: length), port: 80,
                properties: properties(ProxyRoute(socks(proxy, here: here)), .direct))
            let error = await failure(of: pair)
            #expect(here ? error != nil : error?.isPOSIX(EINVAL) == true)
            #expect(!pair.report.steps.contains { if case .connect = $0.kind { true } else { false } })
        }
        #expect(resolver.requests.isEmpty)
    }

    @Test("a chain: each proxy is reached through the one before it")
    func chain() async throws {
        let last = try FakeProxy { connection in
            guard try connection.acceptSOCKS() == [3, 8] + Array("www.test".utf8) + [0, 80] else {
                throw FakeFailure("last")
            }
            try connection.send(connection.read(4))
        }
        let lastPort = last.port
        let first = try FakeProxy { connection in
            let asked = try connection.acceptSOCKS()
            guard asked == [1, 127, 0, 0, 1, UInt8(lastPort >> 8), UInt8(lastPort & 255)] else {
                throw FakeFailure("first")
            }
            try connection.relay(to: lastPort)
        }
        let pair = StreamPair(host: "www.test", port: 80, properties: properties(ProxyRoute(socks(first), socks(last))))
        try pair.open()
        try await pair.output.writeAll(Array("ping".utf8))
        #expect(try await pair.input.read(upTo: 4) == Array("ping".utf8))
        #expect(
            pair.report.steps.dropFirst().map(\.kind)
                == [.proxy("SOCKS5", "127.0.0.1:\(first.port)"), .proxy("SOCKS5", "127.0.0.1:\(last.port)")])
        pair.close()
        await last.finished()
        await first.finished()
    }

    @Test("a silent proxy: the time is shared among the routes, and the error names the step")
    func silent() async throws {
        let silent = try FakeProxy(
            {
                _ = $0.readSome(3)
                _ = $0.readSome()
            },
            {
                _ = $0.readSome(3)
                _ = $0.readSome()
            })
        let alone = StreamPair(
            host: "www.test", port: 80,
            properties: properties(ProxyRoute(socks(silent))) { $0[.openTimeout] = .seconds(3) })
        let error = await failure(of: alone)
        #expect(error == .timedOut)
        #expect("\(try #require(error))".contains("waiting for the proxy 127.0.0.1:\(silent.port)"))
        let good = try FakeProxy { connection in
            try connection.acceptSOCKS()
            _ = connection.readSome()
        }
        let pair = StreamPair(
            host: "www.test", port: 80,
            properties: properties(ProxyRoute(socks(silent)), ProxyRoute(socks(good))) {
                $0[.openTimeout] = .seconds(10)
            })
        try pair.open()
        try await pair.input.opened()
        #expect(pair[.proxyRoute] == ProxyRoute(socks(good)))
        pair.close()
        await silent.finished()
        await good.finished()
    }

    @Test("closing and cancelling at every step of opening")
    func closing() async throws {
        for steps in 0...3 {
            let (asked, askedOn) = AsyncStream.makeStream(of: Void.self)
            let proxy = try FakeProxy { connection in
                if steps > 0 { try connection.expect([5, 1, 0]) }
                if steps > 1 { try connection.send([5, 0]) }
                if steps > 2 { _ = try connection.read(4) }
                askedOn.yield()
                while !connection.readSome().isEmpty {}
            }
            let pair = StreamPair(host: "www.test", port: 80, properties: properties(ProxyRoute(socks(proxy))))
            try pair.open()
            for await _ in asked { break }
            let opened = Task { try await pair.input.opened() }
            if steps % 2 == 0 { opened.cancel() }
            pair.close()
            await #expect(throws: StreamError.self) { try await opened.value }
            #expect(pair.input.status == .closed)
            await proxy.finished()
        }
    }

    @Test("a Unix socket is no target for a proxy")
    func unixTarget() async throws {
        let pair = StreamPair(
            address: .unix(try UnixSocketAddress(path: "/nowhere")),
            properties: properties(ProxyRoute(SOCKSProxy(host: "a"))))
        #expect(await failure(of: pair)?.isPOSIX(EINVAL) == true)
    }
}
