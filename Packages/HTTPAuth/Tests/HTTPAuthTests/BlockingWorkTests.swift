import EventLoops
import Testing

@testable import HTTPAuth

@Suite struct BlockingWorkTests {
    private let output = BlockingWork.Output(bytes: [1], isComplete: true)

    /// Work items that block their threads until they are released.
    private final class Hold: Sendable {
        private let releases = Locked<[OneShot<Void>]>([])

        func end() {
            for release in releases.withLock({ $0 }) { release.provide(()) }
        }

        var work: BlockingWork {
            let release = OneShot<Void>()
            releases.withLock { $0.append(release) }
            return BlockingWork {
                _ = try? release.value()
                return .failure(HTTPAuthError(.cancelled))
            }
        }
    }

    private func blockingOutcome(_ work: BlockingWork, on threads: BlockingThreads) -> BlockingWork.Outcome {
        work.outcome(within: .seconds(3600), on: threads)
    }

    /// Work that hangs fills the pool but no more. Its callers time out, and the pool works again after the work ends.
    @Test func hangingWork() async {
        let threads = BlockingThreads(limit: 2)
        let hold = Hold()
        let outcomes = await withTaskGroup { group in
            for _ in 0..<5 {
                group.addTask { await hold.work.outcome(within: .milliseconds(1), on: threads) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 5)
        #expect(outcomes.allSatisfy { $0 == .failure(HTTPAuthError(.timedOut)) })
        hold.end()
        let work = BlockingWork { [output] in .success(output) }
        #expect(await work.outcome(within: .seconds(3600), on: threads) == .success(output))
        #expect(blockingOutcome(work, on: threads) == .success(output))
    }

    @Test func cancelling() async {
        let threads = BlockingThreads(limit: 1)
        let hold = Hold()
        let task = Task { await hold.work.outcome(within: .seconds(3600), on: threads) }
        task.cancel()
        #expect(await task.value == .failure(HTTPAuthError(.cancelled)))
        hold.end()
    }

    /// The errors of a wait are those of the package, with a reason.
    @Test(arguments: [
        (WaitError.cancelled, HTTPAuthError.Code.cancelled), (.timedOut, .timedOut), (.failed(11), .unavailable),
    ])
    func errors(_ error: WaitError, _ code: HTTPAuthError.Code) {
        #expect(HTTPAuthError(wait: error).code == code)
    }
}
