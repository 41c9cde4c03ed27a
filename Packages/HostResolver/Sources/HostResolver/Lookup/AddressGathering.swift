internal import EventLoops

/// Collects the batches of one lookup.
final class AddressGathering: Sendable {
    private let addresses = Locked<[IPAddress]>([])

    /// Accepts an event. At the last event, calls `finish` with all addresses or the failure.
    func receive(_ event: AddressEvent, _ finish: (Result<[IPAddress], ResolverError>) -> Void) {
        switch event {
        case .batch(let batch):
            addresses.withLock { known in
                for address in batch.addresses where !known.contains(address) { known.append(address) }
            }
        case .finished(let error):
            finish(error.map(Result.failure) ?? .success(addresses.withLock { $0 }))
        }
    }
}
