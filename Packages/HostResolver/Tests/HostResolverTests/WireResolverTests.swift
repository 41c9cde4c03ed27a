import DNSWire
import Glibc
import Testing

@_spi(Packages) @testable import HostResolver

@Suite(.serialized) struct WireResolverTests {
    private static let v4 = IPv4Address("192.0.2.1")!
    private static let v6 = IPv6Address("2001:db8::1")!
    private static let noHosts = HostsFile(parsing: "")

    /// Runs `body` with a server and a resolver that queries it.
    private func with(
        maximumCachedAnswers: Int = 0, secondFamilyTime: Duration = .seconds(3600),
        change: (inout ResolverConfiguration) -> Void = { _ in },
        hosts: HostsFile = noHosts, _ behaviour: @escaping LoopbackDNSServer.Behaviour,
        _ body: (LoopbackDNSServer, WireResolver) async throws -> Void
    ) async throws {
        let server = try LoopbackDNSServer(behaviour)
        defer { server.stop() }
        let resolver = WireResolver(
            configuration: server.configuration(change), hosts: hosts, maximumCachedAnswers: maximumCachedAnswers,
            reverseTimeout: WireResolver.reverseTimeout, secondFamilyTime: secondFamilyTime)
        try await body(server, resolver)
    }

    private static func addresses(_ query: DNSMessage) -> LoopbackDNSServer.Reaction {
        switch query.questions[0].type {
        case .a: .answer(query.answered([.a(v4)]))
        case .aaaa: .answer(query.answered([.aaaa(v6)]))
        default: .answer(query.answered([]))
        }
    }

    // Parity: HR-014
    @Test func findsBothFamilies() async throws {
        try await with({ query, _ in Self.addresses(query) }) { server, resolver async throws in
            let found = try await resolver.addresses(of: "www.example.org")
            #expect(Set(found) == [.v4(Self.v4), .v6(Self.v6)])
            #expect(Set(server.questions.map(\.type)) == [.a, .aaaa])
            let only = try await resolver.addresses(AddressRequest(HostName("www.example.org"), families: .v4))
            #expect(only == [.v4(Self.v4)])
        }
    }

    @Test func blocksTheCallingThread() async throws {
        try await with({ query, _ in Self.addresses(query) }) { _, resolver async throws in
            let found = Locked<Result<Int, ResolverError>?>(nil)
            let block: @Sendable () -> Void = {
                let result = Result { () throws(ResolverError) in try resolver.addresses(of: "www.example.org").count }
                found.withLock { $0 = result }
            }
            await onThread(block)
            #expect(found.withLock { $0 } == .success(2))
        }
    }

    @Test(arguments: [
        (DNSRecordType.srv, DNSRecordData.srv(priority: 1, weight: 2, port: 3, target: DNSName("a.example")!)),
        (.mx, .mx(preference: 5, exchange: DNSName("m.example")!)), (.txt, .txt([Array("text".utf8), [0]])),
        (.ptr, .ptr(DNSName("p.example")!)),
        (DNSRecordType(rawValue: 257), .other(DNSRecordType(rawValue: 257), [1, 2])),
    ])
    func findsRecordsWithTheirTimes(type: DNSRecordType, data: DNSRecordData) async throws {
        try await with({ query, _ in .answer(query.answered([data], timeToLive: 77)) }) {
            server, resolver async throws in
            let answer = try await resolver.records(type, of: "x.example.org")
            #expect(answer.records.map(\.data) == [data] && answer.timeToLive == 77)
            #expect(answer.servers.map(\.server) == [server.address] && answer.servers.map(\.result) == [.answered])
        }
    }

    /// Only the first lookup asks a server three times that lower-cases the question and has no TCP.
    @Test func remembersAServerThatFoldsTheCase() async throws {
        try await with(
            change: { $0.timeout = .seconds(3600) },
            { query, isTCP in
                if isTCP { return .hangUp }
                var answer = query.answered([.a(Self.v4)])
                answer.questions[0].name = DNSName(query.questions[0].name.description.lowercased())!
                return .answer(answer)
            }
        ) { server, resolver async throws in
            for _ in 0..<2 {
                let found = try await resolver.addresses(
                    AddressRequest(HostName("www.long-name.example.org"), families: .v4))
                #expect(found == [.v4(Self.v4)])
            }
            #expect(server.questions.count == 4 && server.tcpCount == 1)
        }
    }

    /// Only the lookup of the first name asks a home router that does not understand EDNS with it, until the memory is flushed. Silent
    /// servers are tested with the machine's time (``DNSQueryMachineTests``).
    @Test func remembersAServerThatBreaksEDNS() async throws {
        let extended = Locked(0)
        try await with(
            change: { $0.timeout = .seconds(3600) },
            { query, _ in
                if query.extensionRecord == nil { return Self.addresses(query) }
                extended.withLock { $0 += 1 }
                return .answer(query.answered([], code: 1))
            }
        ) { server, resolver async throws in
            for name in ["a.example.org", "b.example.org"] {
                let request = try AddressRequest(HostName(name), families: .v4)
                #expect(try await resolver.addresses(request) == [.v4(Self.v4)])
                #expect(extended.withLock { $0 } == 1)
            }
            resolver.flushCache()
            _ = try await resolver.records(.a, of: "c.example.org")
            #expect(extended.withLock { $0 } == 2)
        }
    }

    @Test func fetchesTruncatedAnswersOverTCP() async throws {
        let texts = (0..<40).map { DNSRecordData.txt([[UInt8](repeating: UInt8($0), count: 200)]) }
        try await with({ query, isTCP in
            var cut = query.answered([])
            cut.header.isTruncated = true
            return .answer(isTCP ? query.answered(texts) : cut)
        }) { server, resolver async throws in
            let answer = try await resolver.records(.txt, of: "big.example.org")
            #expect(answer.records.count == 40)
            #expect(server.tcpCount == 1)
        }
    }

    /// Answers of about 64 KiB, which repeat each address once.
    @Test func limitsTheAddressesOfAnAnswer() async throws {
        @Sendable func data(_ type: DNSRecordType) -> [DNSRecordData] {
            (0..<2000).map { number in
                let octets = [UInt8((number / 2) >> 8), UInt8((number / 2) & 255)]
                switch IPAddress(
                    octets: type == .a ? [10, 0] + octets : [0x20, 1] + [UInt8](repeating: 0, count: 12) + octets)
                {
                case .v4(let address)?: return .a(address)
                case .v6(let address)?: return .aaaa(address)
                case nil: return .other(type, [])
                }
            }
        }
        try await with({ query, isTCP in
            var cut = query.answered([])
            cut.header.isTruncated = true
            return .answer(isTCP ? query.answered(data(query.questions[0].type)) : cut)
        }) { _, resolver async throws in
            let limit = WireResolver.maximumAddresses
            let expected = [DNSRecordType.a, .aaaa].flatMap { data($0).prefix(2 * limit).compactMap(\.address) }
            let found = try await resolver.addresses(of: "b.example.")
            #expect(found.count == 2 * limit && Set(found) == Set(expected))
        }
    }

    /// The records that have arrived are the answer, which says that there may be more, and is not cached.
    @Test func aTruncatedAnswerIsUsedWithoutTCP() async throws {
        try await with(
            maximumCachedAnswers: 10,
            { query, isTCP in
                if isTCP { return .hangUp }
                var cut = query.answered([.a(Self.v4)])
                cut.header.isTruncated = true
                return .answer(cut)
            }
        ) { _, resolver async throws in
            let answer = try await resolver.records(.a, of: "big.example.org")
            #expect(answer.records.map(\.data) == [.a(Self.v4)] && answer.isTruncated)
            #expect(answer.servers.map(\.result) == [.connectionFailed])
            let request = try AddressRequest(HostName("big.example.org"), families: .v4)
            #expect(try await resolver.addresses(request) == [.v4(Self.v4)])
            #expect(resolver.cacheStatistics.count == 0)
        }
    }

    @Test func aTCPConnectionThatFailsIsReported() async throws {
        try await with({ query, isTCP in
            var cut = query.answered([])
            cut.header.isTruncated = true
            return isTCP ? .hangUp : .answer(cut)
        }) { server, resolver async throws in
            await #expect {
                _ = try await resolver.records(.txt, of: "big.example.org")
            } throws: {
                ($0 as? ResolverError)?.servers.map(\.result) == [.connectionFailed]
            }
        }
    }

    /// Forged packets: from another port (which the kernel drops), with another ID, another question, or random bytes.
    @Test(arguments: ["port", "id", "question", "noise"])
    func ignoresForgedAnswers(kind: String) async throws {
        try await with({ query, _ in
            var forged = query.answered([.a(IPv4Address("203.0.113.66")!)])
            if kind == "id" { forged.header.id ^= 1 }
            if kind == "question" { forged.questions[0].name = DNSName("evil.example")! }
            let bytes = kind == "noise" ? [1, 2, 3] : (try? forged.wireForm()) ?? []
            return .answerAfter(forged: bytes, fromOtherPort: kind == "port", query.answered([.a(Self.v4)]))
        }) { _, resolver async throws in
            let answer = try await resolver.records(.a, of: "www.example.org")
            #expect(answer.records.map(\.data) == [.a(Self.v4)])
        }
    }

    // Parity: HR-018
    @Test(arguments: [
        (2 as UInt8, ResolverError.Code.serverFailed, ServerOutcome.Result.serverFailure), (5, .serverFailed, .refused),
        (3, .hostNotFound, .answered), (0, .noData, .answered),
    ])
    func reportsTheServersOutcome(code: UInt8, error: ResolverError.Code, outcome: ServerOutcome.Result) async throws {
        try await with({ query, _ in .answer(query.answered([], code: code)) }) { _, resolver async throws in
            await #expect {
                _ = try await resolver.addresses(of: "www.example.org.")
            } throws: {
                let failure = $0 as? ResolverError
                return failure?.code == error && failure?.servers.map(\.result) == [outcome]
                    && failure?.name == "www.example.org."
            }
        }
    }

    @Test func triesTheSecondServer() async throws {
        let failing = try LoopbackDNSServer { query, _ in .answer(query.answered([], code: 2)) }
        defer { failing.stop() }
        try await with(change: { $0.servers.insert(failing.address, at: 0) }, { query, _ in Self.addresses(query) }) {
            server, resolver async throws in
            let answer = try await resolver.records(.a, of: "www.example.org")
            #expect(answer.servers.map(\.server) == [failing.address, server.address])
            #expect(answer.servers.map(\.result) == [.serverFailure, .answered])
        }
    }

    @Test func doesNotWaitForAClosedPort() async throws {
        let server = try LoopbackDNSServer { _, _ in .silence }
        var configuration = server.configuration { $0.timeout = .seconds(3600) }
        server.stop()
        configuration.attempts = 2
        let resolver = WireResolver(configuration: configuration, hosts: Self.noHosts)
        await #expect {
            _ = try await resolver.records(.a, of: "www.example.org")
        } throws: {
            ($0 as? ResolverError)?.servers.map(\.result) == [.unreachable, .unreachable]
        }
    }

    @Test func timesOutWithoutAnswers() async throws {
        try await with(change: { $0.timeout = .milliseconds(20) }, { _, _ in .silence }) {
            server, resolver async throws in
            await #expect(throws: ResolverError.self) { try await resolver.records(.a, of: "a.example") }
            await #expect {
                _ = try await resolver.addresses(of: "www.example.org")
            } throws: {
                ($0 as? ResolverError)?.code == .timedOut
                    && ($0 as? ResolverError)?.servers.map(\.result) == [.timedOut]
            }
        }
        try await with(change: { $0.timeout = .seconds(3600) }, { _, _ in .silence }) { _, resolver async throws in
            await #expect(throws: ResolverError(.timedOut, name: "www.example.org")) {
                try await resolver.addresses(of: "www.example.org", until: .now + .milliseconds(20))
            }
        }
    }

    @Test func ignoresTheAnswerToAnEarlierQuery() async throws {
        let held = Locked<DNSMessage?>(nil)
        try await with(
            change: { $0.timeout = .seconds(3600) },
            { query, _ in
                let first = held.withLock { held in
                    defer { held = query }
                    return held
                }
                // The second query, without EDNS, gets the answer to the first, which was sent from another port, and ignores it.
                guard let first else { return .answer(query.answered([], code: 1)) }
                return .answerAfter(
                    forged: (try? first.answered([.a(IPv4Address("203.0.113.66")!)]).wireForm()) ?? [],
                    fromOtherPort: false,
                    query.answered([.a(Self.v4)]))
            }
        ) { _, resolver async throws in
            let answer = try await resolver.records(.a, of: "www.example.org")
            #expect(answer.records.map(\.data) == [.a(Self.v4)])
            #expect(answer.servers.map(\.result) == [.answered])
        }
    }

    /// What one zone's server does wrong does not hide the names that come later. What all names would share ends the search.
    @Test(arguments: [
        (ResolverError.Code.hostNotFound, true), (.noData, true), (.serverFailed, true), (.malformedAnswer, true),
        (.timedOut, false), (.temporaryFailure, false), (.cancelled, false),
    ])
    func theSearchListIsWalkedToItsEnd(code: ResolverError.Code, goesOn: Bool) throws {
        var configuration = ResolverConfiguration(servers: [], search: [DNSName("a.example")!, DNSName("b.example")!])
        configuration.dotsBeforeSearch = 1
        var search = DNSSearchMachine(try HostName("www"), configuration: configuration)
        var names = [try #require(search.current).description]
        while search.failed(ResolverError(code)), let name = search.current { names.append(name.description) }
        #expect(names == (goesOn ? ["www.a.example.", "www.b.example.", "www."] : ["www.a.example."]))
        #expect(search.result.code == code)
    }

    @Test func triesTheSearchList() async throws {
        try await with(
            change: { $0.search = [DNSName("one.test")!, DNSName("two.test")!] },
            { query, _ in
                query.questions[0].name == DNSName("www.two.test")!
                    ? Self.addresses(query) : .answer(query.answered([], code: 3))
            }
        ) { server, resolver async throws in
            #expect(try await resolver.addresses(of: "www").count == 2)
            #expect(Set(server.questions.map(\.name)) == [DNSName("www.one.test")!, DNSName("www.two.test")!])
        }
    }

    /// A family without addresses must not continue the search if the other family has some.
    @Test func oneFamilyIsEnoughForAName() async throws {
        try await with(
            change: { $0.search = [DNSName("one.test")!, DNSName("two.test")!] },
            { query, _ in
                query.questions[0].type == .a
                    ? .answer(query.answered([.a(Self.v4)])) : .answer(query.answered([], code: 0))
            }
        ) { server, resolver async throws in
            #expect(try await resolver.addresses(of: "www") == [.v4(Self.v4)])
            #expect(Set(server.questions.map(\.name)) == [DNSName("www.one.test")!])
        }
    }

    @Test func theFastFamilyDoesNotWait() async throws {
        try await with(
            change: { $0.timeout = .seconds(3600) },
            { query, _ in
                query.questions[0].type == .a ? .answer(query.answered([.a(Self.v4)])) : .silence
            }
        ) { _, resolver async throws in
            var batches = resolver.addressBatches(of: try HostName("www.example.org")).makeAsyncIterator()
            #expect(try await batches.next() == AddressBatch([.v4(Self.v4)], families: .v4))
        }
    }

    /// A firewall drops the queries for one family. The other family's addresses are the answer, and nothing waits on.
    @Test(.timeLimit(.minutes(5)), arguments: [(DNSRecordType.a, IPAddress.v4(v4)), (.aaaa, .v6(v6))])
    func aSilentFamilyDoesNotHoldTheLookup(_ type: DNSRecordType, _ expected: IPAddress) async throws {
        try await with(
            secondFamilyTime: .zero, change: { $0.timeout = .seconds(3600) },
            { query, _ in query.questions[0].type == type ? Self.addresses(query) : .silence }
        ) { _, resolver async throws in
            let host = HostLookup(name: "www.example.org", resolver: resolver)
            #expect(try await host.addresses() == [.ip(expected, port: 0)])
            #expect(resolver.waitingCount == 0)
        }
    }

    /// The second family has its time, and as much as it needs if the first one has no addresses.
    @Test(.timeLimit(.minutes(5)), arguments: [(true, Duration.seconds(3600)), (false, .zero)])
    func theSecondFamilyIsWaitedFor(_ hasFirst: Bool, _ time: Duration) async throws {
        let permission = OneShot<Void>()
        try await with(
            secondFamilyTime: time, change: { $0.timeout = .seconds(3600) },
            { query, _ in
                query.questions[0].type == .a
                    ? .answer(query.answered(hasFirst ? [.a(Self.v4)] : []))
                    : .held(until: permission, query.answered([.aaaa(Self.v6)]))
            }
        ) { server, resolver async throws in
            async let found = resolver.addresses(of: "www.example.org.")
            // The first family has been answered.
            while server.questions.count < 2 || resolver.waitingCount > 1, !Task.isCancelled { await Task.yield() }
            permission.provide(())
            #expect(try await Set(found) == (hasFirst ? [.v4(Self.v4), .v6(Self.v6)] : [.v6(Self.v6)]))
        }
    }

    // Parity: HR-020
    @Test func equalConcurrentQuestionsShareOneQuery() async throws {
        try await with({ query, _ in .silence }) { server, resolver async throws in
            let name = DNSName("www.example.org")!
            let tasks = (0..<20).map { _ in Task { try await resolver.records(.a, of: name) } }
            // Wait until all have joined: a task that began after all others had left would query again.
            while server.questions.isEmpty || resolver.waitingCount < tasks.count, !Task.isCancelled {
                await Task.yield()
            }
            for task in tasks { task.cancel() }
            for task in tasks {
                await #expect(throws: ResolverError(.cancelled, name: name.description)) { try await task.value }
            }
            #expect(server.questions.count == 1)
        }
    }

    @Test func cachesAnswersIfConfigured() async throws {
        try await with(
            maximumCachedAnswers: 10,
            { query, _ in
                query.questions[0].name == DNSName("www.example.org")!
                    ? .answer(query.answered([.a(Self.v4)])) : .answer(query.answered([], code: 3))
            }
        ) { server, resolver async throws in
            for _ in 0..<3 { _ = try await resolver.records(.a, of: "www.example.org") }
            #expect(server.questions.count == 1)
            #expect(resolver.cacheStatistics == WireResolver.CacheStatistics(hits: 2, misses: 1, count: 1))
            resolver.flushCache()
            _ = try await resolver.records(.a, of: "WWW.example.org")
            #expect(server.questions.count == 2)
            // A negative answer without an SOA record is not cached.
            for _ in 0..<2 { _ = try? await resolver.records(.a, of: "no.example.org") }
            #expect(server.questions.count == 4)
        }
    }

    @Test func someNamesNeverLeaveTheMachine() async throws {
        let hosts = HostsFile(parsing: "192.0.2.99 fixed.example alias.example")
        try await with(hosts: hosts, { _, _ in .silence }) { server, resolver async throws in
            #expect(try await resolver.addresses(of: "Fixed.example") == [IPAddress("192.0.2.99")!])
            #expect(try await resolver.addresses(of: "a.localhost") == [.v6(.loopback), .v4(.loopback)])
            #expect(try await resolver.addresses(of: "fe80::1%lo") == [IPAddress("fe80::1%lo")!])
            #expect(
                try await resolver.names(of: .address(IPAddress("192.0.2.99")!)) == ["fixed.example", "alias.example"])
            #expect(
                try await resolver.names(of: .host(HostName("alias.example"))) == ["fixed.example", "alias.example"])
            for name in ["x.invalid", "x.onion"] {
                await #expect(throws: ResolverError(.hostNotFound, name: name)) {
                    try await resolver.addresses(of: name)
                }
            }
            #expect(server.questions.isEmpty)
        }
    }

    // Parity: HR-015
    @Test func findsNamesOfAddresses() async throws {
        try await with({ query, _ in
            .answer(query.answered([.ptr(DNSName("bad name.example")!), .ptr(DNSName("Good.example")!)]))
        }) { server, resolver async throws in
            #expect(try await resolver.names(of: .address(IPAddress("192.0.2.7")!)) == ["good.example"])
            #expect(server.questions == [DNSQuestion(DNSName("7.2.0.192.in-addr.arpa")!, .ptr)])
        }
    }

    @Test func findsTheCanonicalNameOfAnAlias() async throws {
        try await with({ query, _ in
            var message = query.answered([.cname(DNSName("main.example")!)])
            message.answers.append(DNSRecord(DNSName("main.example")!, timeToLive: 5, .a(Self.v4)))
            return .answer(message)
        }) { _, resolver async throws in
            #expect(try await resolver.names(of: .host(HostName("www.example"))) == ["main.example", "www.example"])
        }
    }

    @Test func cancellingReleasesAllDescriptors() async throws {
        try await with(
            change: { $0.timeout = .seconds(3600) },
            { query, isTCP in
                var cut = query.answered([])
                cut.header.isTruncated = true
                return isTCP ? .silence : query.questions[0].type == .a ? .silence : .answer(cut)
            }
        ) { server, resolver async throws in
            _ = try? await resolver.addresses(of: "warm.example", until: .now + .milliseconds(5))
            let before = try await settledDescriptorCount()
            for index in 0..<50 {
                let task = Task { try await resolver.addresses(of: "n\(index).example") }
                while server.questions.count < 2 * index, !Task.isCancelled { await Task.yield() }
                task.cancel()
                await #expect(throws: ResolverError(.cancelled, name: "n\(index).example")) { try await task.value }
            }
            #expect(try await settledDescriptorCount() <= before)
        }
    }

    /// The smallest number of open descriptors over several turns of the event loop, in which descriptors are still
    /// closed.
    private func settledDescriptorCount() async throws -> Int {
        var least = Int.max
        for _ in 0..<300 {
            await withCheckedContinuation { done in
                EventLoop.shared.schedule(at: .now + .milliseconds(1)) { done.resume() }
            }
            least = min(least, try openDescriptors())
        }
        return least
    }

    private func openDescriptors() throws -> Int {
        let directory = try #require(opendir("/proc/self/fd"))
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }
}

/// Runs `body` on a thread of its own, where it may block.
func onThread(_ body: @escaping @Sendable () -> Void) async {
    do {
        try await BlockingThreads(limit: 1, idleTime: .zero).value(of: body)
    } catch {
        Issue.record(error)
    }
}

@Suite struct DNSSearchMachineTests {
    private func machine() throws -> DNSSearchMachine {
        let configuration = ResolverConfiguration(servers: [], search: [DNSName("a")!, DNSName("b")!])
        return DNSSearchMachine(try HostName("www"), configuration: configuration)
    }

    @Test(
        arguments: [
            ([.hostNotFound, .hostNotFound, .hostNotFound], .hostNotFound),
            ([.hostNotFound, .noData, .hostNotFound], .noData),
            ([.serverFailed, .noData, .hostNotFound], .serverFailed),
            ([.timedOut], .timedOut),
            ([.hostNotFound, .cancelled], .cancelled),
        ] as [([ResolverError.Code], ResolverError.Code)])
    func searches(failures: [ResolverError.Code], result: ResolverError.Code) throws {
        var machine = try machine()
        var tried: [String] = []
        for failure in failures {
            tried.append(try #require(machine.current).description)
            let goesOn = machine.failed(ResolverError(failure))
            #expect(goesOn == (tried.count < failures.count))
        }
        #expect(tried == Array(["www.a.", "www.b.", "www."].prefix(failures.count)))
        #expect(machine.current == nil)
        #expect(machine.result == ResolverError(result, name: "www"))
    }
}
