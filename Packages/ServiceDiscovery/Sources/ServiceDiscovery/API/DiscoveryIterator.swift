/// Iterates over a search that begins with the first element asked for and ends with the iterator.
///
/// A cancelled task gets nil, as is the custom of sequences.
public struct DiscoveryIterator<Element: Sendable>: AsyncIteratorProtocol {
    /// What iterating throws.
    public typealias Failure = ServiceDiscoveryError

    private let start: () throws(ServiceDiscoveryError) -> DiscoveryFeed<Element>
    private var feed: DiscoveryFeed<Element>?

    init(_ start: @escaping () throws(ServiceDiscoveryError) -> DiscoveryFeed<Element>) {
        self.start = start
    }

    /// The next element; nil at the end.
    public mutating func next(
        isolation actor: isolated (any Actor)?
    ) async throws(ServiceDiscoveryError) -> Element? {
        try await advance()
    }

    /// The next element; nil at the end.
    public mutating func next() async throws(ServiceDiscoveryError) -> Element? {
        try await advance()
    }

    private nonisolated(nonsending) mutating func advance() async throws(ServiceDiscoveryError) -> Element? {
        if self.feed == nil { self.feed = try start() }
        guard let feed = self.feed else { return nil }
        do throws(ServiceDiscoveryError) {
            return try await feed.next()
        } catch {
            if error.code == .cancelled && Task.isCancelled { return nil }
            throw error
        }
    }
}
