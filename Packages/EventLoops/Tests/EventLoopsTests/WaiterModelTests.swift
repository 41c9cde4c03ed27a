import Testing

@testable import EventLoops

extension EventLoopsTests {
    /// A waiter beside its specification: both give the same answers, after whatever calls.
    ///
    /// Method. Every state of the specification is reached by its shortest sequence of calls, and every sequence of three calls
    /// follows from there; after each call all that can be observed is compared. A waiter with a fault in one of its transitions
    /// differs from the specification within two calls of that transition.
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

        /// What a call answers, and all that can be observed afterwards.
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

        /// What a waiter does, without the art of one atomic word.
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

            /// The state without what is only counted.
            var shape: Specification {
                var shape = self
                shape.fired = [0, 0]
                return shape
            }
        }

        /// A waiter, and the watchers that wait there.
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

        /// Performs the calls on both, and gives the state they lead to; nil at the first difference, which is reported.
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

        @Test func aWaiterIsItsSpecification() {
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
            // Six without a waiter, for drained excludes a readable edge; the first may wait for three interests, the second for one.
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
