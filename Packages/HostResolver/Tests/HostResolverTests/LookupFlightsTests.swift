import DNSWire
import Testing

@testable import HostResolver

/// Flights, with rare orders of events.
struct LookupFlightsTests {
    private typealias Flights = LookupFlights<String, Int>

    @Test func dropsTheAnswerOfACancelledLaunch() {
        let launches = Locked<[Flights.Handler]>([])
        let flights = Flights { _, complete in
            launches.withLock { $0.append(complete) }
            return LookupToken { true }
        }
        #expect(flights.ask("q", until: nil) { _ in Issue.record("the handler was called") }.cancel())
        let answers = Locked<[Result<Int, ResolverError>]>([])
        _ = flights.ask("q", until: nil) { answer in answers.withLock { $0.append(answer) } }
        let completions = launches.withLock { $0 }
        completions[0](.failure(ResolverError(.cancelled)))
        #expect(answers.withLock { $0 }.isEmpty && flights.waitingCount == 1)
        completions[1](.success(7))
        #expect(answers.withLock { $0 } == [.success(7)] && flights.waitingCount == 0)
    }

    /// Before the first launch returns its token, it is answered and the same question is asked again.
    @Test func aLateTokenDoesNotAffectTheNextFlight() throws {
        let own = Locked<Flights?>(nil)
        let second = Locked<LookupToken?>(nil)
        let launches = Locked(0)
        let cancelled = Locked<[Int]>([])
        let flights = Flights { _, complete in
            let number = launches.withLock { count in
                count += 1
                return count
            }
            if number == 1 {
                complete(.success(1))
                let token = own.withLock { $0 }?.ask("q", until: nil) { _ in Issue.record("the handler was called") }
                second.withLock { $0 = token }
            }
            return LookupToken {
                cancelled.withLock { $0.append(number) }
                return true
            }
        }
        own.withLock { $0 = flights }
        _ = flights.ask("q", until: nil) { #expect($0 == .success(1)) }
        #expect(try #require(second.withLock { $0 }).cancel())
        #expect(cancelled.withLock { $0 } == [2] && flights.waitingCount == 0)
        own.withLock { $0 = nil }
    }

    // MARK: Deadlines

    @Test func aDeadlineReplacesTheSystemResolversReverseLimit() async throws {
        let system = HeldSystem(reverseTimeout: .milliseconds(1))
        let subject = NameQuery.host(try HostName("www.example.org"))
        async let patient = system.resolver.names(of: subject, until: .now + .seconds(3600))
        await system.untilCalls(1)
        await #expect(throws: ResolverError(.timedOut, name: "www.example.org")) {
            try await system.resolver.names(of: subject)
        }
        #expect(system.resolver.waitingCount == 1)
        system.release(.success([IPAddress("192.0.2.1")!]))
        #expect(try await patient == ["192.0.2.1"])
    }

    @Test func aDeadlineReplacesTheWireResolversReverseLimit() async throws {
        let mayAnswer = OneShot<Void>()
        let server = try LoopbackDNSServer { query, _ in
            .held(until: mayAnswer, query.answered([.ptr(DNSName("www.example.org")!)]))
        }
        defer { server.stop() }
        let configuration = server.configuration { $0.timeout = .seconds(3600) }
        let resolver = WireResolver(
            configuration: configuration, hosts: HostsFile(parsing: ""), maximumCachedAnswers: 0,
            reverseTimeout: .milliseconds(1)
        )
        let subject = NameQuery.address(IPAddress("192.0.2.1")!)
        async let patient = resolver.names(of: subject, until: .now + .seconds(3600))
        while server.questions.isEmpty, !Task.isCancelled { await Task.yield() }
        let error = await #expect(throws: ResolverError.self) { try await resolver.names(of: subject) }
        #expect(error?.code == .timedOut)
        mayAnswer.provide(())
        #expect(try await patient == ["www.example.org"])
    }
}
