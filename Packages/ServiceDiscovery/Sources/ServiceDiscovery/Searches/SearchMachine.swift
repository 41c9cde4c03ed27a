internal import DNSWire

/// Turns the events of queries into the elements of a feed. A machine: no I/O, no clock.
protocol SearchMachine: Sendable {
    associatedtype Element: Sendable

    /// The queries that should run now; all others are ended.
    var questions: Set<RecordKey> { get }
    /// The queries that should run on the link, by multicast, although their names are not in `local`. Default: none.
    var linkQuestions: Set<RecordKey> { get }
    /// Processes an event of a query for `key`.
    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey)
    /// Whether the search continues without a query for `key`, which has failed or was refused.
    mutating func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool
    /// The next element, if there is one.
    mutating func take() -> Element?
    /// See ``DiscoveryFeed/skipped``. Default: none.
    var skipped: [DNSName] { get }
}

extension SearchMachine {
    var linkQuestions: Set<RecordKey> { [] }
    var skipped: [DNSName] { [] }

    mutating func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool { false }
}
