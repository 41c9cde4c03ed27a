internal import EventLoops

/// Starts a lookup with `begin` and suspends until its answer. Cancelling the task cancels the lookup.
///
/// `begin` gets a function to call with the answer, and returns the token that cancels the lookup.
nonisolated(nonsending) func waitForLookup<Value: Sendable>(
    name: String, _ begin: (@escaping @Sendable (Result<Value, ResolverError>) -> Void) -> LookupToken
) async throws(ResolverError) -> Value {
    // A cancelled task starts no lookup.
    guard !Task.isCancelled else { throw ResolverError(.cancelled, name: name) }
    let answer = OneShot<Result<Value, ResolverError>>()
    let token = begin { answer.provide($0) }
    let result: Result<Value, ResolverError>
    do throws(WaitError) {
        result = try await answer.value()
    } catch {
        token.cancel()
        throw ResolverError(wait: error, name: name)
    }
    return try result.get()
}

/// Starts a lookup with `begin` and blocks the calling thread until its answer.
@available(*, noasync, message: "blocks the thread; write 'await'")
func waitForLookup<Value: Sendable>(
    name: String, _ begin: (@escaping @Sendable (Result<Value, ResolverError>) -> Void) -> LookupToken
) throws(ResolverError) -> Value {
    let answer = OneShot<Result<Value, ResolverError>>()
    let token = begin { answer.provide($0) }
    let result: Result<Value, ResolverError>
    do throws(WaitError) {
        result = try answer.value()
    } catch {
        token.cancel()
        throw ResolverError(wait: error, name: name)
    }
    return try result.get()
}

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
