import NetKit
import Peers
import Testing

/// Streams to services with addresses that cannot be reached (SD-052).
@Suite(.timeLimit(.minutes(5))) struct DeadAddressTests {
    private static let name = "Web._http._tcp.peers.test"

    // RFC 1035 §3.2.2, RFC 3596 §2.1, RFC 2782.
    private static let (a, aaaa, srv) = (1, 28, 33)

    private static func serviceRecord(_ port: Int) -> Peers.DNSRecord {
        .srv(name, priority: 0, weight: 0, port: port, "h.peers.test")
    }

    private func pair(_ port: Int) throws -> StreamPair {
        let server = try #require(SocketAddress("127.0.0.1:\(port)"))
        let service = try ServiceInstance(
            name: "Web", type: ServiceType("_http._tcp"), domain: ServiceDomain("peers.test"))
        return StreamPair(
            service: service, engine: .embedded.usingNameServers(of: ResolverConfiguration(servers: [server])))
    }

    private func echoes(_ pair: StreamPair) async throws -> Bool {
        let text = Array("hello".utf8)
        var (sent, received) = (0, [UInt8]())
        while sent < text.count { sent += try await pair.output.write(Array(text[sent...])) }
        while received.count < text.count { received += try await pair.input.read(upTo: text.count - received.count) }
        return received == text
    }

    /// The first addresses have no listener.
    // Parity: SD-052 (socat, unbound)
    @Test func theNextAddressIsTried() async throws {
        let echo = Socat(.echo)
        try echo.start()
        defer { echo.stop() }
        let server = Unbound(
            records: [
                Self.serviceRecord(echo.port), .aaaa("h.peers.test", "::1"), .a("h.peers.test", "127.0.0.2"),
                .a("h.peers.test", "127.0.0.3"), .a("h.peers.test", "127.0.0.1"),
            ])
        try server.start()
        defer { server.stop() }
        let pair = try pair(server.port)
        try pair.open()
        #expect(try await echoes(pair))
        #expect(pair[.remoteAddress] == SocketAddress("127.0.0.1:\(echo.port)"))
        #expect(pair[.remoteHostName] == "h.peers.test")
        pair.close()
    }

    /// The answer for IPv4 comes long after that for IPv6, whose address has no listener.
    @Test func theOtherFamilyIsAwaitedIfTheFirstFails() async throws {
        let echo = Socat(.echo)
        try echo.start()
        defer { echo.stop() }
        let isTried = Signal()
        let port = echo.port
        let server = try ScriptedNameServer { query in
            switch query.type {
            case Self.srv: [.answer([Self.serviceRecord(port)])]
            case Self.aaaa: [.answer([.aaaa("h.peers.test", "::1")])]
            case Self.a: [.wait(isTried), .answer([.a("h.peers.test", "127.0.0.1")])]
            default: [.answer([])]
            }
        }
        let pair = try pair(server.port)
        try pair.open()
        let answer = Task { try await echoes(pair) }
        let dead = try #require(SocketAddress("[::1]:\(echo.port)"))
        func hasFailed() -> Bool {
            pair.report.steps.contains { step in
                guard step.kind == .connect(dead), case .failed = step.outcome else { return false }
                return true
            }
        }
        while !hasFailed(), !Task.isCancelled { await Task.yield() }
        isTried.fire()
        #expect(try await answer.value)
        #expect(pair[.remoteAddress] == SocketAddress("127.0.0.1:\(echo.port)"))
        pair.close()
    }

    /// The name server never answers for IPv6, and the stream does not wait for that.
    @Test func theOtherFamilyIsNotAwaitedIfTheFirstConnects() async throws {
        let echo = Socat(.echo)
        try echo.start()
        defer { echo.stop() }
        let isOver = Signal()
        defer { isOver.fire() }
        let port = echo.port
        let server = try ScriptedNameServer { query in
            switch query.type {
            case Self.srv: [.answer([Self.serviceRecord(port)])]
            case Self.aaaa: [.wait(isOver)]
            case Self.a: [.answer([.a("h.peers.test", "127.0.0.1")])]
            default: [.answer([])]
            }
        }
        let pair = try pair(server.port)
        try pair.open()
        #expect(try await echoes(pair))
        pair.close()
    }
}
