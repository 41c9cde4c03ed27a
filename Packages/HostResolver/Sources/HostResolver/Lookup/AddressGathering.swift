internal import EventLoops

/// Puts the batches of one lookup together.
final class AddressGathering: Sendable {
    private let addresses = Locked<[IPAddress]>([])

    /// Takes an event; calls `finish` with everything at the last.
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
