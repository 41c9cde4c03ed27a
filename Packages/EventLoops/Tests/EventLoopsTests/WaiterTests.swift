import Dispatch
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    @Suite struct WaiterTests {
        private enum Step: CaseIterable {
            case signalRead, signalWrite, signalBoth, parkForRead, parkForWrite, parkForAny, unpark, drain, withdrawRead
        }

        /// A waiter in an object, because the macros of Testing require copyable values.
        private final class Slot: Sendable {
            let waiter = Waiter()
            let events = Atomic<Int>(0)
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

        /// The behaviour of a waiter, without atomics.
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
            let slot = Slot()
            let watcher = CountingWatcher()
            var model = Model()
            for step in steps {
                switch step {
                case .signalRead:
                    slot.signal(.readable)
                    model.signal(.readable)
                case .signalWrite:
                    slot.signal(.writable)
                    model.signal(.writable)
                case .signalBoth:
                    slot.signal([.readable, .writable])
                    model.signal([.readable, .writable])
                case .parkForRead:
                    #expect(slot.park(watcher, for: .readable) == model.park(.readable), "\(steps)")
                case .parkForWrite:
                    #expect(slot.park(watcher, for: .writable) == model.park(.writable), "\(steps)")
                case .parkForAny:
                    #expect(slot.park(watcher, for: []) == model.park([.readable, .writable]), "\(steps)")
                case .unpark: #expect(slot.unpark(watcher) == model.unpark(), "\(steps)")
                case .drain:
                    slot.noteDrained()
                    model.drain()
                case .withdrawRead:
                    slot.withdraw(.readable)
                    model.withdraw(.readable)
                }
                #expect(slot.isDrained == model.isDrained, "\(steps)")
                #expect(watcher.count == model.fired, "\(steps)")
                #expect(slot.isParked == (model.parked != nil), "\(steps)")
                if model.parked == nil {
                    #expect(slot.hasRoom(for: .readable) == !model.latched.contains(.readable), "\(steps)")
                }
            }
        }

        @Test func behavesLikeItsModelInEverySequenceOfFourSteps() {
            for first in Step.allCases {
                for second in Step.allCases {
                    for third in Step.allCases {
                        for fourth in Step.allCases { check([first, second, third, fourth]) }
                    }
                }
            }
        }

        @Test func anotherWatcherCanNeitherParkNorRemoveTheParkedOne() {
            let slot = Slot()
            let first = CountingWatcher()
            let second = CountingWatcher()
            #expect(slot.park(first, for: .readable) == .parked)
            #expect(slot.park(second, for: .readable) == .busy)
            #expect(!slot.unpark(second))
            slot.signal(.readable)
            #expect(first.count == 1 && second.count == 0)
        }

        @Test func bitsWithoutAMeaningAreNotStored() {
            let slot = Slot()
            let watcher = CountingWatcher()
            slot.signal(Interest(rawValue: ~3))
            #expect(slot.park(watcher, for: Interest(rawValue: ~3 | 1)) == .parked)
            slot.signal(.readable)
            #expect(watcher.count == 1)
        }

        @Test func releasesWatchersHoweverTheirWaitEnds() {
            enum Ending: CaseIterable { case signalled, withdrawn, refused, dropped }
            for ending in Ending.allCases {
                weak var watcher: CountingWatcher?
                do {
                    let slot = Slot()
                    let strong = CountingWatcher()
                    watcher = strong
                    if ending == .refused { slot.signal(.readable) }
                    _ = slot.park(strong, for: .readable)
                    if ending == .signalled { slot.signal(.readable) }
                    if ending == .withdrawn { slot.unpark(strong) }
                }
                #expect(watcher == nil, "\(ending)")
            }
        }

        @Test func wakesATask() async {
            let slot = Slot()
            let task = Task {
                await withUnsafeContinuation { continuation in
                    if slot.waiter.park(continuation, for: .writable) != .parked { continuation.resume() }
                }
            }
            await until { slot.isParked }
            slot.signal(.readable)  // the task waits for another edge
            #expect(slot.isParked)
            slot.signal(.writable)
            await task.value
            #expect(!slot.isParked)
        }

        /// Two threads produce events and signal; a third consumes them and parks when there are none. A lost wakeup stops it.
        @Test func losesNoWakeupBetweenThreads() async {
            final class Wakeup: Watcher, @unchecked Sendable {
                // Only a semaphore, which is thread-safe.
                let semaphore = DispatchSemaphore(value: 0)
                override func fire() { semaphore.signal() }
            }
            let rounds = 50_000
            let slot = Slot()
            async let first: Void = onThread {
                for _ in 0..<rounds {
                    slot.events.wrappingAdd(1, ordering: .acquiringAndReleasing)
                    slot.signal(.readable)
                }
            }
            async let second: Void = onThread {
                for _ in 0..<rounds {
                    slot.events.wrappingAdd(1, ordering: .acquiringAndReleasing)
                    slot.signal([.readable, .writable])
                }
            }
            async let taken: Int = onThread {
                let wakeup = Wakeup()
                var taken = 0
                while taken < 2 * rounds {
                    taken += slot.events.exchange(0, ordering: .acquiringAndReleasing)
                    if taken == 2 * rounds { break }
                    guard slot.park(wakeup, for: .readable) == .parked else { continue }
                    guard wakeup.semaphore.wait(timeout: .now() + 60) == .success else { return taken }
                }
                return taken
            }
            _ = await (first, second)
            #expect(await taken == 2 * rounds)
        }

        /// A watcher is either withdrawn or fires: never both, and never neither.
        @Test func withdrawingRacesWithSignalling() async {
            let slot = Slot()
            async let signals: Void = onThread {
                while !slot.isDone.load(ordering: .acquiring) { slot.signal(.readable) }
            }
            async let wrong: Int = onThread {
                var wrong = 0
                for _ in 0..<50_000 {
                    let watcher = CountingWatcher()
                    guard slot.park(watcher, for: .readable) == .parked else { continue }
                    if slot.unpark(watcher) {
                        wrong += watcher.count
                    } else {
                        while watcher.count == 0 {}  // removed from the word: it is about to fire
                        wrong += watcher.count - 1
                    }
                }
                slot.isDone.store(true, ordering: .releasing)
                return wrong
            }
            #expect(await wrong == 0)
            await signals
        }
    }
}

extension EventLoopsTests {
    /// Compares a waiter with its specification: both give the same results after any sequence of calls.
    ///
    /// Method. Every state of the specification is reached by its shortest sequence of calls, followed by every sequence of three
    /// calls. After each call, everything that can be observed is compared. A waiter with a fault in one of its transitions differs
    /// from the specification within two calls of that transition.
    @Suite struct WaiterModelTests {
        /// The two watchers that may wait.
        enum Name: Int, CaseIterable {
            case first, second
        }

        enum Call: Hashable {
            case signal(Interest)
            case park(Name, Interest)
            case unpark(Name)
            case noteDrained

            static let all: [Call] = [
                .signal(.readable), .signal(.writable), .signal([.readable, .writable]), .park(.first, .readable),
                .park(.first, .writable), .park(.first, [.readable, .writable]), .park(.first, []),
                .park(.second, .readable), .unpark(.first), .unpark(.second), .noteDrained,
            ]
        }

        /// The result of a call, and everything that can be observed afterwards.
        struct Observation: Equatable {
            var parking: Waiter.Parking?
            var wasParked: Bool?
            var fired = [0, 0]
            var isRetained = [false, false]
            var isParked = false
            var isDrained = false
            var hasRoom: [Bool] = []

            static let interests: [Interest] = [.readable, .writable, [.readable, .writable]]
        }

        /// The behaviour of a waiter, without the technique of one atomic word.
        struct Specification: Hashable {
            struct Parked: Hashable {
                var name: Name
                var interest: Interest
            }

            /// The edges seen since the last wait.
            var latched: Interest = []
            /// Nothing has become readable since a read emptied the source, and nothing has waited.
            var isDrained = false
            var parked: Parked?
            var fired = [0, 0]

            mutating func perform(_ call: Call) -> Observation {
                var observation = Observation()
                switch call {
                case .signal(let interest):
                    if let waiting = parked {
                        if waiting.interest.isDisjoint(with: interest) { break }
                        parked = nil
                        fired[waiting.name.rawValue] += 1
                    } else {
                        latched.formUnion(interest)
                        if interest.contains(.readable) { isDrained = false }
                    }
                case .park(let name, let interest):
                    guard parked == nil else {
                        observation.parking = .busy
                        break
                    }
                    let wanted = interest.isEmpty ? [.readable, .writable] : interest
                    let isReady = !latched.isDisjoint(with: wanted)
                    (latched, isDrained) = ([], false)
                    parked = isReady ? nil : Parked(name: name, interest: wanted)
                    observation.parking = isReady ? .ready : .parked
                case .unpark(let name):
                    observation.wasParked = parked?.name == name
                    if parked?.name == name { parked = nil }
                case .noteDrained:
                    if parked == nil, !latched.contains(.readable) { isDrained = true }
                }
                observation.fired = fired
                observation.isRetained = Name.allCases.map { $0 == parked?.name }
                observation.isParked = parked != nil
                observation.isDrained = isDrained
                observation.hasRoom = Observation.interests.map { parked != nil || !latched.isSuperset(of: $0) }
                return observation
            }

            /// The state without the counters.
            var shape: Specification {
                var shape = self
                shape.fired = [0, 0]
                return shape
            }
        }

        /// A waiter and its watchers.
        struct Subject: ~Copyable {
            let waiter = Waiter()
            var watchers = [CountingWatcher(), CountingWatcher()]

            mutating func perform(_ call: Call) -> Observation {
                var observation = Observation()
                switch call {
                case .signal(let interest): waiter.signal(interest)
                case .park(let name, let interest):
                    observation.parking = waiter.park(watchers[name.rawValue], for: interest)
                case .unpark(let name): observation.wasParked = waiter.unpark(watchers[name.rawValue])
                case .noteDrained: waiter.noteDrained()
                }
                observation.fired = watchers.map(\.count)
                for index in watchers.indices {
                    observation.isRetained[index] = !isKnownUniquelyReferenced(&watchers[index])
                }
                observation.isParked = waiter.isParked
                observation.isDrained = waiter.isDrained
                for interest in Observation.interests { observation.hasRoom.append(waiter.hasRoom(for: interest)) }
                return observation
            }
        }

        /// Performs the calls on both and returns the resulting state; nil after the first difference, which is reported.
        private func compare(_ calls: [Call]) -> Specification? {
            var specification = Specification()
            var subject = Subject()
            for (index, call) in calls.enumerated() {
                let (expected, found) = (specification.perform(call), subject.perform(call))
                if expected != found {
                    Issue.record("\(calls[...index]): \(found), not \(expected)")
                    return nil
                }
            }
            return specification
        }

        @Test func aWaiterConformsToItsSpecification() {
            var paths: [Specification: [Call]] = [Specification(): []]
            var waiting: [[Call]] = [[]]
            while let path = waiting.popLast() {
                for call in Call.all {
                    guard let state = compare(path + [call])?.shape else { return }
                    if let known = paths[state], known.count <= path.count + 1 { continue }
                    paths[state] = path + [call]
                    waiting.append(path + [call])
                }
            }
            // Six without a waiter, since drained excludes a readable edge; the first watcher may wait for three interests, the
            // second for one.
            #expect(paths.count == 6 + 3 + 1)
            for path in paths.values {
                for first in Call.all {
                    for second in Call.all {
                        for third in Call.all where compare(path + [first, second, third]) == nil { return }
                    }
                }
            }
        }
    }
}
