import EventLoops
import Testing

@testable import HostResolver

@Suite(.timeLimit(.minutes(5))) struct PreparedLookupTests {
    /// What has happened: `begin`, `cancel`.
    private final class Steps: Sendable {
        private let steps = Locked<[String]>([])
        var all: [String] { steps.withLock { $0 } }
        func add(_ step: String) { steps.withLock { $0.append(step) } }
    }

    private let steps = Steps()

    private func lookup(on threads: BlockingThreads, after prepare: @escaping @Sendable () -> Void) -> LookupToken {
        LookupToken(after: prepare, on: threads) { [steps] in
            steps.add("begin")
            return LookupToken {
                steps.add("cancel")
                return true
            }
        }
    }

    private func until(_ count: Int) async {
        while steps.all.count < count, !Task.isCancelled { await Task.yield() }
    }

    @Test func aLookupBeginsAfterItsPreparation() async {
        let token = lookup(on: BlockingThreads(limit: 1)) { [steps] in steps.add("prepare") }
        await until(2)
        #expect(token.cancel())
        #expect(steps.all == ["prepare", "begin", "cancel"])
    }

    @Test func aLookupThatIsCancelledBeforeNeverBegins() async {
        let threads = BlockingThreads(limit: 1)
        let (running, held) = (OneShot<Bool>(), OneShot<Bool>())
        let first = lookup(on: threads) {
            running.provide(true)
            _ = try? held.value()
        }
        let second = lookup(on: threads) {}
        _ = try? await running.value()
        #expect(first.cancel() && second.cancel())
        #expect(!first.cancel() && !second.cancel())
        held.provide(true)
        // The thread is free when this has run.
        try? await threads.value {}
        #expect(steps.all == [])
    }

    /// A lookup is better late than not at all.
    @Test func aLookupBeginsWithoutAThread() async {
        let threads = BlockingThreads(limit: 1, maximumQueueLength: 0)
        let (running, held) = (OneShot<Bool>(), OneShot<Bool>())
        let first = lookup(on: threads) {
            running.provide(true)
            _ = try? held.value()
        }
        _ = try? await running.value()
        let second = lookup(on: threads) {}
        await until(1)
        #expect(second.cancel())
        held.provide(true)
        await until(3)
        #expect(first.cancel())
        #expect(steps.all == ["begin", "cancel", "begin", "cancel"])
    }
}
