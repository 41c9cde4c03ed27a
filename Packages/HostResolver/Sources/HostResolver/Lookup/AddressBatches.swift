/// The addresses of a host as they come, from ``Resolver/addressBatches(of:until:)``.
///
/// Ends after the last batch; throws ``ResolverError`` if nothing was found. A batch that nobody takes waits: there are
/// at most two. Cancelling the task makes the iteration throw ``ResolverError/Code-swift.struct/cancelled``.
public struct AddressBatches: AsyncSequence, Sendable {
    /// What comes: some addresses, and which families are done with them.
    public typealias Element = AddressBatch
    /// What iterating throws.
    public typealias Failure = ResolverError

    let resolver: any Resolver
    let request: AddressRequest

    /// Begins the lookup.
    public func makeAsyncIterator() -> Iterator {
        Iterator(queue: AddressBatchQueue(resolver: resolver, request: request))
    }

    /// One lookup; dropping it ends the lookup.
    public struct Iterator: AsyncIteratorProtocol {
        let queue: AddressBatchQueue

        /// The next batch; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ResolverError) -> AddressBatch? {
            try await queue.next()
        }

        /// The next batch; nil at the end.
        public mutating func next() async throws(ResolverError) -> AddressBatch? {
            try await queue.next()
        }
    }
}
