internal import Glibc

/// Finds out where a service is: host, port, addresses, TXT record.
///
/// ```swift
/// let resolver = ServiceResolver(service)
/// let place = try await resolver.resolve(until: .now + .seconds(5))
/// print(place.hostName, place.port, place.addresses)
/// ```
///
/// Iterating goes on after the first answer and gives each change: another address, another port. Replaces
/// `CFNetServiceResolveWithTimeout`.
public struct ServiceResolver: AsyncSequence, Sendable {
    /// What is known by then.
    public typealias Element = ResolvedService
    /// What iterating throws.
    public typealias Failure = ServiceDiscoveryError

    /// Which service.
    public let service: ServiceInstance
    /// The only interface looked at in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search; it begins with ``start()``, with `resolve(until:)`, or with iterating.
    public init(_ service: ServiceInstance, interface: String? = nil, engine: DiscoveryEngine = .automatic) {
        self.service = service
        self.interface = interface
        self.engine = engine
    }

    /// How long `resolve(until:)` waits for the other addresses once it knows one.
    static let grace: Duration = .milliseconds(250)

    /// Where the service is: the first answer with an address, and what else is told within a quarter of a second, as IPv4 and
    /// IPv6 may come one after the other.
    ///
    /// - Parameter deadline: when to give up; nil for never (a service that is not there does not answer).
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/timedOut`` at the deadline,
    ///   ``ServiceDiscoveryError/Code-swift.struct/notFound`` if its domain's name servers know of no such service,
    ///   ``ServiceDiscoveryError/Code-swift.struct/cancelled`` when the task is cancelled.
    public nonisolated(nonsending) func resolve(
        until deadline: ContinuousClock.Instant?
    ) async throws(ServiceDiscoveryError) -> ResolvedService {
        let feed = try start()
        defer { feed.stop() }
        var place = try found(await feed.next(until: deadline))
        let end = Swift.min(deadline ?? .now + Self.grace, .now + Self.grace)
        do throws(ServiceDiscoveryError) {
            while !place.isComplete, let news = try await feed.next(until: end) { place = news }
        } catch {
            if error.code != .timedOut { throw error }
        }
        return place
    }

    /// Where the service is; blocks the calling thread. As the `async` one.
    @available(*, noasync, message: "blocks the thread; use await")
    public func resolve(until deadline: ContinuousClock.Instant?) throws(ServiceDiscoveryError) -> ResolvedService {
        let feed = try start()
        defer { feed.stop() }
        var place = try found(feed.next(until: deadline))
        let end = Swift.min(deadline ?? .now + Self.grace, .now + Self.grace)
        do throws(ServiceDiscoveryError) {
            while !place.isComplete, let news = try feed.next(until: end) { place = news }
        } catch {
            if error.code != .timedOut { throw error }
        }
        return place
    }

    /// Begins a search.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<ResolvedService> {
        let machine = ResolutionMachine(service) { index in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { buffer in
                buffer.baseAddress.flatMap { if_indextoname(index, $0) }.map { String(cString: $0) }
            }
        }
        return DiscoveryFeed(try FeedRunner(machine, backend: engine.backend, interface: interface))
    }

    /// Begins a search.
    public func makeAsyncIterator() -> DiscoveryIterator<ResolvedService> {
        DiscoveryIterator(start)
    }

    /// Says that the service did not answer when it was connected to: the engine asks for it again, and it goes from all
    /// browsers within ten seconds unless somebody says that it is there (RFC 6762 §10.4).
    ///
    /// Replaces `DNSServiceReconfirmRecord`; names with dots are no problem.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/unsupported`` if the engine cannot do that.
    public func reconfirm() throws(ServiceDiscoveryError) {
        guard let name = DNSName(labels: service.type.labels + service.domain.name.labels) else { return }
        try engine.backend.reconfirm(RecordKey(name, .ptr), .ptr(service.fullName))
    }

    private func found(_ resolved: ResolvedService?) throws(ServiceDiscoveryError) -> ResolvedService {
        guard let resolved else { throw ServiceDiscoveryError(.cancelled, name: service.description) }
        return resolved
    }
}
