import Testing

@testable import HTTPAuth

@Suite struct WorkThreadsTests {
    /// Blocks threads until it is released.
    private final class Hold: Sendable {
        private let oneShot = OneShot()
        func release() { oneShot.complete(with: .failure(HTTPAuthError(.cancelled))) }
        var work: BlockingWork {
            BlockingWork { [oneShot] in oneShot.wait(.seconds(3600)) ?? .failure(.init(.timedOut)) }
        }
    }

    /// Work that hangs fills the pool but no more. Its callers time out, and the pool works again after the work ends.
    @Test func hangingWork() async {
        let threads = WorkThreads(limit: 2)
        let hold = Hold()
        let outcomes = await withTaskGroup { group in
            for _ in 0..<5 {
                group.addTask { await threads.outcome(of: hold.work, limit: .milliseconds(1)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0 == .failure(HTTPAuthError(.timedOut)) })
        hold.release()
        let output = BlockingWork.Output(bytes: [1], isComplete: true)
        #expect(await threads.outcome(of: BlockingWork { .success(output) }, limit: .seconds(3600)) == .success(output))
        #expect(threads.wait(for: BlockingWork { .success(output) }, limit: .seconds(3600)) == .success(output))
    }

    @Test func cancelling() async {
        let threads = WorkThreads(limit: 1)
        let hold = Hold()
        let task = Task { await threads.outcome(of: hold.work, limit: .seconds(3600)) }
        task.cancel()
        #expect(await task.value == .failure(HTTPAuthError(.cancelled)))
        hold.release()
    }
}
