/// Publishes a service for as long as it lives.
///
/// ```swift
/// let publisher = try ServicePublisher(ServiceAdvertisement(name: "Status", type: type, port: 8080))
/// let service = try await publisher.published()       // its name may be another: "Status (2)"
/// try publisher.update(record)
/// publisher.stop()
/// ```
///
/// The service is visible until ``stop()`` or until the publisher is let go, both of which say goodbye before they return.
/// Keep the name that `published()` gives for the next start, so that people find the service again. Replaces
/// `CFNetServiceRegisterWithOptions`.
public final class ServicePublisher: Sendable {
    /// What was asked for.
    public let advertisement: ServiceAdvertisement
    /// The name each time that the service becomes visible: in the beginning, again if a later conflict brings another name
    /// (RFC 6762 §9), and again when a link comes back after the service was on none. Throws what stopped it.
    public let names: DiscoveryFeed<ServiceInstance>
    private let runner: PublicationRunner

    /// Begins to publish; the service is visible about a second later.
    ///
    /// - Throws: ``ServiceDiscoveryError`` for a name or type that cannot be published, if this engine publishes the name already
    ///   and renaming is not wanted, or if the engine cannot begin; ``ServiceDiscoveryError/Code-swift.struct/invalidRecord``
    ///   for a record over ``TXTRecord/largestPublishedSize``.
    public init(
        _ advertisement: ServiceAdvertisement, engine: DiscoveryEngine = .automatic
    ) throws(ServiceDiscoveryError) {
        self.advertisement = advertisement
        var named = advertisement
        if named.name.isEmpty { named.name = ComputerName.current }
        runner = try PublicationRunner(named, backend: engine.backend)
        names = DiscoveryFeed(runner)
    }

    deinit { stop() }

    /// The service as it is visible now; nil if it is not.
    public var current: ServiceInstance? { runner.current }

    /// Suspends until the service is visible, and gives it with the name it has got. At once if it is visible already.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/collision`` if the name is taken and renaming is not wanted,
    ///   ``ServiceDiscoveryError/Code-swift.struct/timedOut`` at the deadline (it goes on nevertheless),
    ///   ``ServiceDiscoveryError/Code-swift.struct/cancelled`` after ``stop()`` or when the task is cancelled.
    @discardableResult
    public nonisolated(nonsending) func published(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ServiceDiscoveryError) -> ServiceInstance {
        if let current { return current }
        return try visible(await names.next(until: deadline))
    }

    /// Blocks the calling thread until the service is visible. As the `async` one.
    @discardableResult
    @available(*, noasync, message: "blocks the thread; use await")
    public func published(
        until deadline: ContinuousClock.Instant? = nil
    ) throws(ServiceDiscoveryError) -> ServiceInstance {
        if let current { return current }
        return try visible(names.next(until: deadline))
    }

    /// Announces another TXT record. Replaces `CFNetServiceSetTXTData`.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidRecord`` for a record over ``TXTRecord/largestPublishedSize``,
    ///   or if the engine refuses it, after which the old record stands; ``ServiceDiscoveryError/Code-swift.struct/invalidated``
    ///   after ``stop()``.
    public func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        try runner.update(record)
    }

    /// Takes the service back: a goodbye has left when this returns. Idempotent. Replaces `CFNetServiceCancel`.
    public func stop() {
        runner.stop()
    }

    private func visible(_ instance: ServiceInstance?) throws(ServiceDiscoveryError) -> ServiceInstance {
        guard let instance = instance ?? current else { throw ServiceDiscoveryError(.cancelled) }
        return instance
    }
}
