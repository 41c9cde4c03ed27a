internal import EventLoops

/// A type that finds the addresses of hosts, such as ``SystemResolver``, ``WireResolver``, or a table in a test.
///
/// ```swift
/// let resolver: any Resolver = SystemResolver.shared
/// let addresses = try await resolver.addresses(of: "www.example.org", until: .now + .seconds(5))
/// for try await batch in resolver.addressBatches(of: try HostName("www.example.org")) { print(batch) }
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
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
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
        try await waitForLookup(name: request.name.description) { startAddresses(request, $0) }
    }

    /// Finds all addresses of `name`, best first, and blocks the calling thread.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func addresses(
        of name: HostName, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> [IPAddress] {
        try blockingAddresses(AddressRequest(name, until: deadline))
    }

    /// Finds all addresses of `name`, best first, and blocks the calling thread.
    ///
    /// - Throws: ``ResolverError``, also if the text is not a valid host name.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
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
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func blockingAddresses(_ request: AddressRequest) throws(ResolverError) -> [IPAddress] {
        try waitForLookup(name: request.name.description) { startAddresses(request, $0) }
    }

    /// Starts a lookup of all addresses. `handler` is called once, by the rules of ``start(_:_:)``.
    func startAddresses(
        _ request: AddressRequest, _ handler: @escaping @Sendable (Result<[IPAddress], ResolverError>) -> Void
    ) -> LookupToken {
        let found = Locked(UniqueAddresses())
        return start(request) { event in
            switch event {
            case .batch(let batch):
                found.withLock { $0.append(batch.addresses) }
            case .finished(let error):
                handler(error.map(Result.failure) ?? .success(found.withLock { $0.all }))
            }
        }
    }
}

/// A type that finds the names of addresses and the canonical names of hosts.
///
/// ```swift
/// let names = try await SystemResolver.shared.names(of: .address(IPAddress("192.0.2.7")!))
/// ```
public protocol ReverseResolver: Sendable {
    /// Starts a lookup and returns at once. `handler` is called once, by the rules of ``Resolver/start(_:_:)``.
    func startNames(
        of subject: NameQuery, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken
}

extension ReverseResolver {
    /// Finds the names of `subject`, the canonical name first.
    ///
    /// - Throws: ``ResolverError``; ``ResolverError/Code-swift.struct/cancelled`` if the task is cancelled.
    public nonisolated(nonsending) func names(
        of subject: NameQuery, until deadline: ContinuousClock.Instant? = nil
    ) async throws(ResolverError) -> [String] {
        try await waitForLookup(name: subject.description) { startNames(of: subject, until: deadline, $0) }
    }

    /// Finds the names of `subject`, the canonical name first, and blocks the calling thread.
    ///
    /// - Throws: ``ResolverError``.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func names(
        of subject: NameQuery, until deadline: ContinuousClock.Instant? = nil
    ) throws(ResolverError) -> [String] {
        try waitForLookup(name: subject.description) { startNames(of: subject, until: deadline, $0) }
    }
}

/// A request for a host's addresses.
public struct AddressRequest: Hashable, Sendable {
    /// How long a lookup of all addresses waits for the second family, once the first one has answered with addresses: 1 s.
    ///
    /// Some firewalls and home routers drop the queries for IPv6 addresses. Without this limit, every lookup behind one would last until the
    /// resolver gives up, which takes the C library 15 s.
    @_spi(Packages) public static let secondFamilyTime: Duration = .seconds(1)

    /// The host to look up.
    public var name: HostName
    /// The requested address families.
    public var families: AddressFamilies
    /// The instant at which the lookup fails with a timeout; nil for the resolver's own limits.
    public var deadline: ContinuousClock.Instant?
    /// Whether to wait for the slower family, or to deliver each family at once.
    public var delivery: Delivery

    /// Creates a request; by default for both families, in one batch, without a deadline.
    public init(
        _ name: HostName, families: AddressFamilies = .all, until deadline: ContinuousClock.Instant? = nil,
        delivery: Delivery = .whenComplete
    ) {
        self.name = name
        self.families = families
        self.deadline = deadline
        self.delivery = delivery
    }

    /// The ways to deliver addresses.
    public enum Delivery: Hashable, Sendable {
        /// One batch with all addresses, in the order of RFC 6724. It lacks a family that has not answered within 1 s
        /// of the first.
        case whenComplete
        /// One batch as soon as each family has answered (RFC 8305 §3), each sorted in itself. The caller decides how long to wait for the
        /// second one.
        case asTheyCome
    }
}

extension AddressRequest {
    /// The answer to a request that needs no lookup, because the host is an address or no family is requested;
    /// otherwise nil.
    var immediateAnswer: Result<[IPAddress], ResolverError>? {
        guard !families.isEmpty else { return .failure(ResolverError(.noData, name: name.description)) }
        guard let address = name.address else { return nil }
        return families.contains(address.family)
            ? .success([address]) : .failure(ResolverError(.noData, name: name.description))
    }
}

/// An event of a lookup in progress.
public enum AddressEvent: Hashable, Sendable {
    /// More addresses arrived.
    case batch(AddressBatch)
    /// The lookup ended; this is its last event, delivered exactly once. The error is nil if at least one address was
    /// found.
    case finished(ResolverError?)
}

/// Some of a host's addresses, from one or both families.
public struct AddressBatch: Hashable, Sendable {
    /// The addresses, without duplicates, best first (RFC 6724 §6). Empty if the families have no addresses.
    public var addresses: [IPAddress]
    /// The families that this batch completes: no later batch has addresses of these.
    public var families: AddressFamilies

    /// Creates a batch.
    public init(_ addresses: [IPAddress], families: AddressFamilies) {
        self.addresses = addresses
        self.families = families
    }
}

/// The subject of a lookup of names.
public enum NameQuery: Hashable, Sendable {
    /// An address: a reverse lookup finds its names.
    case address(IPAddress)
    /// A host name: the lookup finds its canonical name.
    case host(HostName)
}

extension NameQuery: CustomStringConvertible {
    /// The address or the name as text.
    public var description: String {
        switch self {
        case .address(let address): address.description
        case .host(let name): name.description
        }
    }
}

/// A handle of a running lookup, to cancel it.
public struct LookupToken: Sendable {
    private let end: @Sendable () -> Bool

    /// Creates a token. `cancel` must return true if it ended the lookup, and must not block.
    public init(cancel: @escaping @Sendable () -> Bool) {
        end = cancel
    }

    /// Cancels the lookup at once, even if a system call is blocked.
    ///
    /// - Returns: True if the call ended the lookup: no `finished` follows, and at most one batch, if its delivery is
    ///   in progress. False if the lookup had already ended: `finished` was delivered, or its delivery is in progress.
    @discardableResult
    public func cancel() -> Bool {
        end()
    }
}

// MARK: - Waiting for a lookup

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
@available(*, noasync, message: "blocks the thread; write 'await' in an async function")
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
