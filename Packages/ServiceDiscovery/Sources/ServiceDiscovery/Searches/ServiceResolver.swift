internal import DNSWire
public import HostResolver

/// Resolves a service to its host, port, addresses and TXT record.
///
/// ```swift
/// let resolver = ServiceResolver(service)
/// let location = try await resolver.resolve(until: .now + .seconds(5))
/// print(location.hostName, location.port, location.addresses)
/// ```
///
/// Iteration continues after the first result and returns each change, such as another address or port. Replaces
/// `CFNetServiceResolveWithTimeout`.
public struct ServiceResolver: AsyncSequence, Sendable {
    /// The service to resolve.
    public let service: ServiceInstance
    /// The only interface to use in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search. It begins with ``start()``, with `resolve(until:)`, or with iteration.
    public init(_ service: ServiceInstance, interface: String? = nil, engine: DiscoveryEngine = .automatic) {
        self.service = service
        self.interface = interface
        self.engine = engine
    }

    /// How long `resolve(until:)` waits for further addresses after the first one.
    static let gatheringTime: Duration = .milliseconds(250)

    /// The location of the service: the first answer with an address, and everything that arrives within the next
    /// quarter of a second, because IPv4 and IPv6 addresses may arrive one after the other.
    ///
    /// - Parameter deadline: when to stop waiting; nil to wait without limit (a service that does not exist never
    ///   answers).
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/timedOut`` at the deadline,
    ///   ``ServiceDiscoveryError/Code-swift.struct/notFound`` if the name servers of its domain do not know the
    ///   service, ``ServiceDiscoveryError/Code-swift.struct/cancelled`` when the task is cancelled.
    public nonisolated(nonsending) func resolve(
        until deadline: ContinuousClock.Instant?
    ) async throws(ServiceDiscoveryError) -> ResolvedService {
        let feed = try start()
        defer { feed.stop() }
        var location = try found(await feed.next(until: deadline))
        let end = Swift.min(deadline ?? .now + Self.gatheringTime, .now + Self.gatheringTime)
        do throws(ServiceDiscoveryError) {
            while !location.isComplete, let update = try await feed.next(until: end) { location = update }
        } catch {
            if error.code != .timedOut { throw error }
        }
        return location
    }

    /// The location of the service; blocks the calling thread. Otherwise like the `async` method.
    @available(*, noasync, message: "blocks the thread; use await")
    public func resolve(until deadline: ContinuousClock.Instant?) throws(ServiceDiscoveryError) -> ResolvedService {
        let feed = try start()
        defer { feed.stop() }
        var location = try found(feed.next(until: deadline))
        let end = Swift.min(deadline ?? .now + Self.gatheringTime, .now + Self.gatheringTime)
        do throws(ServiceDiscoveryError) {
            while !location.isComplete, let update = try feed.next(until: end) { location = update }
        } catch {
            if error.code != .timedOut { throw error }
        }
        return location
    }

    /// Begins the search.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<ResolvedService> {
        return DiscoveryFeed(
            try SearchDriver(ResolutionMachine(service), engine: engine.engine, interface: interface))
    }

    /// Begins the search when the first element is requested.
    public func makeAsyncIterator() -> DiscoveryIterator<ResolvedService> {
        DiscoveryIterator(start)
    }

    /// Reports that the service did not answer a connection attempt. The engine queries it again, and browsers remove
    /// it within ten seconds unless it answers (RFC 6762 §10.4).
    ///
    /// Names with dots are supported, unlike in `DNSServiceReconfirmRecord`, which this replaces.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/unsupported`` if the engine does not support this.
    public func reconfirm() throws(ServiceDiscoveryError) {
        guard let name = DNSName(labels: service.type.labels + service.domain.name.labels) else { return }
        try engine.engine.reconfirm(RecordKey(name, .ptr), .ptr(service.fullName), interface: interface)
    }

    private func found(_ resolved: ResolvedService?) throws(ServiceDiscoveryError) -> ResolvedService {
        guard let resolved else { throw ServiceDiscoveryError(.cancelled, name: service.description) }
        return resolved
    }
}

/// The host, port, addresses and TXT record of a service, as far as they are known.
///
/// Replaces the results of `CFNetServiceGetTargetHost`, `…GetPortNumber`, `…GetAddressing` and `…GetTXTData`.
public struct ResolvedService: Hashable, Sendable {
    /// The service that was resolved.
    public let service: ServiceInstance
    /// The host's name, with the final dot. Use the name rather than an address to connect and to display.
    public let hostName: String
    /// The port, the same for all addresses.
    public let port: UInt16
    /// The IPv4 and IPv6 addresses with the port; link-local ones with the interface as zone. Try one after the other,
    /// and resolve again for each use.
    public let addresses: [SocketAddress]
    /// The service's TXT record; empty until it is known.
    public let record: TXTRecord
    /// Whether the addresses of both families and the TXT record are known, or known not to exist.
    public let isComplete: Bool
}
