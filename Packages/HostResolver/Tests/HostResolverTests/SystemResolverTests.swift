import Glibc
import Synchronization
import Testing

@testable import HostResolver

@Suite struct SystemResolverTests {
    private let answer = [IPAddress("192.0.2.1")!]

    // Parity: HR-022
    @Test func looksUpLocalNames() async throws {
        let addresses = try await SystemResolver.shared.addresses(of: "localhost")
        #expect(addresses.contains(IPAddress("127.0.0.1")!))
        #expect(Set(addresses).count == addresses.count)
    }

    @Test func blocksWithAndWithoutADeadline() throws {
        for deadline in [nil, ContinuousClock.now + .seconds(60)] {
            #expect(try SystemResolver.shared.addresses(of: "localhost", until: deadline).contains { $0.isLoopback })
        }
    }

    // Parity: HR-019
    @Test(arguments: ["127.0.0.1", "::1", "fe80::1%lo", "192.0.2.250"])
    func answersNumericNamesWithoutACall(text: String) async throws {
        let system = HeldSystem()
        #expect(try await system.resolver.addresses(of: text) == [IPAddress(text)!])
        #expect(system.calls.isEmpty)
    }

    @Test(arguments: ["x.invalid", "X.y.Onion.", "invalid"])
    func makesNoCallForPrivateNames(text: String) async throws {
        let system = HeldSystem()
        let name = try HostName(text)
        await #expect(throws: ResolverError(.hostNotFound, name: name.description)) {
            try await system.resolver.addresses(of: text)
        }
        #expect(system.calls.isEmpty)
    }

    /// RFC 6761 §6.3: a hosts file without `::1`, and names in `.localhost` that no hosts file lists.
    @Test(
        "localhost has loopback addresses of either family",
        arguments: [
            ("127.0.0.1 localhost", "localhost", AddressFamilies.v6, AddressFamilies.all, ["::1"]),
            ("127.0.0.1 localhost", "localhost", .v4, .all, ["127.0.0.1"]),
            ("127.0.0.1 localhost", "LocalHost.", .all, .all, ["127.0.0.1"]),
            ("::1 localhost", "localhost", .v4, .all, ["127.0.0.1"]),
            ("127.0.0.1 localhost\n::1 localhost", "localhost", .all, .all, ["::1", "127.0.0.1"]),
            ("127.0.0.1 localhost\n::1 localhost", "localhost", .all, .v4, ["127.0.0.1"]),
            ("::1 localhost", "localhost", .all, .v4, ["::1"]), ("", "localhost", .all, .all, ["::1", "127.0.0.1"]),
            ("127.0.0.2 a.localhost", "a.localhost", .all, .all, ["127.0.0.2"]),
            ("", "a.b.localhost", .v6, .v4, ["::1"]), ("", "localhost", .all, .v4, ["127.0.0.1"]),
        ])
    func localhost(
        _ hosts: String, _ name: String, _ families: AddressFamilies, _ configured: AddressFamilies,
        _ expected: [String]
    ) async throws {
        let system = HeldSystem(configured: configured, hosts: hosts)
        let request = AddressRequest(try HostName(name), families: families)
        #expect(try await system.resolver.addresses(request).map(\.description) == expected)
        #expect(system.calls.isEmpty)
    }

    @Test func makesNoBlockingCallForPrivateNames() throws {
        let system = HeldSystem()
        #expect(throws: ResolverError(.hostNotFound, name: "x.onion")) {
            try system.resolver.blockingAddresses(AddressRequest(HostName("x.onion")))
        }
        #expect(system.calls.isEmpty)
    }

    @Test func rejectsTheOtherFamilyOfANumericName() async throws {
        let request = AddressRequest(try HostName("::1"), families: .v4)
        await #expect(throws: ResolverError(.noData, name: "::1")) {
            try await SystemResolver.shared.addresses(request)
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func neverCallsBackFromInsideStart(text: String) async throws {
        let name = try HostName(text)
        let thread = pthread_self()
        let isInside = Atomic(true)
        let calledInside = await withCheckedContinuation { done in
            _ = SystemResolver.shared.start(AddressRequest(name)) { event in
                let wasInside = pthread_equal(thread, pthread_self()) != 0 && isInside.load(ordering: .relaxed)
                if case .finished = event { done.resume(returning: wasInside) }
            }
            isInside.store(false, ordering: .relaxed)
        }
        #expect(!calledInside)
    }

    // Parity: HR-020
    @Test func equalConcurrentLookupsShareOneCall() async throws {
        let system = HeldSystem()
        let name = try HostName("one.example")
        try await withThrowingTaskGroup(of: [IPAddress].self) { group in
            for _ in 0..<50 { group.addTask { try await system.resolver.addresses(of: name) } }
            while system.resolver.waitingCount < 50, !Task.isCancelled { await Task.yield() }
            await system.untilCalls(1)
            system.release(.success(answer))
            for try await found in group { #expect(found == answer) }
        }
        #expect(system.calls.count == 1)
        // Nothing is cached: the next lookup makes another call.
        _ = try await system.resolver.addresses(of: name)
        #expect(system.calls.count == 2)
    }

    @Test func aCallOnItsCallersThreadIsShared() async throws {
        let system = HeldSystem()
        let name = try HostName("one.example")
        let blocking = Locked<[[IPAddress]?]>([])
        let ask: @Sendable () -> Void = {
            let found = try? system.resolver.addresses(of: name)
            blocking.withLock { $0.append(found) }
        }
        async let first: Void = onThread(ask)
        await system.untilCalls(1)
        async let second: Void = onThread(ask)
        let task = Task { try await system.resolver.addresses(of: name) }
        while system.resolver.waitingCount < 2, !Task.isCancelled { await Task.yield() }
        let impatient = Task { try await system.resolver.addresses(of: name) }
        while system.resolver.waitingCount < 3, !Task.isCancelled { await Task.yield() }
        impatient.cancel()
        await #expect(throws: ResolverError(.cancelled, name: "one.example")) { try await impatient.value }
        system.release(.success(answer))
        #expect(try await task.value == answer)
        _ = await (first, second)
        #expect(blocking.withLock { $0 } == [answer, answer])
        #expect(system.calls == ["one.example"])
        #expect(system.resolver.waitingCount == 0)
    }

    // Parity: HR-013
    @Test func cancellingDoesNotWaitForTheSystem() async throws {
        let system = HeldSystem()
        let task = Task { try await system.resolver.addresses(of: "dead.example") }
        await system.untilCalls(1)
        task.cancel()
        await #expect(throws: ResolverError(.cancelled, name: "dead.example")) { try await task.value }
        #expect(system.resolver.waitingCount == 0)
        system.release(.success(answer))
    }

    @Test func cancellingBeforeTheStartMakesNoCall() async throws {
        let system = HeldSystem()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await system.resolver.addresses(of: "never.example")
        }
        task.cancel()
        await #expect(throws: ResolverError(.cancelled, name: "never.example")) { try await task.value }
        #expect(system.calls.isEmpty)
    }

    @Test func aDeadlineDoesNotWaitForTheSystem() async throws {
        let system = HeldSystem()
        await #expect(throws: ResolverError(.timedOut, name: "dead.example")) {
            try await system.resolver.addresses(of: "dead.example", until: .now)
        }
        let blocking: @Sendable () throws -> [IPAddress] = {
            try system.resolver.addresses(of: "dead.example", until: .now)
        }
        #expect(throws: ResolverError(.timedOut, name: "dead.example")) { try blocking() }
        system.release(.success(answer))
    }

    @Test func boundsAbandonedCallsAndTheQueue() async throws {
        let system = HeldSystem(maximumThreads: 3, maximumQueueLength: 2)
        let names = try (0..<6).map { try HostName("n\($0).example") }
        let codes = Locked<[ResolverError.Code]>([])
        let tokens = names.map { name in
            system.resolver.start(AddressRequest(name)) { event in
                if case .finished(let error?) = event { codes.withLock { $0.append(error.code) } }
            }
        }
        await system.untilCalls(3)
        #expect(system.threads.threadCount == 3)
        while codes.withLock({ $0.isEmpty }), !Task.isCancelled { await Task.yield() }
        #expect(codes.withLock { $0 } == [.busy])
        // Queued lookups are withdrawn. Running calls continue, and their threads become available again.
        for token in tokens.dropLast() { #expect(token.cancel()) }
        #expect(!tokens[5].cancel())
        system.release(.success(answer))
        #expect(try await system.resolver.addresses(of: "late.example") == answer)
        #expect(system.calls.sorted() == ["late.example", "n0.example", "n1.example", "n2.example"])
        #expect(codes.withLock { $0 } == [.busy])
    }

    @Test func idleThreadsExit() async throws {
        let system = HeldSystem(idleTime: .milliseconds(1))
        system.release(.success(answer))
        _ = try await system.resolver.addresses(of: "a.example")
        while system.threads.threadCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(try await system.resolver.addresses(of: "b.example") == answer)
    }

    @Test func deliversFamiliesSeparatelyOnRequest() async throws {
        let system = HeldSystem()
        system.release(.success(answer))
        var families: AddressFamilies = []
        for try await batch in system.resolver.addressBatches(of: try HostName("a.example")) {
            #expect(batch.addresses == answer)
            #expect(families.isDisjoint(with: batch.families))
            families.formUnion(batch.families)
        }
        #expect(families == .all)
        #expect(system.calls.sorted() == ["a.example4", "a.example6"])
    }

    /// The C library would look in the DNS for the family that the hosts file lacks.
    @Test func aHostInTheHostsFileIsLookedUpOnce() async throws {
        let system = HeldSystem(hosts: "192.0.2.1 a.example")
        system.release(.success(answer))
        for try await batch in system.resolver.addressBatches(of: try HostName("a.example")) {
            #expect(batch == AddressBatch(answer, families: .all))
        }
        #expect(system.calls == ["a.example"])
    }

    /// A block list takes longer to read than other connections of an event loop should wait.
    @Test(.timeLimit(.minutes(5))) func aLongHostsFileIsReadOnAnotherThread() async throws {
        let system = HeldSystem(hosts: "192.0.2.1 a.localhost", hostsAreQuick: false)
        let found = OneShot<[IPAddress]>()
        let request = AddressRequest(try HostName("a.localhost"), families: .v4)
        // The call returns although the file cannot be read yet.
        _ = system.resolver.start(request) { event in
            if case .batch(let batch) = event { found.provide(batch.addresses) }
        }
        await system.untilCalls(1)
        system.release(.success([]))
        #expect(try await found.value() == [IPAddress("192.0.2.1")!])
    }

    /// The call for both families lasts, as where a firewall drops the queries for IPv6.
    @Test(.timeLimit(.minutes(5))) func aSilentFamilyDoesNotHoldTheLookup() async throws {
        let system = HeldSystem(secondFamilyTime: .zero)
        system.release(.success(answer), for: "a.example4")
        let host = HostLookup(name: "a.example", resolver: system.resolver)
        #expect(try await host.addresses() == answer.map { .ip($0, port: 0) })
        let found = Locked<[IPAddress]>([])
        await onThread {
            let result = try? system.resolver.addresses(of: "a.example", until: .now + .seconds(3600))
            found.withLock { $0 = result ?? [] }
        }
        #expect(found.withLock { $0 } == answer)
        // Both lookups share the call for both families.
        #expect(system.calls.sorted() == ["a.example", "a.example4", "a.example4"])
        system.release(.success([]))
    }

    /// Without IPv4 addresses, or if the machine cannot use them, the call for both families has the answer.
    @Test(.timeLimit(.minutes(5))) func bothFamiliesAreWaitedFor() async throws {
        let six = [IPAddress("2001:db8::1")!]
        let system = HeldSystem(secondFamilyTime: .zero)
        system.release(.failure(ResolverError(.noData)), for: "a.example4")
        async let found = system.resolver.addresses(of: "a.example")
        await system.untilCalls(2)
        system.release(.success(six))
        #expect(try await found == six)

        let machine = HeldSystem(configured: .v6, secondFamilyTime: .zero)
        machine.release(.success(answer), for: "a.example4")
        async let other = machine.resolver.addresses(of: "a.example")
        // A lookup that does deliver IPv4 alone takes all steps that this one must not take.
        let control = HeldSystem(secondFamilyTime: .zero)
        control.release(.success(answer), for: "a.example4")
        #expect(try await control.resolver.addresses(of: "a.example") == answer)
        machine.release(.success(six))
        #expect(try await other == six)
        #expect(machine.calls == ["a.example6"])
        control.release(.success([]))
    }

    /// Here the stand-in for the C library gives addresses as names.
    @Test(.timeLimit(.minutes(5))) func aSilentFamilyDoesNotHoldTheLookupOfACanonicalName() async throws {
        let system = HeldSystem(secondFamilyTime: .zero)
        system.release(.success(answer), for: "a.example4")
        let subject = NameQuery.host(try HostName("a.example"))
        #expect(try await system.resolver.names(of: subject, until: .now + .seconds(3600)) == answer.map(\.description))

        // Without IPv4 addresses, the call for both families has the answer.
        let other = HeldSystem(secondFamilyTime: .zero)
        other.release(.failure(ResolverError(.noData)), for: "a.example4")
        async let found = other.resolver.names(of: subject, until: .now + .seconds(3600))
        await other.untilCalls(2)
        other.release(.success([IPAddress("2001:db8::1")!]))
        #expect(try await found == ["2001:db8::1"])
        system.release(.success([]))
    }

    @Test func combinesTheFailuresOfBothFamilies() async throws {
        let system = HeldSystem()
        system.release(.failure(ResolverError(.temporaryFailure)))
        await #expect(throws: ResolverError(.temporaryFailure, name: "a.example")) {
            for try await batch in system.resolver.addressBatches(of: try HostName("a.example")) {
                #expect(batch.addresses.isEmpty)
            }
        }
    }

    /// CVE-2025-31498 and CVE-2026-33630 of c-ares: a callback that cancels freed memory that its caller still used.
    @Test func cancellingFromInsideTheCallbackIsHarmless() async throws {
        let system = HeldSystem()
        system.release(.success(answer))
        let name = try HostName("a.example")
        for _ in 0..<200 {
            await withCheckedContinuation { done in
                let box = TokenBox()
                box.token.withLock { token in
                    token = system.resolver.start(AddressRequest(name)) { event in
                        let ended = box.token.withLock { $0 }?.cancel() == true
                        if case .finished = event { #expect(!ended) }
                        if ended || event == .finished(nil) { done.resume() }
                    }
                }
            }
        }
    }

    /// A handler that holds its token, as above, forms a cycle, which the end of the lookup must break.
    @Test(.timeLimit(.minutes(5))) func anEndedLookupReleasesItsHandler() async throws {
        let system = HeldSystem()
        system.release(.success(answer))
        let name = try HostName("a.example")
        for isCancelled in [false, true] {
            var box: TokenBox? = TokenBox()
            weak let weakBox = box
            await withCheckedContinuation { done in
                let token = system.resolver.start(AddressRequest(name)) { [box] event in
                    withExtendedLifetime(box) { if case .finished = event { done.resume() } }
                }
                box?.token.withLock { $0 = token }
                if isCancelled, token.cancel() { done.resume() }
            }
            box = nil
            while weakBox != nil, !Task.isCancelled { await Task.yield() }
        }
    }

    // Parity: HR-015
    @Test func looksUpNamesOfAddresses() async throws {
        let names = try await SystemResolver.shared.names(of: .address(IPAddress("127.0.0.1")!))
        #expect(names.first == "localhost")
        #expect(Set(names).count == names.count)
    }

    @Test func findsTheCanonicalNameOfAName() async throws {
        #expect(try await SystemResolver.shared.names(of: .host(HostName("localhost"))).contains("localhost"))
    }

    /// The C library passes on as many addresses as an answer holds.
    @Test func limitsTheAddressesOfEachFamily() {
        let some = (0..<200).map { SocketAddress.ip(.v4(IPv4Address(rawValue: 0x0A00_0000 + $0 / 2)), port: 0) }
        let others = (0..<3).map { SocketAddress.ip(.v6(IPv6Address(rawValue: 0xFD << 120 + $0)), port: 0) }
        var first: UnsafeMutablePointer<addrinfo>?
        for address in (some + others).reversed() {
            address.withSockAddr { pointer, length in
                let copy = UnsafeMutableRawPointer.allocate(byteCount: Int(length), alignment: 8)
                copy.copyMemory(from: pointer, byteCount: Int(length))
                let entry = UnsafeMutablePointer<addrinfo>.allocate(capacity: 1)
                entry.initialize(to: addrinfo())
                entry.pointee.ai_family = CInt(pointer.pointee.sa_family)
                entry.pointee.ai_addrlen = length
                entry.pointee.ai_addr = copy.assumingMemoryBound(to: sockaddr.self)
                entry.pointee.ai_next = first
                first = entry
            }
        }
        defer {
            while let entry = first {
                first = entry.pointee.ai_next
                UnsafeMutableRawPointer(entry.pointee.ai_addr)?.deallocate()
                entry.deallocate()
            }
        }
        let found = first.map(SystemCalls.addresses(in:)) ?? []
        #expect(
            found == (0..<128).filter { $0 % 2 == 0 }.compactMap { some[$0].ipAddress } + others.compactMap(\.ipAddress)
        )
    }

    // Parity: HR-018
    @Test(arguments: [
        (-2, "hostNotFound", 12, 8), (-5, "noData", 12, 7), (-3, "temporaryFailure", 12, 2),
        (-4, "serverFailed", 12, 4),
        (-9, "noData", 12, 1), (-11, "system", 1, 24), (-10, "system", 12, 6), (-77, "system", 12, 4),
    ])
    func reportsDarwinsNumbers(failure: CInt, code: String, domain: Int, number: Int) {
        let error = ResolverError(addressInfoFailure: failure, errno: 24, name: "a.example")
        #expect(error.code.rawValue == code)
        #expect(error.domain.rawValue == domain)
        #expect(error.number == number)
        #expect(error.hostErrorCode == (code == "hostNotFound" || code == "noData" ? 1 : 2))
    }
}

/// A token that a handler can access.
private final class TokenBox: Sendable {
    let token = Locked<LookupToken?>(nil)
}
