import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct LockedTests {
        private final class Holder: Sendable { let count = Locked(0) }

        @Test func oneThreadAtATime() async {
            let holder = Holder()
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        await onThread { for _ in 0..<20_000 { holder.count.withLock { $0 += 1 } } }
                    }
                }
            }
            #expect(holder.count.withLock { $0 } == 80_000)
        }

        @Test func isReleasedWhenTheBodyThrows() {
            struct Refusal: Error, Equatable { let number: Int }
            let holder = Holder()
            #expect(throws: Refusal(number: 3)) {
                try holder.count.withLock { (count) throws(Refusal) in
                    count = 3
                    throw Refusal(number: count)
                }
            }
            #expect(holder.count.withLock { $0 } == 3)
        }

        @Test func letsGoOfItsState() {
            final class State: Sendable {}
            weak var weakly: State?
            do {
                let state = State()
                weakly = state
                let locked = Locked(state)
                locked.withLock { _ in }
            }
            #expect(weakly == nil)
        }
    }
}
