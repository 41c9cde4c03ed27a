import EventLoops
import Testing

@testable import NetKit

@Suite struct TurnstileTests {
    private final class Counter: Sendable {
        let value = Locked((inside: 0, most: 0, passed: 0))

        func pass(_ turnstile: Turnstile) async {
            guard await turnstile.enter() else { return }
            value.withLock { value in
                value.inside += 1
                value.most = max(value.most, value.inside)
                value.passed += 1
            }
            await Task.yield()
            value.withLock { $0.inside -= 1 }
            turnstile.leave()
        }
    }

    @Test func oneAtATime() async {
        let turnstile = Turnstile()
        let counter = Counter()
        await withTaskGroup { group in
            for _ in 0..<500 { group.addTask { await counter.pass(turnstile) } }
        }
        #expect(counter.value.withLock { $0.most } == 1)
        #expect(counter.value.withLock { $0.passed } == 500)
    }

    /// Who gives up waiting leaves no trace: the others go through.
    @Test func cancelled() async {
        let turnstile = Turnstile()
        #expect(await turnstile.enter())
        let waiting = Task { await turnstile.enter() }
        waiting.cancel()
        #expect(await waiting.value == false)
        let next = Task { await turnstile.enter() }
        turnstile.leave()
        #expect(await next.value)
        turnstile.leave()
        #expect(await turnstile.enter())
    }

    @Test func manyCancelled() async {
        let turnstile = Turnstile()
        let counter = Counter()
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    let task = Task { await counter.pass(turnstile) }
                    if number % 2 == 0 { task.cancel() }
                    await task.value
                }
            }
        }
        #expect(counter.value.withLock { $0.most } == 1)
        #expect(await turnstile.enter())
    }
}
