internal import EventLoops

/// The addresses of a host as they arrive, from ``Resolver/addressBatches(of:until:)``.
///
/// The sequence ends after the last batch, and throws ``ResolverError`` if no address was found. Batches are buffered
/// until they are read; the resolvers of this module send one for each address family. Cancelling the task makes the
/// iteration throw ``ResolverError/Code-swift.struct/cancelled``.
public struct AddressBatches: AsyncSequence, Sendable {
    let resolver: any Resolver
    let request: AddressRequest

    /// Starts the lookup.
    public func makeAsyncIterator() -> Iterator {
        Iterator(resolver: resolver, request: request)
    }

    /// An iterator over the batches of one lookup. Releasing it cancels the lookup.
    public struct Iterator: AsyncIteratorProtocol {
        private let batches = Mailbox<AddressBatch>(limit: .max)
        /// The error of the lookup, or nil if it succeeded. Provided before ``batches`` is finished.
        private let failure = OneShot<ResolverError?>()
        private let lookup: Subscription
        private let name: String

        fileprivate init(resolver: any Resolver, request: AddressRequest) {
            name = request.name.description
            let token = resolver.start(request) { [batches, failure] event in
                switch event {
                case .batch(let batch):
                    batches.put(batch)
                case .finished(let error):
                    failure.provide(error)
                    batches.finish()
                }
            }
            lookup = Subscription { token.cancel() }
        }

        /// As ``next(isolation:)``.
        public mutating func next() async throws(ResolverError) -> AddressBatch? { try await next(isolation: nil) }

        /// Returns the next batch; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ResolverError) -> AddressBatch? {
            try await nextBatch()
        }

        private nonisolated(nonsending) func nextBatch() async throws(ResolverError) -> AddressBatch? {
            do throws(WaitError) {
                // A cancelled task throws at once, even if batches have arrived.
                guard !Task.isCancelled else { throw .cancelled }
                if let batch = try await batches.next() { return batch }
            } catch {
                let error = ResolverError(wait: error, name: name)
                lookup.cancel()
                failure.provide(error)
                batches.finish()
                throw error
            }
            if let error = failure.value ?? nil { throw error }
            return nil
        }
    }
}
