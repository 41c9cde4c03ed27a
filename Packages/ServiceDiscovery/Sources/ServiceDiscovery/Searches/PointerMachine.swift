internal import DNSWire

/// Follows the PTR records of names. Each target stands for a value: a service, a type or a domain.
struct PointerMachine<Value: Hashable & Sendable>: SearchMachine {
    /// A record set on one interface, in which a value is known.
    private struct RecordSet: Hashable {
        let key: RecordKey
        let interface: UInt32
    }

    private(set) var questions: Set<RecordKey>
    private let optional: Set<RecordKey>
    private let limit: Int
    private let meaning: @Sendable (DNSName) -> Value?
    private var known = SourcedSet<Value, RecordSet>()
    /// The changes to read, preceded by those that were taken and are not removed yet.
    private(set) var waiting: [(kind: DiscoveryChange<Value>.Kind, value: Value)] = []
    private var taken = 0
    /// The most changes that may wait before they are compacted again.
    private var room: Int

    /// - Parameters:
    ///   - names: the names whose PTR records to follow.
    ///   - optional: those of `names` whose queries may fail without ending the search.
    ///   - initial: values that are known without a query.
    ///   - limit: the most changes that wait, unless more values exist at once.
    ///   - meaning: the value that a target stands for; nil if it stands for no value.
    init(
        _ names: [DNSName], optional: [DNSName] = [], initial: [Value] = [], limit: Int = EngineLimits().waitingChanges,
        meaning: @escaping @Sendable (DNSName) -> Value?
    ) {
        questions = Self.keys(names)
        self.optional = Self.keys(optional)
        self.limit = limit
        room = limit
        self.meaning = meaning
        let always = RecordSet(key: RecordKey(.root, .ptr), interface: 0)
        for value in initial where known.insert(value, from: always) { waiting.append((.found, value)) }
    }

    /// Replaces the names whose PTR records to follow. Values that only the former names had are removed.
    mutating func follow(_ names: [DNSName]) {
        questions = Self.keys(names)
        for value in known.elements {
            for set in known.sources(of: value) where !questions.contains(set.key) && set.key.name != .root {
                if known.remove(value, from: set) { append(.removed, value) }
            }
        }
    }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        guard questions.contains(key) else { return }
        switch event {
        case .added(let record, let interface):
            let set = RecordSet(key: key, interface: interface)
            if let value = value(record), known.insert(value, from: set) { append(.found, value) }
        case .removed(let record, let interface):
            let set = RecordSet(key: key, interface: interface)
            if let value = value(record), known.remove(value, from: set) { append(.removed, value) }
        case .absent, .published, .hidden, .failed: break
        }
    }

    func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool {
        error.code == .lookupFailed && optional.contains(key)
    }

    mutating func take() -> DiscoveryChange<Value>? {
        guard taken < waiting.count else { return nil }
        defer {
            taken += 1
            if taken == waiting.count {
                (waiting, taken) = ([], 0)
            } else if taken >= 64, taken * 2 >= waiting.count {
                waiting.removeFirst(taken)
                taken = 0
            }
        }
        let (kind, value) = waiting[taken]
        return DiscoveryChange(kind: kind, value: value, moreComing: taken + 1 < waiting.count)
    }

    private func value(_ record: DNSRecord) -> Value? {
        if case .ptr(let name) = record.data { meaning(name) } else { nil }
    }

    private static func keys(_ names: [DNSName]) -> Set<RecordKey> {
        Set(names.map { RecordKey($0, .ptr) })
    }

    /// Appends a change. When there is no room, changes that cancel each other are dropped: a value that was found and
    /// removed, or removed and found again, since the last read. What remains are values that the reader knows and that
    /// are gone, and new values that exist.
    private mutating func append(_ kind: DiscoveryChange<Value>.Kind, _ value: Value) {
        if waiting.count - taken >= room {
            var last: [Value: (first: DiscoveryChange<Value>.Kind, index: Int)] = [:]
            for index in taken..<waiting.count {
                last[waiting[index].value] = (last[waiting[index].value]?.first ?? waiting[index].kind, index)
            }
            waiting = (taken..<waiting.count).compactMap { index in
                guard let known = last[waiting[index].value], known.index == index, known.first == waiting[index].kind
                else { return nil }
                return waiting[index]
            }
            taken = 0
            // The next compaction is due only after as many changes again, even if none cancel each other.
            room = max(limit, 2 * waiting.count)
        }
        waiting.append((kind, value))
    }
}

/// A set whose elements each have sources, such as the interfaces on which a service is known. An element stays in the
/// set while it has at least one source, so a service on three interfaces is found once and removed once.
struct SourcedSet<Element: Hashable & Sendable, Source: Hashable & Sendable>: Sendable {
    private var sources: [Element: Set<Source>] = [:]

    var elements: Dictionary<Element, Set<Source>>.Keys { sources.keys }

    func sources(of element: Element) -> Set<Source> {
        sources[element] ?? []
    }

    /// Adds a source of an element; true if the element is new.
    mutating func insert(_ element: Element, from source: Source) -> Bool {
        sources[element, default: []].insert(source).inserted && sources[element]?.count == 1
    }

    /// Removes a source of an element; true if it was the last one.
    mutating func remove(_ element: Element, from source: Source) -> Bool {
        guard sources[element]?.remove(source) != nil, sources[element]?.isEmpty == true else { return false }
        sources[element] = nil
        return true
    }

    /// Removes an element with all its sources.
    mutating func removeAll(_ element: Element) {
        sources[element] = nil
    }
}
