internal import EventLoops

/// A host, and what is known of it: addresses, names, reachability. Replaces `CFHost`.
///
/// ```swift
/// let host = HostLookup(name: "www.example.org")
/// let addresses = try await host.addresses(until: .now + .seconds(5))
///
/// host.schedule(on: .queue(.main))
/// host.setClient { host, kind, error in print(kind, error ?? "found", host.names.value ?? []) }
/// try host.start(.names)                     // the client is told on the main queue
/// ```
///
/// Each kind is looked up when it is asked for: asynchronously with ``start(_:until:)``, with `await`, or while the thread waits.
/// One look-up runs at a time; a second is refused with ``ResolverError/Code-swift.struct/busy``. What was found stays, to be
/// fetched from any thread, until the kind is looked up again. Letting the object go ends a look-up that runs.
public final class HostLookup: Sendable {
    /// What can be looked up. Replaces `CFHostInfoType`, with its numbers.
    public enum Kind: Int, Hashable, Sendable, CaseIterable {
        /// Addresses. Replaces `kCFHostAddresses`.
        case addresses = 0
        /// Names. Replaces `kCFHostNames`.
        case names = 1
        /// Reachability. Replaces `kCFHostReachability`.
        case reachability = 2
    }

    /// Told once at the end of each ``start(_:until:)``; the error is nil if something was found. Replaces
    /// `CFHostClientCallBack`.
    public typealias Client = @Sendable (_ host: HostLookup, _ kind: Kind, _ error: ResolverError?) -> Void

    /// What resolves for a host.
    public typealias AnyResolver = Resolver & ReverseResolver

    let core: HostLookupCore

    /// A host that is known by name. Nothing is looked up yet; a text that is no name fails when it is.
    ///
    /// Replaces `CFHostCreateWithName`.
    public convenience init(name: String, resolver: any AnyResolver = SystemResolver.shared) {
        self.init(core: HostLookupCore(HostRecord(name: name), resolver: resolver))
    }

    /// A host that is known by address.
    public convenience init(address: IPAddress, resolver: any AnyResolver = SystemResolver.shared) {
        self.init(core: HostLookupCore(HostRecord(address: address), resolver: resolver))
    }

    /// A host that is known by the bytes of a `sockaddr`. Replaces `CFHostCreateWithAddress`.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if they are no IPv4 or IPv6 address.
    public convenience init(
        sockaddr: [UInt8], resolver: any AnyResolver = SystemResolver.shared
    ) throws(ResolverError) {
        guard let address = try SocketAddress(sockaddr: sockaddr).ipAddress else {
            throw ResolverError(.invalidAddress)
        }
        self.init(address: address, resolver: resolver)
    }

    private init(core: HostLookupCore) {
        self.core = core
    }

    deinit { core.end() }

    /// A new host with everything found so far: no client, not scheduled, nothing running. Replaces `CFHostCreateCopy`.
    public func copy() -> HostLookup {
        HostLookup(core: HostLookupCore(core.record, resolver: core.resolver))
    }

    /// The addresses, with port 0, best first (RFC 6724). Replaces `CFHostGetAddressing`.
    public var addresses: Fetched<[SocketAddress]> {
        let fetched = core.record.addresses
        return Fetched(
            value: fetched.value?.map { .ip($0, port: 0) }, hasBeenResolved: fetched.hasBeenResolved)
    }

    /// The names, the main one first. Replaces `CFHostGetNames`.
    public var names: Fetched<[String]> { core.record.names }

    /// How the host can be reached. Replaces `CFHostGetReachability`.
    public var reachability: Fetched<ReachabilityFlags> { core.record.reachability }
}

// MARK: - With a client

extension HostLookup {
    /// Sets who is told; nil for nobody, which also ends a look-up begun with ``start(_:until:)``, silently.
    ///
    /// Replaces `CFHostSetClient`.
    public func setClient(_ client: Client?) {
        guard let client else { return core.setClient(nil) }
        core.setClient { [weak self] (kind: Kind, error: ResolverError?) in
            if let self { client(self, kind, error) }
        }
    }

    /// Says where the client is told. Of several targets, the one scheduled first. Replaces `CFHostScheduleWithRunLoop`.
    ///
    /// What ended before it was scheduled is told then.
    public func schedule(on target: any DeliveryTarget) {
        core.schedule(on: target)
    }

    /// Takes a target back. Replaces `CFHostUnscheduleFromRunLoop`.
    public func unschedule(from target: any DeliveryTarget) {
        core.unschedule(from: target)
    }

    /// Begins to look up, and returns at once. The client is told exactly once, also of a cancellation, never from inside
    /// this call. Replaces `CFHostStartInfoResolution`.
    ///
    /// The previous result of the kind is dropped.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/busy`` if a look-up runs, ``ResolverError/Code-swift.struct/invalidName`` or
    ///   another error about the name; the client is not told then.
    public func start(_ kind: Kind, until deadline: ContinuousClock.Instant? = nil) throws(ResolverError) {
        try core.start(kind, until: deadline)
    }

    /// Ends the look-up of `kind`, at once, whatever the system is doing; who waits gets
    /// ``ResolverError/Code-swift.struct/cancelled``. Without effect if none runs. Replaces `CFHostCancelInfoResolution`.
    public func cancel(_ kind: Kind) {
        core.cancel(kind)
    }
}

// MARK: - Waiting

extension HostLookup {
    /// Looks up the addresses.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task or the look-up is cancelled.
    public nonisolated(nonsending) func addresses(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [SocketAddress] {
        try await resolve(.addresses, until: deadline)
        return addresses.value ?? []
    }

    /// Looks up the names, the main one first.
    ///
    /// Without a deadline, the resolvers of this package give up after ``SystemResolver/reverseLimit``.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task or the look-up is cancelled.
    public nonisolated(nonsending) func names(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [String] {
        try await resolve(.names, until: deadline)
        return names.value ?? []
    }

    /// Looks up the reachability, and the addresses first where they are not known. Nothing is sent to the host.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task or the look-up is cancelled.
    public nonisolated(nonsending) func reachability(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> ReachabilityFlags {
        try await resolve(.reachability, until: deadline)
        return reachability.value ?? []
    }

    /// Looks up one kind, to be fetched afterwards.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task or the look-up is cancelled.
    public nonisolated(nonsending) func resolve(
        _ kind: Kind, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) {
        try await waitForLookup(name: core.record.description) { core.begin(kind, until: deadline, $0) }
    }

    /// Looks up one kind while the calling thread waits; ``cancel(_:)`` from another thread wakes it.
    ///
    /// Replaces `CFHostStartInfoResolution` without a client.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func resolve(_ kind: Kind, until deadline: ContinuousClock.Instant? = nil) throws(ResolverError) {
        let answer = BlockingAnswer<Void>()
        _ = core.begin(kind, until: deadline, answer.put)
        try answer.wait()
    }
}
