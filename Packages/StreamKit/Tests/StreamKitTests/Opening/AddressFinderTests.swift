import EventLoops
import Glibc
import HostResolver
import Testing

@testable import StreamKit

/// Returns scripted results, or none.
private final class ScriptedFinder: AddressFinder {
    let description = "the server"
    private let found: Result<FoundAddresses, StreamError>?
    let started = Locked(0)
    let cancelled = Locked(0)
    let failed = Locked<[FoundAddresses]>([])
    private let handler = Locked<(@Sendable (Result<FoundAddresses, StreamError>) -> Void)?>(nil)

    init(found: Result<FoundAddresses, StreamError>? = nil) {
        self.found = found
    }

    func start(_ handler: @escaping @Sendable (Result<FoundAddresses, StreamError>) -> Void) -> LookupToken {
        self.handler.withLock { $0 = handler }
        started.withLock { $0 += 1 }
        if let found { EventLoop.shared.execute { handler(found) } }
        return LookupToken { [self] in
            cancelled.withLock { $0 += 1 }
            return true
        }
    }

    /// Delivers another result.
    func deliver(_ found: Result<FoundAddresses, StreamError>) {
        handler.withLock { $0 }?(found)
    }

    func couldNotConnect(to found: FoundAddresses) {
        failed.withLock { $0.append(found) }
    }
}

@Suite("streams whose address is found when they open", .timeLimit(.minutes(5))) struct AddressFinderTests {
    @Test("the found address is connected to, in all styles", arguments: [false, true])
    func found(_ blocks: Bool) async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(
            finder: ScriptedFinder(found: .success(FoundAddresses(addresses: [listener.address], name: "www.test"))))
        try pair.open()
        if blocks {
            try await onThread { try pair.input.opened() }
        } else {
            try await pair.input.opened()
        }
        #expect(pair[.remoteAddress] == listener.address && pair[.remoteHostName] == "www.test")
        #expect(pair.report.steps.map(\.kind) == [.lookup("the server"), .connect(listener.address)])
        #expect(pair.report.steps.first?.outcome == .succeeded("1 address"))
        pair.close()
    }

    @Test("the finder's failure is the stream's failure")
    func failed() async throws {
        let failure = StreamError(domain: .netServices, code: -72002, sentence: Sentence("test", "not there"))
        let pair = StreamPair(finder: ScriptedFinder(found: .failure(failure)))
        try pair.open()
        await #expect(throws: failure) { try await pair.output.opened() }
        #expect(pair.report.failure?.kind == .lookup("the server"))
    }

    @Test("a result without addresses is an error, not a wait")
    func nothing() async throws {
        let pair = StreamPair(finder: ScriptedFinder(found: .success(FoundAddresses(addresses: [], name: nil))))
        try pair.open()
        await #expect(throws: StreamError.self) { try await pair.output.opened() }
    }

    @Test(
        "a finder is notified of addresses that cannot be connected to, not of failed handshakes",
        arguments: [false, true])
    func failed(_ answers: Bool) async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let port = try #require(listener.address.port)
        let refusing: SocketAddress = .ip(.v4(IPv4Address(127, 0, 0, 2)), port: port)
        let found = FoundAddresses(addresses: [answers ? listener.address : refusing], name: "www.test")
        let finder = ScriptedFinder(found: .success(found))
        var properties = StreamProperties()
        if answers { properties[.tls] = TLSConfiguration() }
        let pair = StreamPair(finder: finder, properties: properties)
        try pair.open()
        let opening = Task { try await pair.input.opened() }
        if answers { _ = try await onThread { Glibc.close(try listener.accept()) } }
        await #expect(throws: StreamError.self) { try await opening.value }
        #expect(finder.failed.withLock { $0 } == (answers ? [] : [found]))
    }

    /// Makes a pair that waits for further addresses as long as a slow machine needs.
    private func patientPair(_ finder: ScriptedFinder) -> StreamPair {
        StreamPair(Connection(finder: finder, StreamProperties(), loop: .shared, retryPeriod: .seconds(3600)))
    }

    @Test("later addresses are tried if the first ones cannot be connected to", arguments: [false, true])
    func later(_ answers: Bool) async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let port = try #require(listener.address.port)
        func dead(_ last: UInt8) -> SocketAddress { .ip(.v4(IPv4Address(127, 0, 0, last)), port: port) }
        let finder = ScriptedFinder(found: .success(FoundAddresses(addresses: [dead(2)], name: nil, isComplete: false)))
        let pair = patientPair(finder)
        try pair.open()
        let opening = Task { try await pair.input.opened() }
        while pair.report.steps.count < 2 || pair.report.steps[1].outcome == .underway, !Task.isCancelled {
            await Task.yield()
        }
        #expect(finder.cancelled.withLock { $0 } == 0)
        // No address is tried again.
        let last = answers ? listener.address : dead(3)
        let whole = FoundAddresses(addresses: [dead(2), last], name: nil)
        finder.deliver(.success(whole))
        if answers {
            try await opening.value
            #expect(pair[.remoteAddress] == listener.address)
        } else {
            await #expect(throws: StreamError.self) { try await opening.value }
        }
        #expect(pair.report.steps.map(\.kind) == [.lookup("the server"), .connect(dead(2)), .connect(last)])
        #expect(finder.failed.withLock { $0 } == (answers ? [] : [whole]))
        #expect(finder.cancelled.withLock { $0 } == 1)
        pair.close()
    }

    @Test("an endless series of new addresses is not tried endlessly")
    func endlessAddresses() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let port = try #require(listener.address.port)
        func next(_ number: Int) -> Result<FoundAddresses, StreamError> {
            let (high, low) = (UInt8(truncatingIfNeeded: number / 200 + 1), UInt8(truncatingIfNeeded: number % 200 + 1))
            let address = SocketAddress.ip(.v4(IPv4Address(127, 1, high, low)), port: port)
            return .success(FoundAddresses(addresses: [address], name: nil, isComplete: false))
        }
        let finder = ScriptedFinder(found: next(0))
        let pair = patientPair(finder)
        try pair.open()
        let opening = Task { try await pair.input.opened() }
        var count = 0
        while finder.cancelled.withLock({ $0 }) == 0 {
            // One more address after each failed one.
            let steps = pair.report.steps
            if steps.count == count + 2, steps[count + 1].outcome != .underway {
                count += 1
                finder.deliver(next(count))
            }
            await Task.yield()
        }
        let error = await #expect(throws: StreamError.self) { try await opening.value }
        #expect(error?.isPOSIX(ECONNREFUSED) == true)
        #expect(pair.report.steps.count <= 1 + FinderOpening.maximumAddresses)
        #expect(finder.failed.withLock { $0.count } == 1)
        pair.close()
    }

    @Test("closing cancels the search")
    func closed() async throws {
        let finder = ScriptedFinder()
        let pair = StreamPair(finder: finder)
        try pair.open()
        let opening = Task { try await pair.input.opened() }
        while finder.started.withLock({ $0 }) == 0, !Task.isCancelled { await Task.yield() }
        pair.close()
        await #expect(throws: StreamError.closed) { try await opening.value }
        while finder.cancelled.withLock({ $0 }) == 0, !Task.isCancelled { await Task.yield() }
        #expect(finder.cancelled.withLock { $0 } == 1)
    }

    @Test("the limit for opening includes the search")
    func late() async throws {
        let finder = ScriptedFinder()
        var properties = StreamProperties()
        properties[.openTimeout] = .milliseconds(20)
        let pair = StreamPair(finder: finder, properties: properties)
        try pair.open()
        do throws(StreamError) {
            try await pair.input.opened()
            Issue.record("the stream opened")
        } catch {
            #expect(error == .timedOut && "\(error)".contains("looking for the server"))
        }
        #expect(finder.cancelled.withLock { $0 } == 1)
    }

    // Parity: SK-062
    @Test("SK-062: an external failure ends waiting calls and is reported", arguments: [false, true])
    func externalFailure(_ blocks: Bool) async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(address: listener.address)
        try pair.set(.failsWhenAddressIsRemoved, to: true)
        try pair.open()
        try await pair.input.opened()
        let gone = StreamError(posix: EADDRNOTAVAIL)
        let input = pair.input
        async let reading: (any Error)? = {
            do {
                _ = blocks ? try await onThread { try input.read(upTo: 1) } : try await input.read(upTo: 1)
                return nil
            } catch {
                return error
            }
        }()
        while pair.input.status != .reading, !Task.isCancelled { await Task.yield() }
        pair.input.connection.failBoth(gone)
        #expect(await reading as? StreamError == gone)
        #expect(pair.input.status == .error && pair.output.status == .error)
        #expect(pair.output.error == gone)
        pair.close()
    }

    @Test("a stream whose address is to be watched fails if the kernel cannot be queried") func unwatchable()
        async throws
    {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(address: listener.address)
        try pair.open()
        try await pair.input.opened()
        let monitor = LocalAddressMonitor { () throws(ResolverError) in throw ResolverError(.system) }
        monitor.add(pair.input.connection.point) { [connection = pair.input.connection] in connection.failBoth($0) }
        #expect(pair.input.status == .error && pair.output.status == .error)
        #expect(pair.input.error?.description.contains("cannot be watched") == true)
        pair.close()
    }

    @Test("a stream that is closed while its address begins to be watched is not kept on the list")
    func closedWhileOpening() async throws {
        let listener = try Listener(.ip(.v4(.loopback), port: 0))
        let pair = StreamPair(address: listener.address)
        try pair.open()
        try await pair.input.opened()
        let connection = pair.input.connection
        let own = try #require(pair[.localAddress])
        connection.watchLocalAddress()
        #expect(LocalAddressMonitor.shared.watches(own))
        // Closing overtakes the end of opening: it has passed the list but not yet reached the descriptor.
        LocalAddressMonitor.shared.remove(connection.point)
        for half in WaitPoint.Half.allCases { connection.halves[half].isClosed = true }
        connection.watchLocalAddress()
        #expect(!LocalAddressMonitor.shared.watches(own))
        for half in WaitPoint.Half.allCases { connection.halves[half].isClosed = false }
        pair.close()
    }
}
