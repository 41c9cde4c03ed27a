import Dispatch
import Synchronization
import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct WaiterTests {
        private enum Step: CaseIterable {
            case signalRead, signalWrite, signalBoth, parkForRead, parkForWrite, parkForAny, unpark, drain, withdrawRead
        }

        /// Testing's macros want something that can be copied.
        private final class Place: Sendable {
            let waiter = Waiter()
            let news = Atomic<Int>(0)
            let isDone = Atomic<Bool>(false)
            var isParked: Bool { waiter.isParked }
            var isDrained: Bool { waiter.isDrained }
            func hasRoom(for interest: Interest) -> Bool { waiter.hasRoom(for: interest) }
            func noteDrained() { waiter.noteDrained() }
            func withdraw(_ interest: Interest) { waiter.withdraw(interest) }
            func signal(_ interest: Interest) { waiter.signal(interest) }
            func park(_ watcher: Watcher, for interest: Interest) -> Waiter.Parking {
                waiter.park(watcher, for: interest)
            }
            @discardableResult func unpark(_ watcher: Watcher) -> Bool { waiter.unpark(watcher) }
        }

        /// What a waiter must do, said without atomics.
        private struct Model {
            var latched: Interest = []
            var parked: Interest?
            var isDrained = false
            var fired = 0

            mutating func signal(_ interest: Interest) {
                if interest.contains(.readable) { isDrained = false }
                guard let wanted = parked else { return latched.formUnion(interest) }
                if wanted.isDisjoint(with: interest) { return }
                parked = nil
                fired += 1
            }

            mutating func park(_ interest: Interest) -> Waiter.Parking {
                if parked != nil { return .busy }
                let isReady = !latched.isDisjoint(with: interest)
                latched = []
                isDrained = false
                if isReady { return .ready }
                parked = interest
                return .parked
            }

            mutating func drain() {
                if parked == nil, !latched.contains(.readable) { isDrained = true }
            }

            mutating func withdraw(_ interest: Interest) {
                latched.subtract(interest)
            }

            mutating func unpark() -> Bool {
                defer { parked = nil }
                return parked != nil
            }
        }

        private func check(_ steps: [Step]) {
            let place = Place()
            let watcher = CountingWatcher()
            var model = Model()
            for step in steps {
                switch step {
                case .signalRead:
                    place.signal(.readable)
                    model.signal(.readable)
                case .signalWrite:
                    place.signal(.writable)
                    model.signal(.writable)
                case .signalBoth:
                    place.signal([.readable, .writable])
                    model.signal([.readable, .writable])
                case .parkForRead:
                    #expect(place.park(watcher, for: .readable) == model.park(.readable), "\(steps)")
                case .parkForWrite:
                    #expect(place.park(watcher, for: .writable) == model.park(.writable), "\(steps)")
                case .parkForAny:
                    #expect(place.park(watcher, for: []) == model.park([.readable, .writable]), "\(steps)")
                case .unpark: #expect(place.unpark(watcher) == model.unpark(), "\(steps)")
                case .drain:
                    place.noteDrained()
                    model.drain()
                case .withdrawRead:
                    place.withdraw(.readable)
                    model.withdraw(.readable)
                }
                #expect(place.isDrained == model.isDrained, "\(steps)")
                #expect(watcher.count == model.fired, "\(steps)")
                #expect(place.isParked == (model.parked != nil), "\(steps)")
                if model.parked == nil {
                    #expect(place.hasRoom(for: .readable) == !model.latched.contains(.readable), "\(steps)")
                }
            }
        }

        @Test func doesAsItsModelInEverySequenceOfFourSteps() {
            for first in Step.allCases {
                for second in Step.allCases {
                    for third in Step.allCases {
                        for fourth in Step.allCases { check([first, second, third, fourth]) }
                    }
                }
            }
        }

        @Test func anotherWatcherCannotTakeThePlaceNorTheOneThatWaits() {
            let place = Place()
            let first = CountingWatcher()
            let second = CountingWatcher()
            #expect(place.park(first, for: .readable) == .parked)
            #expect(place.park(second, for: .readable) == .busy)
            #expect(!place.unpark(second))
            place.signal(.readable)
            #expect(first.count == 1 && second.count == 0)
        }

        @Test func bitsWithoutAMeaningAreNotStored() {
            let place = Place()
            let watcher = CountingWatcher()
            place.signal(Interest(rawValue: ~3))
            #expect(place.park(watcher, for: Interest(rawValue: ~3 | 1)) == .parked)
            place.signal(.readable)
            #expect(watcher.count == 1)
        }

        @Test func letsGoOfWatchersHoweverTheirWaitEnds() {
            enum Ending: CaseIterable { case signalled, takenBack, refused, dropped }
            for ending in Ending.allCases {
                weak var watcher: CountingWatcher?
                do {
                    let place = Place()
                    let strong = CountingWatcher()
                    watcher = strong
                    if ending == .refused { place.signal(.readable) }
                    _ = place.park(strong, for: .readable)
                    if ending == .signalled { place.signal(.readable) }
                    if ending == .takenBack { place.unpark(strong) }
                }
                #expect(watcher == nil, "\(ending)")
            }
        }

        @Test func wakesATask() async {
            let place = Place()
            let task = Task {
                await withUnsafeContinuation { continuation in
                    if place.waiter.park(continuation, for: .writable) != .parked { continuation.resume() }
                }
            }
            await until { place.isParked }
            place.signal(.readable)  // not what it waits for
            #expect(place.isParked)
            place.signal(.writable)
            await task.value
            #expect(!place.isParked)
        }

        /// Two threads make news and signal; a third takes it and parks when there is none. A lost wakeup stops it.
        @Test func losesNoWakeupBetweenThreads() async {
            final class Bell: Watcher, @unchecked Sendable {
                // Only a semaphore, which is thread-safe.
                let semaphore = DispatchSemaphore(value: 0)
                override func fire() { semaphore.signal() }
            }
            let rounds = 50_000
            let place = Place()
            async let first: Void = onThread {
                for _ in 0..<rounds {
                    place.news.wrappingAdd(1, ordering: .acquiringAndReleasing)
                    place.signal(.readable)
                }
            }
            async let second: Void = onThread {
                for _ in 0..<rounds {
                    place.news.wrappingAdd(1, ordering: .acquiringAndReleasing)
                    place.signal([.readable, .writable])
                }
            }
            async let taken: Int = onThread {
                let bell = Bell()
                var taken = 0
                while taken < 2 * rounds {
                    taken += place.news.exchange(0, ordering: .acquiringAndReleasing)
                    if taken == 2 * rounds { break }
                    guard place.park(bell, for: .readable) == .parked else { continue }
                    guard bell.semaphore.wait(timeout: .now() + 60) == .success else { return taken }
                }
                return taken
            }
            _ = await (first, second)
            #expect(await taken == 2 * rounds)
        }

        /// A watcher is either taken back or fires, never both and never neither.
        @Test func takingBackRacesWithSignalling() async {
            let place = Place()
            async let signals: Void = onThread {
                while !place.isDone.load(ordering: .acquiring) { place.signal(.readable) }
            }
            async let wrong: Int = onThread {
                var wrong = 0
                for _ in 0..<50_000 {
                    let watcher = CountingWatcher()
                    guard place.park(watcher, for: .readable) == .parked else { continue }
                    if place.unpark(watcher) {
                        wrong += watcher.count
                    } else {
                        while watcher.count == 0 {}  // taken out of the word: it fires in a moment
                        wrong += watcher.count - 1
                    }
                }
                place.isDone.store(true, ordering: .releasing)
                return wrong
            }
            #expect(await wrong == 0)
            await signals
        }
    }
}
