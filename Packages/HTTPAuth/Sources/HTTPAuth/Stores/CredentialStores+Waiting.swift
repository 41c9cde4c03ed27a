/// The same without holding up the thread that calls: stores that may block are asked on a thread of their own.
extension CredentialStores {
    /// What the first store that has it has. Throws what the first store threw if no other has it;
    /// ``HTTPAuthError/Code/cancelled`` if the task is cancelled, while the store may go on for a while.
    public func find(_ query: CredentialQuery) async throws(HTTPAuthError) -> Credential? {
        try await apart(query.space.role) { () throws(HTTPAuthError) in try find(query) }
    }

    /// Saves as the other one does. Throws ``HTTPAuthError/Code/cancelled`` if the task is cancelled; the credential may
    /// have been saved then.
    public func save(_ credential: Credential, persistently: Bool = false) async throws(HTTPAuthError) {
        try await apart(credential.space.role) { () throws(HTTPAuthError) in
            try save(credential, persistently: persistently)
        }
    }

    /// A person may be at the other end; the stores have limits of their own, and this one is for those that have none.
    private static let limit = Duration.seconds(600)
    private static let threads = WorkThreads(limit: 4)

    private func apart<Value: Sendable>(
        _ role: ProtectionSpace.Role, _ body: @escaping @Sendable () throws(HTTPAuthError) -> Value
    ) async throws(HTTPAuthError) -> Value {
        guard self[role].contains(where: \.mayBlock) else { return try body() }
        let outcome = Locked<Result<Value, HTTPAuthError>>(.failure(HTTPAuthError(.cancelled)))
        let work = BlockingWork {
            let result = Result { () throws(HTTPAuthError) in try body() }
            outcome.withLock { $0 = result }
            return .success(.init(bytes: [], isComplete: true))
        }
        _ = try await Self.threads.outcome(of: work, limit: Self.limit).get()
        return try outcome.withLock { $0 }.get()
    }
}
