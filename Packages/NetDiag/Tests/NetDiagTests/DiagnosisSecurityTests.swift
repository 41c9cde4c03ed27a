import FoundationEssentials
import Glibc
import StreamKitTesting
import Testing

@testable import NetDiag

/// What a diagnosis must never do, whatever the peer sends.
@Suite struct DiagnosisSecurityTests {
    private func diagnose(_ url: String, _ options: NetDiagnostic.Options = .patient) async throws -> Diagnosis {
        try await NetDiagnostic(url: URL(string: url)!, options: options).diagnose()
    }

    private func everything(_ diagnosis: Diagnosis) throws -> String {
        "\(diagnosis)" + String(decoding: try JSONEncoder().encode(diagnosis), as: UTF8.self)
    }

    @Test func probesSendNeitherCredentialsNorCookiesNorTheQuery() async throws {
        let server = try AnsweringServer(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nSet-Cookie: id=1\r\nContent-Length: 0\r\n\r\n"
        )
        let diagnosis = try await diagnose("http://ann:hunter2@127.0.0.1:\(server.port)/a?token=hunter2#hunter2")
        #expect(diagnosis.cause?.code == .credentialsWanted)
        #expect(!server.requests.isEmpty)
        for request in server.requests {
            #expect(!request.contains("hunter2") && !request.lowercased().contains("cookie"))
            #expect(!request.lowercased().contains("authorization"))
        }
        #expect(!(try everything(diagnosis)).contains("hunter2"))
    }

    /// Neither a proxy receives the client certificate, nor a server whose certificate is only inspected.
    @Test func onlyAVerifiedTargetReceivesTheClientCertificate() throws {
        var options = NetDiagnostic.Options.patient
        options.tls.identity = try TestIdentity.make()
        let target = try DiagnosisTarget(#require(URL(string: "https://www.example.test/")))
        var probe = ServiceProbe(target: target, options: options, deadline: .now)
        #expect(probe.tls(with: .target) == options.tls)
        #expect(probe.tls(with: .proxy).identity == nil)
        probe.isInspecting = true
        for peer in [ServiceProbe.Peer.target, .proxy] {
            let tls = probe.tls(with: peer)
            #expect(tls.identity == nil && tls.verification == .insecureNone)
        }
    }

    @Test func neitherServersNorProxiesMayChooseHTTP2() throws {
        var options = NetDiagnostic.Options.patient
        options.tls.applicationProtocols = ["h2", "http/1.1"]
        let target = try DiagnosisTarget(#require(URL(string: "https://www.example.test/")))
        let probe = ServiceProbe(target: target, options: options, deadline: .now)
        for peer in [ServiceProbe.Peer.target, .proxy] {
            #expect(probe.tls(with: peer).applicationProtocols == ["http/1.1"])
        }
    }

    @Test func credentialsOfAProxyAreNotSent() async throws {
        let proxy = try AnsweringServer("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        var options = NetDiagnostic.Options.patient
        var settings = ProxySettings()
        settings.others = [ProxyServer(.http, host: "127.0.0.1", port: proxy.port, user: "ann", password: "hunter2")]
        options.proxies = settings
        for url in ["https://www.example.test/", "http://www.example.test/"] {
            let diagnosis = try await diagnose(url, options)
            #expect(diagnosis.remarks.map(\.code) == [.proxyCredentialsWanted])
            #expect(!(try everything(diagnosis)).contains("hunter2"))
        }
        #expect(proxy.requests.count == 2 && proxy.requests.allSatisfy { !$0.lowercased().contains("authorization") })
    }

    /// A proxy may send the server's greeting in one segment with its own response.
    @Test func aGreetingBehindTheResponseOfAProxyIsRead() async throws {
        let proxy = try AnsweringServer("HTTP/1.1 200 Connected\r\n\r\n220 Ready.\r\n")
        var options = NetDiagnostic.Options.patient
        var settings = ProxySettings()
        settings.others = [ProxyServer(.http, host: "127.0.0.1", port: proxy.port)]
        options.proxies = settings
        let diagnosis = try await diagnose("ftp://www.example.test/", options)
        #expect(proxy.requests.first?.hasPrefix("CONNECT www.example.test:21 ") == true)
        #expect(diagnosis.cause == nil, "\(diagnosis)")
    }

    /// The name is sent to a proxy in the form in which a stream sends it, or not at all.
    @Test(arguments: [
        ("www.example.test", "www.example.test:443"), ("b\u{FC}cher.test", "xn--bcher-kva.test:443"),
        ("2001:db8::1", "[2001:db8::1]:443"), ("a.test:1 HTTP/1.1\r\nX: y\r\n\r\n", nil),
    ])
    func aNameCannotEndTheRequestForATunnel(host: String, authority: String?) async throws {
        let proxy = try AnsweringServer("HTTP/1.1 403 No\r\n\r\n")
        var target = DiagnosisTarget(host: host, port: 443, isSecure: true, service: .bytes)
        target.proxy = ProxyServer(.http, host: "127.0.0.1", port: proxy.port)
        let probe = ServiceProbe(target: target, options: .patient, deadline: .now + .seconds(300))
        let outcome = await probe.run(at: .ip(.v4(.loopback), port: proxy.port))
        let request = authority.map {
            "CONNECT \($0) HTTP/1.1\r\nHost: \($0)\r\nUser-Agent: NetKit-diagnosis\r\n\r\n"
        }
        #expect(proxy.requests == (request.map { [$0] } ?? []))
        #expect(outcome == (request == nil ? .proxyFailed(StreamError(posix: EINVAL)) : .proxyRefused(status: 403)))
    }

    /// A failed handshake is the proxy's fault only if it is that with the proxy.
    @Test(arguments: [ProxyServer.Kind.http, .https])
    func aFailedHandshakeIsReportedForItsPeer(kind: ProxyServer.Kind) async throws {
        let proxy = try AnsweringServer("HTTP/1.1 200 Connected\r\n\r\nnot TLS\r\n")
        var target = DiagnosisTarget(host: "127.0.0.1", port: 443, isSecure: true, service: .bytes)
        target.proxy = ProxyServer(kind, host: "127.0.0.1", port: proxy.port)
        let probe = ServiceProbe(target: target, options: .patient, deadline: .now + .seconds(300))
        switch await probe.run(at: .ip(.v4(.loopback), port: proxy.port)) {
        case .tlsFailed: #expect(kind == .http)
        case .proxyFailed: #expect(kind == .https)
        case let other: Issue.record("\(other)")
        }
    }

    /// Only methods without a password are offered (RFC 1928 §3).
    @Test func credentialsOfASOCKSProxyAreNotOffered() async throws {
        let proxy = try AnsweringServer("\u{5}\u{7f}")
        var options = NetDiagnostic.Options.patient
        var settings = ProxySettings()
        settings.others = [ProxyServer(.socks5h, host: "127.0.0.1", port: proxy.port, user: "ann", password: "hunter2")]
        options.proxies = settings
        _ = try await diagnose("http://www.example.test/", options)
        #expect(proxy.requests == ["\u{5}\u{1}\u{0}"])
    }

    /// A redirect to another host, such as a portal's, is not followed.
    @Test func redirectsToOtherHostsAreNotFollowed() async throws {
        let other = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        for place in [
            "http://localhost:\(other.port)/", "//localhost:\(other.port)/", "http://127.0.0.1:\(other.port)/",
        ] {
            let server = try AnsweringServer("HTTP/1.1 302 Go\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n")
            _ = try await diagnose("http://127.0.0.1:\(server.port)/")
            #expect(server.requests.count == 1)
        }
        #expect(other.requests.isEmpty)
    }

    @Test func redirectsWithinTheOriginAreBounded() async throws {
        let circle = try AnsweringServer("HTTP/1.1 302 Go\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
        #expect(try await diagnose("http://127.0.0.1:\(circle.port)/").cause?.code == .redirectLoop)
        #expect(circle.requests.count == 1)
        #expect(ServiceProbe.path(of: "/a#b", from: "/", within: .plainPage) == "/a")
        #expect(ServiceProbe.path(of: "http://www.example.org:80/x?y", from: "/", within: .plainPage) == "/x?y")
        #expect(ServiceProbe.path(of: "HTTP://WWW.EXAMPLE.ORG", from: "/", within: .plainPage) == "/")
        #expect(ServiceProbe.path(of: "b/c?d#e", from: "/", within: .plainPage) == "/b/c?d")
        // Relative to the page that redirects, not to the first one.
        #expect(ServiceProbe.path(of: "c", from: "/a/b?x", within: .plainPage) == "/a/c")
        #expect(ServiceProbe.path(of: "?y", from: "/a/b?x", within: .plainPage) == "/a/b?y")
        for other in [
            "//evil.example/", "https://www.example.org/", "http://www.example.org.evil/",
            "http://www.example.org@evil/",
        ] {
            #expect(ServiceProbe.path(of: other, from: "/", within: .plainPage) == nil)
        }
    }

    @Test func bodiesAreNotRead() async throws {
        let server = try AnsweringServer(
            "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + String(repeating: "x", count: 100_000))
        #expect(try await diagnose("http://127.0.0.1:\(server.port)/").cause == nil)
    }

    /// A head without end is rejected at HTTPMessage's limit, before memory is exhausted.
    @Test func aHeadWithoutEndIsNotHTTP() async throws {
        let server = try AnsweringServer("HTTP/1.1 200 OK\r\nX: " + String(repeating: "y", count: 4_000_000))
        #expect(try await diagnose("http://127.0.0.1:\(server.port)/").cause?.code == .notHTTP)
    }

    @Test func serverTextIsEscaped() async throws {
        let server = try AnsweringServer(
            "HTTP/1.1 302 Go\r\nLocation: http://evil.example/\u{1b}[2J?x=hunter2\r\nContent-Length: 0\r\n\r\n")
        let diagnosis = try await diagnose("http://127.0.0.1:\(server.port)/")
        let text = try everything(diagnosis)
        #expect(!text.unicodeScalars.contains("\u{1b}") && !text.contains("hunter2"))
    }

    @Test func greetingsOfFTPServersAreBounded() async throws {
        for (greeting, code) in [
            ("220-\r\n220 Ready\r\n", nil), ("421 Full\r\n", .serverBroken), ("2 0 \r\n", .notFTP),
            ("", .answerMissing),
        ]
            as [(String, FindingCode?)]
        {
            let server = try AnsweringServer(greeting: greeting)
            #expect(try await diagnose("ftp://127.0.0.1:\(server.port)/").cause?.code == code, "\(greeting)")
        }
    }
}
