/// The addresses of a host as they arrive, from ``Resolver/addressBatches(of:until:)``.
///
/// The sequence ends after the last batch, and throws ``ResolverError`` if no address was found. Batches are buffered
/// until they are read; there are at most two. Cancelling the task makes the iteration throw
/// ``ResolverError/Code-swift.struct/cancelled``.
public struct AddressBatches: AsyncSequence, Sendable {
    /// Some addresses, and the families that they complete.
    public typealias Element = AddressBatch
    /// The error that iterating throws.
    public typealias Failure = ResolverError

    let resolver: any Resolver
    let request: AddressRequest

    /// Starts the lookup.
    public func makeAsyncIterator() -> Iterator {
        Iterator(queue: AddressBatchQueue(resolver: resolver, request: request))
    }

    /// An iterator over the batches of one lookup. Releasing it cancels the lookup.
    public struct Iterator: AsyncIteratorProtocol {
        let queue: AddressBatchQueue

        /// Returns the next batch; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ResolverError) -> AddressBatch? {
            try await queue.next()
        }

        /// Returns the next batch; nil at the end.
        public mutating func next() async throws(ResolverError) -> AddressBatch? {
            try await queue.next()
        }
    }
}
