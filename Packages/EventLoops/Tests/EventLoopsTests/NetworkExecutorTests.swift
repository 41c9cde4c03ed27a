import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct NetworkExecutorTests {
        private struct Refusal: Error, Equatable { let number: Int }

        @Test func runsOnTheLoopAndComesBack() async {
            #expect(await withNetworkExecutor { EventLoop.shared.isCurrent })
            #expect(!EventLoop.shared.isCurrent)
        }

        @MainActor @Test func runsOnTheLoopFromTheMainActor() async {
            let isOnLoop = await withNetworkExecutor {
                await Task.yield()
                return EventLoop.shared.isCurrent
            }
            #expect(isOnLoop)
            MainActor.assertIsolated()
        }

        @Test func runsOnAPrivateLoop() async {
            let loop = EventLoop.forTest("private")
            defer { loop.shutdown() }
            #expect(await withNetworkExecutor(loop) { loop.isCurrent && !EventLoop.shared.isCurrent })
        }

        @Test func itsChildrenStayOnTheLoop() async {
            let stayed = await withNetworkExecutor {
                async let first = EventLoop.shared.isCurrent
                let second = await withTaskGroup { group in
                    group.addTask { EventLoop.shared.isCurrent }
                    return await group.next()
                }
                return await [first, second == true]
            }
            #expect(stayed == [true, true])
        }

        @Test func throwsWhatTheBodyThrows() async {
            do throws(Refusal) {
                try await withNetworkExecutor { () async throws(Refusal) in throw Refusal(number: 4) }
                Issue.record("did not throw")
            } catch {
                #expect(error.number == 4)  // typed: a Refusal, without a cast
            }
        }

        @Test func cancellationReachesTheBody() async throws {
            let pair = try SocketPair()
            let point = WaitPoint(descriptor: pair.near, ownership: .owned)
            let task = Task { await withNetworkExecutor { await point.readByte() } }
            await until { point.isReaderParked }
            task.cancel()
            #expect(await task.value == .woken(.cancelled))
            point.close()
        }
    }
}
