internal import HostResolver

/// Follows the pointers of names, each taken for something: browsing services, types, and domains are this.
struct PointerMachine<Thing: Hashable & Sendable>: FeedMachine {
    /// Where a thing is known.
    private struct Place: Hashable {
        let key: RecordKey
        let interface: UInt32
    }

    private(set) var questions: Set<RecordKey>
    private let optional: Set<RecordKey>
    private let limit: Int
    private let meaning: @Sendable (DNSName) -> Thing?
    private var known = Appearances<Thing, Place>()
    private var waiting: [(kind: DiscoveryChange<Thing>.Kind, value: Thing)] = []
    private var taken = 0
    /// How many changes may wait before they are gone through again.
    private var room: Int

    /// - Parameters:
    ///   - names: whose pointers.
    ///   - optional: those of them that need not be there to be asked.
    ///   - initial: what is known without asking.
    ///   - limit: most changes that wait, unless more things are there at once.
    ///   - meaning: what a pointer's target stands for; nil for nothing.
    init(
        _ names: [DNSName], optional: [DNSName] = [], initial: [Thing] = [], limit: Int = EngineLimits().waitingChanges,
        meaning: @escaping @Sendable (DNSName) -> Thing?
    ) {
        questions = Self.keys(names)
        self.optional = Self.keys(optional)
        self.limit = limit
        room = limit
        self.meaning = meaning
        let always = Place(key: RecordKey(.root, .ptr), interface: 0)
        for thing in initial where known.add(thing, in: always) { waiting.append((.found, thing)) }
    }

    /// Follows the pointers of these names from now on. What was known only by those of others is removed.
    mutating func follow(_ names: [DNSName]) {
        questions = Self.keys(names)
        for thing in known.things {
            for place in known.places(of: thing) where !questions.contains(place.key) && place.key.name != .root {
                if known.remove(thing, in: place) { append(.removed, thing) }
            }
        }
    }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        guard questions.contains(key) else { return }
        switch event {
        case .added(let record, let interface):
            let place = Place(key: key, interface: interface)
            if let thing = thing(record), known.add(thing, in: place) { append(.found, thing) }
        case .removed(let record, let interface):
            let place = Place(key: key, interface: interface)
            if let thing = thing(record), known.remove(thing, in: place) { append(.removed, thing) }
        case .absent, .published, .hidden, .failed: break
        }
    }

    func passesOver(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool {
        error.code == .lookupFailed && optional.contains(key)
    }

    mutating func take() -> DiscoveryChange<Thing>? {
        guard taken < waiting.count else { return nil }
        defer {
            taken += 1
            if taken == waiting.count { (waiting, taken) = ([], 0) }
        }
        let (kind, value) = waiting[taken]
        return DiscoveryChange(kind: kind, value: value, moreComing: taken + 1 < waiting.count)
    }

    private func thing(_ record: DNSRecord) -> Thing? {
        if case .ptr(let name) = record.data { meaning(name) } else { nil }
    }

    private static func keys(_ names: [DNSName]) -> Set<RecordKey> {
        Set(names.map { RecordKey($0, .ptr) })
    }

    /// A reader who does not read gets what stands: when there is no more room, what came and went again, or went and came back,
    /// is forgotten. What is left are things that the reader knows of and that are gone, and things that are there.
    private mutating func append(_ kind: DiscoveryChange<Thing>.Kind, _ thing: Thing) {
        if waiting.count - taken >= room {
            var last: [Thing: (first: DiscoveryChange<Thing>.Kind, place: Int)] = [:]
            for place in taken..<waiting.count {
                last[waiting[place].value] = (last[waiting[place].value]?.first ?? waiting[place].kind, place)
            }
            waiting = (taken..<waiting.count).compactMap { place in
                guard let known = last[waiting[place].value], known.place == place, known.first == waiting[place].kind
                else { return nil }
                return waiting[place]
            }
            taken = 0
            // Not over and over for one change each, where it all stands.
            room = max(limit, 2 * waiting.count)
        }
        waiting.append((kind, thing))
    }
}
