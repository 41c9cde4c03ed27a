import Dispatch
import EventLoops
import Foundation
import Glibc
import HostResolverTesting
import RunLoopDelivery
import Synchronization
import Testing

@_spi(Packages) @testable import HostResolver

@Suite struct HostLookupTests {
    private let queue = DispatchQueue(label: "test")

    private func scripted(clock: ManualClock? = nil) -> ScriptedResolver {
        let resolver = ScriptedResolver(clock: clock)
        resolver.script("www.example.org", addresses: ["192.0.2.1", "2001:db8::1"])
        resolver.script("self.example.org", addresses: ["127.0.0.1"])
        resolver.script("silent.example.org", [])
        resolver.script(namesOf: .address(IPAddress("192.0.2.1")!), .success(["www.example.org", "alias.example.org"]))
        return resolver
    }

    /// Starts a lookup and returns the error that the client gets.
    private func clientError(_ host: HostLookup, _ kind: HostLookup.Kind) async throws -> ResolverError? {
        try await withCheckedThrowingContinuation { done in
            host.setClient { _, reported, error in
                #expect(reported == kind)
                done.resume(returning: error)
            }
            do { try host.start(kind) } catch { done.resume(throwing: error) }
        }
    }

    // Parity: HR-002, HR-017
    @Test func hasItsNameBeforeTheLookup() {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        #expect(host.names == Fetched(value: ["www.example.org"], hasBeenResolved: false))
        #expect(host.addresses == Fetched(value: nil, hasBeenResolved: false))
        #expect(host.reachability == Fetched(value: nil, hasBeenResolved: false))
    }

    // Parity: HR-003
    @Test(arguments: ["127.0.0.1:0", "[::1]:0", "[fe80::1%lo]:80"])
    func hasItsAddressBeforeTheLookup(text: String) throws {
        let address = SocketAddress(text)!
        let host = try HostLookup(sockaddr: address.sockaddrBytes, resolver: scripted())
        #expect(host.addresses == Fetched(value: [.ip(address.ipAddress!, port: 0)], hasBeenResolved: false))
        #expect(host.names == Fetched(value: nil, hasBeenResolved: false))
    }

    // Parity: HR-003
    @Test(arguments: [[], [2, 0], [1, 0, 47, 0]] as [[UInt8]])
    func rejectsOtherAddressFamilies(bytes: [UInt8]) {
        #expect(throws: ResolverError(.invalidAddress)) { try HostLookup(sockaddr: bytes) }
    }

    // Parity: HR-001, HR-006, HR-017
    @Test func looksUpEachKind() async throws {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        #expect(try await host.addresses().map(\.description) == ["192.0.2.1:0", "[2001:db8::1]:0"])
        #expect(host.addresses.hasBeenResolved)
        let reverse = HostLookup(address: IPAddress("192.0.2.1")!, resolver: scripted())
        #expect(try await reverse.names() == ["www.example.org", "alias.example.org"])
        let own = HostLookup(name: "self.example.org", resolver: scripted())
        #expect(try await own.reachability() == [.reachable, .isLocalAddress, .isDirect])
        #expect(own.addresses.value == [SocketAddress("127.0.0.1:0")!])
        let byAddress = HostLookup(address: IPAddress("127.0.0.1")!, resolver: scripted())
        #expect(try await byAddress.reachability() == [.reachable, .isLocalAddress, .isDirect])
    }

    // Parity: HR-027
    @Test func blocks() async throws {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        let result = Locked<Result<Int, ResolverError>?>(nil)
        await onThread {
            let found = Result { () throws(ResolverError) in
                try host.resolve(.addresses)
                return host.addresses.value?.count ?? 0
            }
            result.withLock { $0 = found }
        }
        #expect(result.withLock { $0 } == .success(2))
    }

    /// HR-008: a blocking lookup can be cancelled from another thread, and has a deadline.
    // Parity: HR-008, HR-013
    @Test func blockingEndsByCancelAndByDeadline() async throws {
        let resolver = scripted()
        let host = HostLookup(name: "silent.example.org", resolver: resolver)
        let codes = Locked<[ResolverError.Code]>([])
        let block: @Sendable (ContinuousClock.Instant?) -> Void = { deadline in
            do throws(ResolverError) { try host.resolve(.addresses, until: deadline) } catch {
                codes.withLock { $0.append(error.code) }
            }
        }
        async let blocked: Void = onThread { block(nil) }
        while resolver.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        while resolver.cancelledCount == 0, !Task.isCancelled {
            host.cancel(.addresses)
            await Task.yield()
        }
        await blocked
        await onThread { block(.now + .milliseconds(5)) }
        #expect(codes.withLock { $0 } == [.cancelled, .timedOut])
    }

    // Parity: HR-011
    @Test func callsTheClientOnceOnItsQueue() async throws {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        host.schedule(on: .queue(queue))
        #expect(try await clientError(host, .addresses) == nil)
        #expect(try await clientError(host, .names) != nil)
        #expect(host.names == Fetched(value: nil, hasBeenResolved: true))
    }

    /// HR-007, and opencfnetwork's deadlocks: the results of numeric, cached and failing names all arrive later, on the
    /// target.
    // Parity: HR-007
    @Test(arguments: ["127.0.0.1", "::1", "www.example.org", "unknown.example.org"])
    func neverCallsTheClientFromInsideStart(name: String) async throws {
        let host = HostLookup(name: name, resolver: scripted())
        host.schedule(on: .queue(queue))
        let order = Locked<[String]>([])
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            host.setClient { _, _, _ in
                order.withLock { $0.append("called") }
                done.resume()
            }
            // This block occupies the queue, so the client can be called only after it.
            queue.sync {
                do { try host.start(.addresses) } catch { done.resume(throwing: error) }
                order.withLock { $0.append("started") }
            }
        }
        #expect(order.withLock { $0 } == ["started", "called"])
    }

    // Parity: HR-009
    @Test func rejectsASecondLookup() async throws {
        let clock = ManualClock()
        let resolver = scripted(clock: clock)
        let host = HostLookup(name: "www.example.org", resolver: resolver)
        host.schedule(on: .queue(queue))
        let calls = Locked<[ResolverError?]>([])
        host.setClient { _, _, error in calls.withLock { $0.append(error) } }
        try host.start(.addresses)
        #expect(throws: ResolverError.self) { try host.start(.addresses) }
        #expect(throws: ResolverError.self) { try host.start(.names) }
        await #expect(throws: ResolverError.self) { try await host.names() }
        clock.advance()
        while calls.withLock({ $0.isEmpty }), !Task.isCancelled { await Task.yield() }
        #expect(calls.withLock { $0 } == [nil])
        #expect(host.addresses.value?.count == 2)
        // A new start drops the old result.
        try host.start(.addresses)
        #expect(host.addresses == Fetched(value: nil, hasBeenResolved: false))
        host.cancel(.addresses)
        queue.sync {}
        #expect(calls.withLock { $0.map { $0?.code } } == [nil, .cancelled])
    }

    // Parity: HR-011
    @Test func cancellingCallsTheClientOnceAndAffectsOneKind() async throws {
        let resolver = scripted()
        let host = HostLookup(name: "silent.example.org", resolver: resolver)
        host.schedule(on: .queue(queue))
        let calls = Locked<[ResolverError?]>([])
        host.setClient { _, _, error in calls.withLock { $0.append(error) } }
        host.cancel(.addresses)
        try host.start(.addresses)
        host.cancel(.names)
        host.cancel(.reachability)
        #expect(resolver.cancelledCount == 0)
        host.cancel(.addresses)
        host.cancel(.addresses)
        #expect(resolver.cancelledCount == 1)
        queue.sync {}
        #expect(calls.withLock { $0 } == [ResolverError(.cancelled, name: "silent.example.org")])
    }

    // Parity: HR-010
    @Test func removingTheClientCancelsTheLookup() throws {
        let resolver = scripted()
        let host = HostLookup(name: "silent.example.org", resolver: resolver)
        host.schedule(on: .queue(queue))
        let calls = Locked(0)
        host.setClient { _, _, _ in calls.withLock { $0 += 1 } }
        try host.start(.addresses)
        host.setClient(nil)
        #expect(resolver.cancelledCount == 1)
        queue.sync {}
        #expect(calls.withLock { $0 } == 0)
    }

    // Parity: HR-012
    @Test func schedulingDeliversAnEarlierResult() async throws {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        let calls = Locked(0)
        host.setClient { _, _, _ in calls.withLock { $0 += 1 } }
        try host.start(.addresses)
        while !host.addresses.hasBeenResolved, !Task.isCancelled { await Task.yield() }
        #expect(calls.withLock { $0 } == 0)
        host.schedule(on: .queue(queue))
        host.schedule(on: .queue(queue))
        while calls.withLock({ $0 }) == 0, !Task.isCancelled { await Task.yield() }
        queue.sync {}
        #expect(calls.withLock { $0 } == 1)
        host.unschedule(from: .queue(queue))
        try host.start(.addresses)
        while !host.addresses.hasBeenResolved, !Task.isCancelled { await Task.yield() }
        queue.sync {}
        #expect(calls.withLock { $0 } == 1)
    }

    /// With several targets, the result is reported on one that runs, and once.
    @Test func aTargetThatDoesNotRunDelaysNothing() async throws {
        let stopped = DispatchQueue(label: "stopped")
        stopped.suspend()
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        host.schedule(on: .queue(stopped))
        host.schedule(on: .queue(queue))
        let calls = Locked(0)
        host.setClient { _, _, _ in calls.withLock { $0 += 1 } }
        try host.start(.addresses)
        while calls.withLock({ $0 }) == 0, !Task.isCancelled { await Task.yield() }
        stopped.resume()
        for queue in [stopped, queue] { queue.sync {} }
        #expect(calls.withLock { $0 } == 1)
    }

    // Parity: HR-002
    @Test func anInvalidNameFailsAtTheStart() async {
        for name in ["a\0b", "user@host", ""] {
            let host = HostLookup(name: name, resolver: scripted())
            #expect(host.names.value == [name])
            host.setClient { _, _, _ in Issue.record("the client was called") }
            #expect(throws: ResolverError.self) { try host.start(.addresses) }
            await #expect {
                try await host.addresses()
            } throws: {
                ($0 as? ResolverError)?.domain == .netDB && ($0 as? ResolverError)?.number == 8
            }
        }
    }

    // Parity: HR-004
    @Test func aCopyHasTheResultsAndNothingElse() async throws {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        host.schedule(on: .queue(queue))
        host.setClient { _, _, _ in Issue.record("the client was called") }
        _ = try await host.addresses()
        let copy = host.copy()
        #expect(copy.addresses == host.addresses && copy.names == host.names)
        try await copy.resolve(.reachability)
        #expect(host.reachability == Fetched(value: nil, hasBeenResolved: false))
    }

    /// HR-025: the host is released with a client and a running lookup.
    // Parity: HR-025
    @Test func releasingCancelsTheLookup() throws {
        let resolver = scripted()
        for _ in 1...1000 {
            let host = HostLookup(name: "silent.example.org", resolver: resolver)
            host.schedule(on: .queue(queue))
            host.setClient { _, _, _ in Issue.record("the client was called") }
            try host.start(.addresses)
        }
        #expect(resolver.cancelledCount == 1000)
        queue.sync {}
    }

    @Test func cancellingFromTheClientIsHarmless() async throws {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        host.schedule(on: .queue(queue))
        for _ in 0..<100 {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                host.setClient { host, kind, _ in
                    host.cancel(kind)
                    host.setClient(nil)
                    done.resume()
                }
                do { try host.start(.addresses) } catch { done.resume(throwing: error) }
            }
        }
    }

    // Parity: HR-026
    @Test func fetchesFromManyThreads() async throws {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<200 {
                        _ = (host.addresses, host.names, host.reachability)
                        try? await host.resolve(.addresses)
                    }
                }
            }
        }
        #expect(host.addresses.value?.count == 2)
    }

    // Parity: HR-027
    @Test func aCancelledTaskEndsTheLookup() async throws {
        let resolver = scripted()
        let host = HostLookup(name: "silent.example.org", resolver: resolver)
        let task = Task { try await host.addresses() }
        while resolver.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        task.cancel()
        await #expect(throws: ResolverError(.cancelled, name: "silent.example.org")) { try await task.value }
        #expect(resolver.cancelledCount == 1)
        await #expect(throws: ResolverError(.timedOut, name: "silent.example.org")) {
            try await host.addresses(until: .now)
        }
    }

    /// An object that calls the host from its deinitializer, as an object held by a client may do.
    private final class Owner: Sendable {
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) {
            self.end = end
        }

        deinit { end() }
    }

    // Parity: HR-010
    @Test(.timeLimit(.minutes(5)), arguments: [true, false])
    func releasesTheFormerClientOutsideTheLock(_ isReplaced: Bool) {
        let host = HostLookup(name: "www.example.org", resolver: scripted())
        let ends = Locked(0)
        func makeOwner() -> Owner {
            Owner {
                _ = host.names
                ends.withLock { $0 += 1 }
            }
        }
        host.setClient { [owner = makeOwner()] _, _, _ in withExtendedLifetime(owner) {} }
        if isReplaced {
            host.setClient { _, _, _ in }
        } else {
            host.setClient(nil)
        }
        #expect(ends.withLock { $0 } == 1)
    }
}

/// HR-012: a client on a run loop, as with `CFHostScheduleWithRunLoop`.
@Suite struct RunLoopTests {
    private static let mode = RunLoop.Mode("org.example.host")

    // Parity: HR-012
    @Test(arguments: [RunLoop.Mode.default, mode])
    func callsTheClientOnTheLoopsThreadInItsMode(mode: RunLoop.Mode) async {
        let reports = Locked<[(isOnThread: Bool, error: ResolverError?, count: Int?)]>([])
        await onThread {
            let thread = pthread_self()
            let host = HostLookup(name: "localhost")
            let target: RunLoopTarget = .currentRunLoop(mode: mode)
            host.schedule(on: target)
            host.setClient { host, _, error in
                reports.withLock {
                    $0.append((pthread_equal(thread, pthread_self()) != 0, error, host.addresses.value?.count))
                }
            }
            do throws(ResolverError) {
                try host.start(.addresses)
            } catch {
                Issue.record(error)
                return
            }
            // Each turn ends when a source has fired. The limit is for a client that is never called.
            let limit = Date(timeIntervalSinceNow: 60)
            while reports.withLock({ $0.isEmpty }), RunLoop.current.run(mode: mode, before: limit), limit > Date() {}
            host.unschedule(from: target)
            // No source is left on the run loop: it returns false at once.
            #expect(!RunLoop.current.run(mode: mode, before: .distantPast))
        }
        let calls = reports.withLock { $0 }
        #expect(calls.count == 1)
        #expect(calls.first?.isOnThread == true && calls.first?.error == nil && (calls.first?.count ?? 0) > 0)
    }

    // Parity: HR-012
    @Test func anotherModeIsNotServed() async {
        let isCalled = Atomic(false)
        await onThread {
            let host = HostLookup(name: "127.0.0.1")
            host.schedule(on: .currentRunLoop(mode: Self.mode))
            host.setClient { _, _, _ in isCalled.store(true, ordering: .relaxed) }
            do throws(ResolverError) { try host.start(.addresses) } catch { Issue.record(error) }
            // The lookup has ended, but the client is called only when the loop runs in the scheduled mode.
            while !host.addresses.hasBeenResolved {}
            _ = RunLoop.current.run(mode: .default, before: .distantPast)
            let wasCalledInDefaultMode = isCalled.load(ordering: .relaxed)
            #expect(!wasCalledInDefaultMode)
            while !isCalled.load(ordering: .relaxed), RunLoop.current.run(mode: Self.mode, before: .distantFuture) {}
            let wasCalled = isCalled.load(ordering: .relaxed)
            #expect(wasCalled)
        }
    }
}
