import HTTPMessage
import HostResolver
import StreamKit
import Testing

@testable import HTTPStream

/// The hosts for which a server responds: DNS rebinding must not reach a local one.
@Suite struct AcceptedHostsTests {
    @Test(
        arguments: [
            ("localhost", true), ("LOCALHOST:8080", true), ("localhost.", true), ("a.localhost:1", true),
            ("127.0.0.1", true),
            ("127.0.0.1:80", true), ("192.0.2.7:80", true), ("[::1]:80", true), ("[fe80::1%25eth0]", true),
            ("evil.example", false),
            ("localhost.evil.example", false), ("evillocalhost", false), ("127.0.0.1.evil.example", false),
            ("[::1].evil", true),
            ("", false), ("127.1", false), ("0x7f.1", false), (nil, true),
        ] as [(String?, Bool)])
    func local(_ authority: String?, _ isAccepted: Bool) {
        #expect(HTTPServer.Configuration.Hosts.local.accepts(authority) == isAccepted)
        #expect(HTTPServer.Configuration.Hosts.any.accepts(authority))
    }

    @Test(arguments: [
        ("app.example", true), ("APP.example.:8443", true), ("other.example", true), ("x.app.example", false),
        ("localhost:1", true), ("[::1]", true),
    ])
    func names(_ authority: String, _ isAccepted: Bool) {
        let hosts = HTTPServer.Configuration.Hosts.names(["app.example", "Other.Example:80"])
        #expect(hosts.accepts(authority) == isAccepted)
    }

    @Test func aServerKnowsWhetherItIsLocal() throws {
        let local = try HTTPServer(port: 0, isLocal: true)
        #expect(local.configuration.hosts == .local)
        let all = try HTTPServer(port: 0)
        #expect(all.configuration.hosts == .any)
        var configuration = HTTPServer.Configuration()
        configuration.hosts = .any
        #expect(try HTTPServer(port: 0, isLocal: true, configuration: configuration).configuration.hosts == .any)
        let socket = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        #expect(try HTTPServer(sockets: [socket]).configuration.hosts == .local)
    }

    @Test func aPageOfAnotherSiteIsRefused() async throws {
        let server = try HTTPServer(port: 0, isLocal: true)
        let running = Task { try await server.run { try await $0.respond(.ok) } }
        let pair = StreamPair(address: .ip(.v4(.loopback), port: try #require(server.port)))
        try pair.open()
        try await pair.output.writeAll("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        var answer: [UInt8] = []
        while case let more = try await pair.input.read(upTo: 4096), !more.isEmpty { answer += more }
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 421 Misdirected Request\r\n"))
        pair.close()
        server.stop(within: .zero)
        try await running.value
    }
}
