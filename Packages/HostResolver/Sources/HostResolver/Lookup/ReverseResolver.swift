/// A type that finds the names of addresses and the canonical names of hosts.
///
/// ```swift
/// let names = try await SystemResolver.shared.names(of: .address(IPAddress("192.0.2.7")!))
/// ```
public protocol ReverseResolver: Sendable {
    /// Starts a lookup and returns at once. `handler` is called once, by the rules of ``Resolver/start(_:_:)``.
    func startNames(
        of subject: NameSubject, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken
}

extension ReverseResolver {
    /// Finds the names of `subject`, the canonical name first.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task is cancelled.
    public nonisolated(nonsending) func names(
        of subject: NameSubject, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [String] {
        try await waitForLookup(name: subject.description) { startNames(of: subject, until: deadline, $0) }
    }

    /// Finds the names of `subject`, the canonical name first, and blocks the calling thread.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func names(
        of subject: NameSubject, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> [String] {
        let answer = BlockingAnswer<[String]>()
        _ = startNames(of: subject, until: deadline, answer.put)
        return try answer.wait()
    }
}
