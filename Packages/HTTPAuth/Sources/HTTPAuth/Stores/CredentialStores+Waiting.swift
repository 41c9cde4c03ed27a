/// Asynchronous variants: stores that may block are called on another thread.
extension CredentialStores {
    /// Returns the credential from the first store that has one.
    ///
    /// - Throws: The error of the first failing store if no store has the credential; ``HTTPAuthError/Code/cancelled``
    ///   if the task is cancelled. The store may continue for a while.
    public func find(_ query: CredentialQuery) async throws(HTTPAuthError) -> Credential? {
        try await runBlocking(query.space.role) { () throws(HTTPAuthError) in try find(query) }
    }

    /// Saves a credential to the first writable store or, with `persistently`, to the first persistent one.
    ///
    /// - Throws: ``HTTPAuthError/Code/storeReadOnly`` if there is no such store; ``HTTPAuthError/Code/cancelled`` if
    ///   the task is cancelled, though the credential may have been saved.
    public func save(_ credential: Credential, persistently: Bool = false) async throws(HTTPAuthError) {
        try await runBlocking(credential.space.role) { () throws(HTTPAuthError) in
            try save(credential, persistently: persistently)
        }
    }

    /// The time limit for stores without their own. It is long, because a store may wait for the user.
    private static let fallbackLimit = Duration.seconds(600)
    private static let threads = WorkThreads(limit: 4)

    private func runBlocking<Value: Sendable>(
        _ role: ProtectionSpace.Role, _ body: @escaping @Sendable () throws(HTTPAuthError) -> Value
    ) async throws(HTTPAuthError) -> Value {
        guard self[role].contains(where: \.mayBlock) else { return try body() }
        let outcome = Locked<Result<Value, HTTPAuthError>>(.failure(HTTPAuthError(.cancelled)))
        let work = BlockingWork {
            let result = Result { () throws(HTTPAuthError) in try body() }
            outcome.withLock { $0 = result }
            return .success(.init(bytes: [], isComplete: true))
        }
        _ = try await Self.threads.outcome(of: work, limit: Self.fallbackLimit).get()
        return try outcome.withLock { $0 }.get()
    }
}
