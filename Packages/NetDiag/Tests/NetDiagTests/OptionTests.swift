import FoundationEssentials
import HostResolverTesting
import StreamKitTesting
import Testing

@testable import NetDiag

/// Each option of ``NetDiagnostic`` changes the result of a diagnosis.
@Suite struct OptionTests {
    /// Simulates a slow resolver without waiting: it answers only requests whose deadline is at least `duration` away.
    private struct SlowResolver: Resolver {
        let duration: Duration

        func start(_ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void) -> LookupToken {
            let resolver = ScriptedResolver()
            let isPatient = request.deadline.map { ContinuousClock.now.duration(to: $0) >= duration } ?? true
            resolver.script("\(request.name)", isPatient ? [.batch(["127.0.0.1"]), .finish()] : [.fail(.timedOut)])
            return resolver.start(request, handler)
        }
    }

    /// The test of each option. For a new option without a row, the test of this table fails.
    private static let rows: [String: String] = [
        "lookupTimeout": "lookups", "nameServerTimeout": "limits", "connectionTimeout": "connections",
        "responseTimeout": "NetDiagnosticTests.aLateHead", "pathTimeout": "limits", "proxies": "proxies",
        "tls": "TrustTests.roots, among the integration tests", "resolver": "resolvers", "nameServers": "nameServers",
        "name": "NetDiagnosticTests.programName",
    ]

    @Test("Each option has a row in this table")
    func table() {
        let options = Mirror(reflecting: NetDiagnostic.Options()).children.compactMap(\.label)
        #expect(Set(options) == Set(Self.rows.keys))
    }

    private func diagnose(_ url: String, _ change: (inout NetDiagnostic.Options) -> Void) async throws -> Diagnosis {
        var options = NetDiagnostic.Options.patient
        options.proxies = ProxySettings()
        change(&options)
        return try await NetDiagnostic(url: URL(string: url)!, options: options).diagnose()
    }

    private static let page = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    @Test func lookups() async throws {
        let server = try AnsweringServer(Self.page)
        let url = "http://www.example.test:\(server.port)/"
        let patient = try await diagnose(url) {
            $0.resolver = SlowResolver(duration: .seconds(30))
            $0.nameServers = []
        }
        #expect(patient.cause == nil, "\(patient)")
        let hasty = try await diagnose(url) {
            $0.resolver = SlowResolver(duration: .seconds(30))
            $0.nameServers = []
            $0.lookupTimeout = .seconds(10)
        }
        #expect(hasty.brokenRung == .name, "\(hasty)")
    }

    @Test func connections() async throws {
        let server = try AnsweringServer(Self.page)
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try await diagnose(url) { _ in }.cause == nil)
        let hasty = try await diagnose(url) { $0.connectionTimeout = .nanoseconds(1) }
        #expect(hasty.brokenRung == .connection, "\(hasty)")
    }

    /// By a clock that the test controls: a missing answer is awaited as long as the option says.
    @Test func limits() {
        let silent = World.changed {
            $0.answers = [World.server: .silent]
            $0.lookup = .failure(World.temporary)
        }
        let dead = World.changed { $0.connection = World.timedOut }
        func time(_ world: World, _ change: (inout NetDiagnostic.Options) -> Void) -> Duration {
            var options = NetDiagnostic.Options()
            options.lookupTimeout = .seconds(1)
            options.connectionTimeout = .seconds(1)
            options.responseTimeout = .seconds(100)
            change(&options)
            return world.run(limits: LadderLimits(options)).time
        }
        func difference(_ world: World, _ option: WritableKeyPath<NetDiagnostic.Options, Duration>) -> Duration {
            time(world) { $0[keyPath: option] = .seconds(60) } - time(world) { $0[keyPath: option] = .seconds(20) }
        }
        #expect(difference(silent, \.nameServerTimeout) >= .seconds(40))
        #expect(difference(dead, \.pathTimeout) >= .seconds(40))
        #expect(difference(dead, \.nameServerTimeout) == .zero)
    }

    @Test func proxies() async throws {
        let server = try AnsweringServer(Self.page)
        let deadEnd = try RefusedPort()
        var settings = ProxySettings()
        settings.others = [ProxyServer(.http, host: "127.0.0.1", port: deadEnd.port)]
        settings.bypassesLoopback = false
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try await diagnose(url) { _ in }.cause == nil)
        #expect(try await diagnose(url) { $0.proxies = settings }.cause?.code == .proxyUnreachable)
    }

    @Test func resolvers() async throws {
        let server = try AnsweringServer(Self.page)
        for (name, isRight) in [("www.example.test", true), ("mail.example.test", false)] {
            let resolver = ScriptedResolver()
            resolver.script("www.example.test", [.batch(["127.0.0.1"]), .finish()])
            let diagnosis = try await diagnose("http://\(name):\(server.port)/") {
                $0.resolver = resolver
                $0.nameServers = []
            }
            #expect(isRight ? diagnosis.cause == nil : diagnosis.brokenRung == .name, "\(diagnosis)")
            #expect(resolver.requests.map { "\($0.name)" }.contains(name))
        }
    }

    /// For a SOCKS proxy that accepts only addresses, the name of the target is looked up here.
    @Test func resolversOfNamesBehindSOCKS() async throws {
        let proxy = try AnsweringServer("\u{5}\u{0}")
        var settings = ProxySettings()
        settings.others = [ProxyServer(.socks5, host: "127.0.0.1", port: proxy.port)]
        let resolver = ScriptedResolver()
        resolver.script("www.example.test", [.batch(["127.0.0.1"]), .finish()])
        _ = try await diagnose("http://www.example.test/") {
            $0.proxies = settings
            $0.resolver = resolver
            $0.nameServers = []
        }
        #expect(resolver.requests.map { "\($0.name)" }.contains("www.example.test"))
    }

    /// Name servers are queried only if a name is in doubt.
    @Test func nameServers() async throws {
        let deadEnd = try RefusedPort()
        let codes = try await [nil, SocketAddress.ip(.v4(.loopback), port: deadEnd.port)].asyncMap { server in
            let diagnosis = try await diagnose("http://www.example.test/") {
                $0.resolver = ScriptedResolver()
                $0.nameServers = server.map { [$0] } ?? []
            }
            return Set(([diagnosis.cause].compactMap(\.self) + diagnosis.consequences).map(\.code))
        }
        #expect(!codes[0].contains(.nameServersFail) && codes[1].contains(.nameServersFail))
    }
}

extension Sequence {
    fileprivate func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
        var result: [T] = []
        for element in self { result.append(try await transform(element)) }
        return result
    }
}
