internal import HostResolver

/// Follows the pointers of one name, each taken for something: browsing services, types, and domains are this.
struct PointerMachine<Thing: Hashable & Sendable>: FeedMachine {
    let questions: Set<RecordKey>
    private let limit: Int
    private let meaning: @Sendable (DNSName) -> Thing?
    private var known = InterfaceCount<Thing>()
    private var waiting: [(kind: DiscoveryChange<Thing>.Kind, value: Thing)] = []
    private var taken = 0

    /// - Parameters:
    ///   - names: whose pointers.
    ///   - initial: what is known without asking.
    ///   - limit: most changes that wait.
    ///   - meaning: what a pointer's target stands for; nil for nothing.
    init(
        _ names: [DNSName], initial: [Thing] = [], limit: Int = EngineLimits().waitingChanges,
        meaning: @escaping @Sendable (DNSName) -> Thing?
    ) {
        questions = Set(names.map { RecordKey($0, .ptr) })
        self.limit = limit
        self.meaning = meaning
        for thing in initial where known.add(thing, on: 0) { waiting.append((.found, thing)) }
    }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        switch event {
        case .added(let record, let interface):
            if let thing = thing(record), known.add(thing, on: interface) { append(.found, thing) }
        case .removed(let record, let interface):
            if let thing = thing(record), known.remove(thing, on: interface) { append(.removed, thing) }
        case .absent, .published, .failed: break
        }
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

    /// A reader who does not read gets what stands: pairs of found and gone cancel out when there is no more room.
    private mutating func append(_ kind: DiscoveryChange<Thing>.Kind, _ thing: Thing) {
        if waiting.count - taken >= limit {
            var last: [Thing: Int] = [:]
            for place in taken..<waiting.count { last[waiting[place].value] = place }
            waiting = (taken..<waiting.count).filter { last[waiting[$0].value] == $0 }.map { waiting[$0] }
            taken = 0
        }
        waiting.append((kind, thing))
    }
}
