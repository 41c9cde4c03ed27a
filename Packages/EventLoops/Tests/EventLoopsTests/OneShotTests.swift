import Testing

@testable import EventLoops

extension EventLoopsTests {
    /// Several waiters of one ``OneShot``; see ``ConditionTests`` for a single one.
    @Suite struct OneShotTests {
        @Test func theValueEndsTheWaitsOfTasksAndThreads() async throws {
            let shot = OneShot<Int>()
            let tasks = (0..<3).map { _ in Task { try await shot.value() } }
            async let first = onThread { Result { () throws(WaitError) in try shot.value() } }
            async let second = onThread { Result { () throws(WaitError) in try shot.value() } }
            await until { shot.waiterCount == 5 }
            #expect(shot.provide(7))
            for task in tasks { #expect(try await task.value == 7) }
            #expect(await [first, second] == [.success(7), .success(7)])
            #expect(shot.waiterCount == 0)
        }

        @Test func theEndOfOneWaitConcernsNoOther() async throws {
            let shot = OneShot<Int>()
            let tasks = (0..<3).map { _ in Task { try await shot.value() } }
            await until { shot.waiterCount == 3 }
            await #expect(throws: WaitError.timedOut) { try await shot.value(until: .now) }
            tasks[0].cancel()
            tasks[2].cancel()
            await #expect(throws: WaitError.cancelled) { try await tasks[0].value }
            await #expect(throws: WaitError.cancelled) { try await tasks[2].value }
            #expect(shot.waiterCount == 1)
            shot.provide(1)
            #expect(try await tasks[1].value == 1)
        }
    }
}
