/// A type that finds the addresses of hosts, such as ``SystemResolver``, ``WireResolver``, or a table in a test.
///
/// ```swift
/// let resolver: any Resolver = SystemResolver.shared
/// let addresses = try await resolver.addresses(of: "www.example.org", until: .now + .seconds(5))
/// for try await batch in resolver.addressBatches(of: try HostName("www.example.org")) { … }
/// ```
///
/// A conforming type implements ``start(_:_:)`` alone. The asynchronous, blocking and streaming forms are built on it.
public protocol Resolver: Sendable {
    /// Starts a lookup and returns at once.
    ///
    /// `handler` gets any number of batches, then `finished` exactly once, unless the token's `cancel()` returned true.
    /// It is never called from inside this call, not even for a numeric name. Its calls do not overlap, happen on a
    /// thread of the resolver's choice, and must not block. At the request's deadline, the lookup fails with
    /// ``ResolverError/Code-swift.struct/timedOut``.
    func start(_ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void) -> LookupToken

    /// Looks up and blocks the calling thread; returns all addresses, best first.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    func blockingAddresses(_ request: AddressRequest) throws(ResolverError) -> [IPAddress]
}

extension Resolver {
    /// Finds all addresses of `name`, best first.
    ///
    /// Cancelling the task, or the deadline, ends the wait at once. Nothing remains behind, except one of the bounded
    /// threads of ``SystemResolver`` if the C library's call does not return.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task is cancelled.
    public nonisolated(nonsending) func addresses(
        of name: HostName, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [IPAddress] {
        try await addresses(AddressRequest(name, until: deadline))
    }

    /// Finds all addresses of `name`, best first, like the function that takes a ``HostName``.
    ///
    /// - Throws: ``ResolverError``, also if the text is not a valid host name.
    public nonisolated(nonsending) func addresses(
        of name: String, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [IPAddress] {
        try await addresses(AddressRequest(HostName(name), until: deadline))
    }

    /// Performs `request` and returns all addresses.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task is cancelled.
    public nonisolated(nonsending) func addresses(_ request: AddressRequest) async throws(ResolverError) -> [IPAddress]
    {
        let gathering = AddressGathering()
        return try await waitForLookup(name: request.name.description) { finish in
            start(request) { event in gathering.receive(event, finish) }
        }
    }

    /// Finds all addresses of `name`, best first, and blocks the calling thread.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func addresses(
        of name: HostName, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> [IPAddress] {
        try blockingAddresses(AddressRequest(name, until: deadline))
    }

    /// Finds all addresses of `name`, best first, and blocks the calling thread.
    ///
    /// - Throws: ``ResolverError``, also if the text is not a valid host name.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func addresses(
        of name: String, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> [IPAddress] {
        try blockingAddresses(AddressRequest(HostName(name), until: deadline))
    }

    /// Finds addresses and delivers them as they arrive: the faster family does not wait for the slower one.
    ///
    /// The lookup starts with the iteration and ends with it.
    public func addressBatches(
        of name: HostName, until deadline: ContinuousClock.Instant? = nil
    ) -> AddressBatches {
        AddressBatches(resolver: self, request: AddressRequest(name, until: deadline, delivery: .asTheyCome))
    }

    /// The default implementation, built on ``start(_:_:)``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func blockingAddresses(_ request: AddressRequest) throws(ResolverError) -> [IPAddress] {
        let gathering = AddressGathering()
        let answer = BlockingAnswer<[IPAddress]>()
        _ = start(request) { event in gathering.receive(event, answer.put) }
        return try answer.wait()
    }
}
