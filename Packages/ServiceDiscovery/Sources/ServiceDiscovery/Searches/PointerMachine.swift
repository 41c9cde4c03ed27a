internal import DNSWire

/// Follows the PTR records of names. Each target stands for a value: a service, a type or a domain.
///
/// A target that stands for no value is skipped, and costs no other record.
struct PointerMachine<Value: Hashable & Sendable>: SearchMachine {
    /// A record set on one interface, in which a value is known.
    private struct RecordSet: Hashable {
        let key: RecordKey
        let interface: UInt32
    }

    /// A value, on one interface if changes are reported for each.
    struct Sighting: Hashable {
        let value: Value
        let interface: UInt32?
    }

    /// A change to read.
    struct Change: WaitingChange {
        let kind: DiscoveryChange<Value>.Kind
        let sighting: Sighting
        let interface: UInt32
        let interfaceName: String?

        var subject: Sighting { sighting }
        var isAddition: Bool { kind == .found }
        /// A value has at most one name, as bytes and as text.
        var memory: Int { MemoryLayout<Self>.stride + 2 * DNSName.maximumWireLength }
    }

    private(set) var questions: Set<RecordKey>
    private let optional: Set<RecordKey>
    private let eachInterface: Bool
    private let meaning: @Sendable (DNSName) -> Value?
    private var known = SourcedSet<Sighting, RecordSet>()
    /// The names of the interfaces with values.
    private var interfaceNames: [UInt32: String] = [:]
    private(set) var waiting: ChangeQueue<Change>
    private var skippedNames = SkippedNames()

    /// - Parameters:
    ///   - names: the names whose PTR records to follow.
    ///   - optional: those of `names` whose queries may fail without ending the search.
    ///   - initial: values that are known without a query.
    ///   - eachInterface: whether changes are reported for each interface.
    ///   - limit: the most that waits, unless more values exist at once.
    ///   - meaning: the value that a target stands for; nil if it stands for no value.
    init(
        _ names: [DNSName], optional: [DNSName] = [], initial: [Value] = [], eachInterface: Bool = false,
        limit: WaitingLimit = WaitingLimit(),
        meaning: @escaping @Sendable (DNSName) -> Value?
    ) {
        questions = Self.keys(names)
        self.optional = Self.keys(optional)
        self.eachInterface = eachInterface
        waiting = ChangeQueue(limit: limit)
        self.meaning = meaning
        let always = RecordSet(key: RecordKey(.root, .ptr), interface: 0)
        for value in initial {
            let sighting = Sighting(value: value, interface: nil)
            if known.insert(sighting, from: always) { append(.found, sighting, on: 0) }
        }
    }

    /// Replaces the names whose PTR records to follow. Values that only the former names had are removed.
    mutating func follow(_ names: [DNSName]) {
        questions = Self.keys(names)
        for sighting in known.elements {
            for set in known.sources(of: sighting) where !questions.contains(set.key) && set.key.name != .root {
                if known.remove(sighting, from: set) { append(.removed, sighting, on: set.interface) }
            }
        }
    }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        guard questions.contains(key) else { return }
        switch event {
        case .added(let record, let interface, let name):
            let set = RecordSet(key: key, interface: interface)
            if let name { interfaceNames[interface] = name }
            guard let sighting = sighting(record, on: interface) else {
                if case .ptr(let name) = record.data { skippedNames.append(name) }
                return
            }
            guard known.insert(sighting, from: set) else { return }
            append(.found, sighting, on: interface)
        case .removed(let record, let interface):
            let set = RecordSet(key: key, interface: interface)
            guard let sighting = sighting(record, on: interface), known.remove(sighting, from: set) else { return }
            append(.removed, sighting, on: interface)
        case .absent, .published, .announced, .hidden, .unanswered, .failed: break
        }
    }

    var skipped: [DNSName] { skippedNames.all }

    func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool {
        error.code == .lookupFailed && optional.contains(key)
    }

    mutating func take() -> DiscoveryChange<Value>? {
        guard let next = waiting.take() else { return nil }
        return DiscoveryChange(
            kind: next.kind, value: next.sighting.value, interface: next.interfaceName,
            interfaceIndex: next.interface, moreComing: !waiting.isEmpty)
    }

    private func sighting(_ record: DNSRecord, on interface: UInt32) -> Sighting? {
        guard case .ptr(let name) = record.data, let value = meaning(name) else { return nil }
        return Sighting(value: value, interface: eachInterface ? interface : nil)
    }

    private static func keys(_ names: [DNSName]) -> Set<RecordKey> {
        Set(names.map { RecordKey($0, .ptr) })
    }

    private mutating func append(_ kind: DiscoveryChange<Value>.Kind, _ sighting: Sighting, on interface: UInt32) {
        waiting.append(
            Change(
                kind: kind, sighting: sighting, interface: interface, interfaceName: interfaceNames[interface]))
    }
}

/// The names that a search has skipped, in the order of arrival.
private struct SkippedNames {
    /// Whatever other hosts send, no more names are kept.
    static let maximumNames = 16

    private(set) var all: [DNSName] = []

    mutating func append(_ name: DNSName) {
        if all.count < Self.maximumNames, !all.contains(name) { all.append(name) }
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
