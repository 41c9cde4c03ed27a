import HostResolverTesting
import Testing

@testable import HostResolver

struct AddressBatchesTests {
    private let name = "www.example.org"
    private let resolver = ScriptedResolver()

    private func batches() throws -> AddressBatches {
        resolver.addressBatches(of: try HostName(name))
    }

    @Test func theEndRepeats() async throws {
        resolver.script(name, [.batch(["192.0.2.1"]), .finish()])
        var iterator = try batches().makeAsyncIterator()
        #expect(try await iterator.next() == AddressBatch([IPAddress("192.0.2.1")!], families: .v4))
        for _ in 0..<2 { #expect(try await iterator.next() == nil) }
    }

    @Test func aFailureComesBehindTheBatchesAndRepeats() async throws {
        resolver.script(name, [.batch([], families: .v6), .fail(.noData)])
        var iterator = try batches().makeAsyncIterator()
        #expect(try await iterator.next() == AddressBatch([], families: .v6))
        for _ in 0..<2 {
            await #expect(throws: ResolverError(.noData, name: name)) { try await iterator.next() }
        }
    }

    @Test func cancellingTheTaskCancelsTheLookup() async throws {
        resolver.script(name, [])
        let batches = try batches()
        let task = Task {
            var iterator = batches.makeAsyncIterator()
            await #expect(throws: ResolverError(.cancelled, name: name)) { try await iterator.next() }
            #expect(resolver.cancelledCount == 1)
            await #expect(throws: ResolverError(.cancelled, name: name)) { try await iterator.next() }
        }
        while resolver.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        task.cancel()
        await task.value
    }

    @Test func batchesThatHaveArrivedDoNotDelayACancellation() async throws {
        let clock = ManualClock()
        let resolver = ScriptedResolver(clock: clock)
        resolver.script(name, [.batch(["192.0.2.1"])])
        let batches = resolver.addressBatches(of: try HostName(name))
        let task = Task {
            var iterator = batches.makeAsyncIterator()
            clock.advance()
            withUnsafeCurrentTask { $0?.cancel() }
            await #expect(throws: ResolverError(.cancelled, name: name)) { try await iterator.next() }
        }
        await task.value
    }

    @Test func releasingTheIteratorCancelsTheLookup() throws {
        resolver.script(name, [])
        do { _ = try batches().makeAsyncIterator() }
        #expect(resolver.requests.count == 1 && resolver.cancelledCount == 1)
    }
}
