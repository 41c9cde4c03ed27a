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

        @Test func aLockExcludesOtherThreadsFromTheStateBesideIt() async {
            final class Counter: @unchecked Sendable {
                // Unchecked: the count is accessed only inside the lock.
                private let lock = Lock()
                private var count = 0

                func add(_ number: Int) -> Int {
                    lock.withLock {
                        count += number
                        return count
                    }
                }
            }
            let counter = Counter()
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        await onThread { for _ in 0..<20_000 { _ = counter.add(1) } }
                    }
                }
            }
            #expect(counter.add(0) == 80_000)
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

        @Test func holdsStatesThatNeedAlignment() {
            struct State: Sendable { var values = SIMD64<Double>(repeating: 1) }
            final class Aligned: Sendable {
                let state: Locked<State>
                init(_ state: State) { self.state = Locked(state) }
            }
            let all = (0..<20).map { _ in Aligned(State()) }
            for holder in all {
                let address = holder.state.withLock { state in withUnsafePointer(to: &state) { UInt(bitPattern: $0) } }
                #expect(address % UInt(MemoryLayout<State>.alignment) == 0)
                #expect(holder.state.withLock { $0.values.sum() } == 64)
            }
        }

        @Test func releasesItsState() {
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
