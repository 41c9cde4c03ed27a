internal import EventLoops

/// A host with its addresses, names and reachability, each looked up on request. Replaces `CFHost`.
///
/// ```swift
/// let host = HostLookup(name: "www.example.org")
/// let addresses = try await host.addresses(until: .now + .seconds(5))
///
/// host.schedule(on: .queue(.main))
/// host.setClient { host, kind, error in print(kind, error ?? "found", host.names.value ?? []) }
/// try host.start(.names)                     // calls the client on the main queue
/// ```
///
/// Each kind is looked up on request: with ``start(_:until:)`` and a callback, with `await`, or blocking the calling
/// thread. One lookup runs at a time; a second is rejected with ``ResolverError/Code-swift.struct/busy``. Results
/// remain available to all threads until the same kind is looked up again. Releasing the object cancels a running
/// lookup.
public final class HostLookup: Sendable {
    /// The kinds of lookups. Replaces `CFHostInfoType` and has its numbers.
    public enum Kind: Int, Hashable, Sendable, CaseIterable {
        /// Addresses. Replaces `kCFHostAddresses`.
        case addresses = 0
        /// Names. Replaces `kCFHostNames`.
        case names = 1
        /// Reachability. Replaces `kCFHostReachability`.
        case reachability = 2
    }

    /// A callback, called once at the end of each ``start(_:until:)``. The error is nil if the lookup succeeded.
    /// Replaces `CFHostClientCallBack`.
    public typealias Client = @Sendable (_ host: HostLookup, _ kind: Kind, _ error: ResolverError?) -> Void

    /// A resolver of both addresses and names.
    public typealias AnyResolver = Resolver & ReverseResolver

    private let core: HostLookupCore

    /// Creates a host from its name, and looks nothing up. An invalid name makes the lookups fail.
    ///
    /// Replaces `CFHostCreateWithName`.
    public convenience init(name: String, resolver: any AnyResolver = SystemResolver.shared) {
        self.init(core: HostLookupCore(HostRecord(name: name), resolver: resolver))
    }

    /// Creates a host from its address.
    public convenience init(address: IPAddress, resolver: any AnyResolver = SystemResolver.shared) {
        self.init(core: HostLookupCore(HostRecord(address: address), resolver: resolver))
    }

    /// Creates a host from the bytes of a `sockaddr`. Replaces `CFHostCreateWithAddress`.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/invalidAddress`` if the bytes are not an IPv4 or IPv6 address.
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

    /// Returns a new host with all results so far: without a client, not scheduled, no lookup running. Replaces
    /// `CFHostCreateCopy`.
    public func copy() -> HostLookup {
        HostLookup(core: HostLookupCore(core.record, resolver: core.resolver))
    }

    /// The addresses, with port 0, best first (RFC 6724). Replaces `CFHostGetAddressing`.
    public var addresses: Fetched<[SocketAddress]> {
        let fetched = core.record.addresses
        return Fetched(
            value: fetched.value?.map { .ip($0, port: 0) }, hasBeenResolved: fetched.hasBeenResolved)
    }

    /// The names, the canonical name first. Replaces `CFHostGetNames`.
    public var names: Fetched<[String]> { core.record.names }

    /// The reachability of the host. Replaces `CFHostGetReachability`.
    public var reachability: Fetched<ReachabilityFlags> { core.record.reachability }
}

// MARK: - With a callback

extension HostLookup {
    /// Sets the callback. Nil removes it, and silently cancels a lookup begun with ``start(_:until:)``.
    ///
    /// Replaces `CFHostSetClient`.
    public func setClient(_ client: Client?) {
        guard let client else { return core.setClient(nil) }
        core.setClient { [weak self] (kind: Kind, error: ResolverError?) in
            if let self { client(self, kind, error) }
        }
    }

    /// Adds a target on which to call the client. If there are several, each result is reported once, on one of them.
    ///
    /// If a lookup ended while there was no target, the client is called now. Replaces `CFHostScheduleWithRunLoop`.
    public func schedule(on target: any DeliveryTarget) {
        core.schedule(on: target)
    }

    /// Removes a target. Replaces `CFHostUnscheduleFromRunLoop`.
    public func unschedule(from target: any DeliveryTarget) {
        core.unschedule(from: target)
    }

    /// Starts a lookup and returns at once.
    ///
    /// The client is called exactly once, also after a cancellation, and never from inside this call. The previous
    /// result of the kind is dropped. Replaces `CFHostStartInfoResolution`.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/busy`` if a lookup is running,
    ///   ``ResolverError/Code-swift.struct/invalidName`` or another error about the name. The client is not called
    ///   then.
    public func start(_ kind: Kind, until deadline: ContinuousClock.Instant? = nil) throws(ResolverError) {
        try core.start(kind, until: deadline)
    }

    /// Cancels the lookup of `kind` at once, even if a system call is blocked.
    ///
    /// The caller that waits, or the client, gets ``ResolverError/Code-swift.struct/cancelled``. Without effect if no
    /// lookup of this kind is running. Replaces `CFHostCancelInfoResolution`.
    public func cancel(_ kind: Kind) {
        core.cancel(kind)
    }
}

// MARK: - Waiting

extension HostLookup {
    /// Looks up the addresses.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task or the lookup is
    ///   cancelled.
    public nonisolated(nonsending) func addresses(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [SocketAddress] {
        try await resolve(.addresses, until: deadline)
        return addresses.value ?? []
    }

    /// Looks up the names, the canonical name first.
    ///
    /// Without a deadline, the resolvers of this package give up after 5 s.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task or the lookup is
    ///   cancelled.
    public nonisolated(nonsending) func names(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [String] {
        try await resolve(.names, until: deadline)
        return names.value ?? []
    }

    /// Looks up the reachability, after the addresses if these are unknown. Sends nothing to the host.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task or the lookup is
    ///   cancelled.
    public nonisolated(nonsending) func reachability(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> ReachabilityFlags {
        try await resolve(.reachability, until: deadline)
        return reachability.value ?? []
    }

    /// Looks up one kind. The result is available from the property of that kind.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task or the lookup is
    ///   cancelled.
    public nonisolated(nonsending) func resolve(
        _ kind: Kind, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) {
        try await waitForLookup(name: core.record.description) { core.begin(kind, until: deadline, $0) }
    }

    /// Looks up one kind and blocks the calling thread. ``cancel(_:)`` from another thread ends the wait.
    ///
    /// Replaces `CFHostStartInfoResolution` without a client.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func resolve(_ kind: Kind, until deadline: ContinuousClock.Instant? = nil) throws(ResolverError) {
        try waitForLookup(name: core.record.description) { core.begin(kind, until: deadline, $0) }
    }
}

/// A ``HostLookup``'s result of one kind, and whether a lookup produced it.
public struct Fetched<Value: Sendable>: Sendable {
    /// The result; nil if there is none.
    public let value: Value?
    /// Whether the kind was looked up, with or without success. False for the name or address that the host was created
    /// with.
    public let hasBeenResolved: Bool

    /// Creates a fetched value.
    @_spi(Packages) public init(value: Value?, hasBeenResolved: Bool) {
        self.value = value
        self.hasBeenResolved = hasBeenResolved
    }
}

extension Fetched: Equatable where Value: Equatable {}
