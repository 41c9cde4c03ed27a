/// Something that finds the addresses of hosts: the system's resolver, our own, a table, a script for tests.
///
/// ```swift
/// let resolver: any Resolver = SystemResolver.shared
/// let addresses = try await resolver.addresses(of: "www.example.org", until: .now + .seconds(5))
/// for try await batch in resolver.addressBatches(of: try HostName("www.example.org")) { … }
/// ```
///
/// A type conforms with ``start(_:_:)`` alone; waiting, blocking and streaming are made from it.
public protocol Resolver: Sendable {
    /// Begins a lookup and returns at once.
    ///
    /// `handler` gets any number of batches, then `finished` exactly once, unless the token's `cancel()` returned true. It is
    /// never called from inside this call, not even for a numeric name; the calls come one after another on a thread
    /// of the resolver's choice, and must not block it. The request's deadline ends the lookup with
    /// ``ResolverError/Code-swift.struct/timedOut``.
    func start(_ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void) -> LookupToken

    /// Looks up while the calling thread waits, and gives all addresses that came, best first.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    func blockingAddresses(_ request: AddressRequest) throws(ResolverError) -> [IPAddress]
}

extension Resolver {
    /// Finds all addresses of `name`, best first.
    ///
    /// Cancelling the task, or the deadline, ends it at once; nothing is left behind but, with a system's resolver that
    /// does not return, one of its bounded threads.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task is cancelled.
    public nonisolated(nonsending) func addresses(
        of name: HostName, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [IPAddress] {
        try await addresses(AddressRequest(name, until: deadline))
    }

    /// Finds all addresses of `name`, best first, as the function that takes a ``HostName`` does.
    ///
    /// - Throws: ``ResolverError``, also for a text that is no host's name.
    public nonisolated(nonsending) func addresses(
        of name: String, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [IPAddress] {
        try await addresses(AddressRequest(HostName(name), until: deadline))
    }

    /// Carries out `request` and gives all addresses that came.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task is cancelled.
    public nonisolated(nonsending) func addresses(_ request: AddressRequest) async throws(ResolverError) -> [IPAddress]
    {
        let gathering = AddressGathering()
        return try await waitForLookup(name: request.name.description) { finish in
            start(request) { event in gathering.receive(event, finish) }
        }
    }

    /// Finds all addresses of `name`, best first, while the calling thread waits.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func addresses(
        of name: HostName, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> [IPAddress] {
        try blockingAddresses(AddressRequest(name, until: deadline))
    }

    /// Finds all addresses of `name`, best first, while the calling thread waits.
    ///
    /// - Throws: ``ResolverError``, also for a text that is no host's name.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func addresses(
        of name: String, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> [IPAddress] {
        try blockingAddresses(AddressRequest(HostName(name), until: deadline))
    }

    /// Finds addresses and gives them as they come: the fast family does not wait for the slow one.
    ///
    /// The lookup begins with the iteration and ends with it.
    public func addressBatches(
        of name: HostName, until deadline: ContinuousClock.Instant? = nil
    ) -> AddressBatches {
        AddressBatches(resolver: self, request: AddressRequest(name, until: deadline, delivery: .asTheyCome))
    }

    /// The blocking form made from ``start(_:_:)``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func blockingAddresses(_ request: AddressRequest) throws(ResolverError) -> [IPAddress] {
        let gathering = AddressGathering()
        let answer = BlockingAnswer<[IPAddress]>()
        _ = start(request) { event in gathering.receive(event, answer.put) }
        return try answer.wait()
    }
}
