internal import HostResolver

/// Makes the elements of a feed out of the events of operations. A machine: no I/O, no clock.
protocol FeedMachine: Sendable {
    associatedtype Element: Sendable

    /// The questions to be asked now; the operations of others are ended.
    var questions: Set<RecordKey> { get }
    /// Takes an event of the operation that asks `key`.
    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey)
    /// True if the search goes on without the operation that asks `key`, which has failed.
    mutating func passesOver(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool
    /// The next element, if there is one.
    mutating func take() -> Element?
}

extension FeedMachine {
    mutating func passesOver(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool { false }
}
