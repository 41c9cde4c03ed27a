import DNSWire
import Testing

@testable import HostResolver

/// Each option changes a resolver's behaviour. The tests fail for an option without a row here.
struct ResolverOptionTests {
    private static let servers = [SocketAddress("192.0.2.1:53")!, SocketAddress("192.0.2.2:53")!]

    /// The candidates of a short and a longer name, and the queries for one question, until every server has timed out.
    private static func outcome(_ change: (inout ResolverConfiguration) -> Void) throws -> [String] {
        var configuration = ResolverConfiguration(servers: servers, search: [DNSName("example.org")!])
        change(&configuration)
        var lines: [String] = []
        for name in ["www", "a.b"] {
            lines += configuration.candidates(for: try HostName(name)).map { "\(name): \($0)" }
        }
        let question = DNSQuestion(DNSName("www.example.org")!, .a)
        var machine = DNSQueryMachine(question, configuration: configuration, firstServer: 1)
        var random = SeededRandom(seed: 1)
        let start = ContinuousClock.now
        var now = start
        while true {
            switch machine.next(now: now, using: &random) {
            case .send(let sent):
                let query = try DNSMessage(wire: sent.bytes)
                lines.append(
                    "\(sent.server) \(sent.transport) \(query.additionals.count) \(query.header.isAuthenticated)")
            case .wait(let time):
                now = time
                lines.append("until \(start.duration(to: now))")
            case .finish: return lines
            }
        }
    }

    private static let rows: [String: @Sendable (inout ResolverConfiguration) -> Void] = [
        "servers": { $0.servers.append(SocketAddress("192.0.2.3:53")!) },
        "search": { $0.search.append(DNSName("example.com")!) },
        "dotsBeforeSearch": { $0.dotsBeforeSearch = 2 },
        "timeout": { $0.timeout = .seconds(1) },
        "attempts": { $0.attempts = 3 },
        "rotatesServers": { $0.rotatesServers = true },
        "usesEDNS": { $0.usesEDNS = false },
        "trustsAuthenticatedData": { $0.trustsAuthenticatedData = true },
        "usesTCPOnly": { $0.usesTCPOnly = true },
        "skipsTopLevelQueries": { $0.skipsTopLevelQueries = true },
    ]

    @Test(arguments: rows.keys.sorted())
    func eachOptionChangesTheQueries(_ name: String) throws {
        #expect(try Self.outcome(#require(Self.rows[name])) != Self.outcome { _ in })
    }

    @Test func everyOptionHasARow() {
        // Not an option, but a property of the parsed text.
        let derived: Set = ["isFallback"]
        let configuration = ResolverConfiguration(servers: [])
        #expect(
            Set(Self.rows.keys)
                == Set(Mirror(reflecting: configuration).children.compactMap(\.label)).subtracting(derived)
        )
    }

    // MARK: Requests

    @Test func eachPropertyOfARequestChangesTheResult() async throws {
        func outcome(_ change: (inout AddressRequest) -> Void) async throws -> [String] {
            let system = HeldSystem()
            var request = AddressRequest(try HostName("www.example.org"))
            change(&request)
            // A request that has timed out gets no answer.
            if request.deadline == nil { system.release(.success([IPAddress("192.0.2.1")!])) }
            var lines: [String] = []
            do throws(ResolverError) {
                lines = try await system.resolver.addresses(request).map(\.description)
            } catch {
                lines = [error.code == .timedOut ? "timed out" : "\(error)"]
            }
            let calls = request.deadline == nil ? system.calls.sorted() : []
            system.release(.success([]))
            return lines + calls
        }
        let other = try HostName("other.example.org")
        let rows: [String: [String]] = [
            "name": try await outcome { $0.name = other },
            "families": try await outcome { $0.families = .v4 },
            "deadline": try await outcome { $0.deadline = .now },
            "delivery": try await outcome { $0.delivery = .asTheyCome },
        ]
        let usual = try await outcome { _ in }
        for (name, lines) in rows { #expect(lines != usual, "\(name)") }
        let request = AddressRequest(other)
        #expect(Set(rows.keys) == Set(Mirror(reflecting: request).children.compactMap(\.label)))
    }

    // MARK: The wire resolver

    @Test func eachOptionOfTheWireResolverChangesItsAnswers() async throws {
        let server = try LoopbackDNSServer { query, _ in .answer(query.answered([.a(IPv4Address("192.0.2.1")!)])) }
        defer { server.stop() }
        /// The results of two lookups of a name, and the number of queries.
        func outcome(
            _ configuration: ResolverConfiguration, _ hosts: String = "", maximumCachedAnswers: Int = 0
        ) async throws -> [String] {
            let before = server.questions.count
            let resolver = WireResolver(
                configuration: configuration, hosts: HostsFile(parsing: hosts),
                maximumCachedAnswers: maximumCachedAnswers)
            var lines: [String] = []
            for _ in 0..<2 {
                let request = AddressRequest(try HostName("www.example.org"), families: .v4)
                do throws(ResolverError) {
                    lines += try await resolver.addresses(request).map(\.description)
                } catch {
                    lines.append("\(error.code)")
                }
            }
            return lines + ["asked \(server.questions.count - before)"]
        }
        let usual = server.configuration()
        #expect(try await outcome(usual) == ["192.0.2.1", "192.0.2.1", "asked 2"])
        #expect(try await outcome(usual, maximumCachedAnswers: 10) == ["192.0.2.1", "192.0.2.1", "asked 1"])
        #expect(try await outcome(usual, "192.0.2.9 www.example.org") == ["192.0.2.9", "192.0.2.9", "asked 0"])
        #expect(try await outcome(ResolverConfiguration(servers: [])).last == "asked 0")
        // A new property needs a line above. The configuration and the cache belong to the client; the times have tests of their own.
        let parts = Mirror(reflecting: WireResolver()).children.compactMap(\.label)
        #expect(Set(parts) == ["client", "fixedHosts", "reverseTimeout", "secondFamilyTime", "flights"])
    }
}
