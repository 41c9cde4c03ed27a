internal import EventLoops

/// Publishes a service for as long as the publisher exists.
///
/// ```swift
/// let publisher = try ServicePublisher(ServiceAdvertisement(name: "Status", type: type, port: 8080))
/// let service = try await publisher.published()       // its name may be another: "Status (2)"
/// try publisher.update(record)
/// publisher.stop()
/// ```
///
/// The service is visible until ``stop()`` or until the publisher is released; both send a goodbye before they return.
/// Save the name that `published()` returns and use it at the next start, so that users find the service again.
///
/// Replaces `CFNetServiceRegisterWithOptions`.
public final class ServicePublisher: Sendable {
    /// The service as it was described by the caller.
    public let advertisement: ServiceAdvertisement
    /// The service's name each time it becomes visible: first when it is published, again if a later conflict changes
    /// the name (RFC 6762 §9), and again when an interface comes up after all were down. Throws the failure that ended
    /// the publication.
    public let names: DiscoveryFeed<ServiceInstance>
    private let driver: PublicationDriver

    /// Begins to publish; the service is visible about a second later.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the name or type cannot be published, if this engine already publishes
    ///   the name and renaming is off, or if the engine cannot begin;
    ///   ``ServiceDiscoveryError/Code-swift.struct/invalidRecord`` if the TXT record is larger than
    ///   ``TXTRecord/maximumPublishedSize``.
    public init(
        _ advertisement: ServiceAdvertisement, engine: DiscoveryEngine = .automatic
    ) throws(ServiceDiscoveryError) {
        self.advertisement = advertisement
        var named = advertisement
        if named.name.isEmpty { named.name = ComputerName.current }
        driver = try PublicationDriver(named, engine: engine.engine)
        names = DiscoveryFeed(driver)
    }

    deinit { stop() }

    /// The service under its current name; nil while it is not visible.
    public var current: ServiceInstance? { driver.current }

    /// Suspends until the service is visible and returns it under its actual name. Returns at once if it is visible
    /// already.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/collision`` if the name is taken and renaming is off,
    ///   ``ServiceDiscoveryError/Code-swift.struct/timedOut`` at the deadline (publishing continues),
    ///   ``ServiceDiscoveryError/Code-swift.struct/cancelled`` after ``stop()`` or when the task is cancelled.
    @discardableResult
    public nonisolated(nonsending) func published(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(ServiceDiscoveryError) -> ServiceInstance {
        if let current { return current }
        return try visible(await names.next(until: deadline))
    }

    /// Blocks the calling thread until the service is visible. Otherwise like the `async` method.
    @discardableResult
    @available(*, noasync, message: "blocks the thread; use await")
    public func published(
        until deadline: ContinuousClock.Instant? = nil
    ) throws(ServiceDiscoveryError) -> ServiceInstance {
        if let current { return current }
        return try visible(names.next(until: deadline))
    }

    /// Announces a new TXT record. Replaces `CFNetServiceSetTXTData`.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidRecord`` if the record is larger than
    ///   ``TXTRecord/maximumPublishedSize``, or another error if the engine rejects it; the old record stays in effect.
    ///   ``ServiceDiscoveryError/Code-swift.struct/invalidated`` after ``stop()``. A daemon decides later, and its refusal ends the
    ///   publication with an error.
    public func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        try driver.update(record)
    }

    /// Withdraws the service; a goodbye is sent before this returns, or by the daemon soon afterwards. Idempotent. Replaces
    /// `CFNetServiceCancel`.
    public func stop() {
        driver.stop()
    }

    private func visible(_ instance: ServiceInstance?) throws(ServiceDiscoveryError) -> ServiceInstance {
        guard let instance = instance ?? current else { throw ServiceDiscoveryError(.cancelled) }
        return instance
    }
}

/// Drives one publication of an engine, and returns the names under which the service becomes visible.
final class PublicationDriver: FeedDriver {
    private struct State {
        var operation: Int?
        /// The newest name that was not read yet; it replaces an older unread one.
        var name: ServiceInstance?
        var current: ServiceInstance?
        var error: ServiceDiscoveryError?
        var isOver = false
    }

    let condition = Condition()
    private let engine: any RecordEngine
    private let state = Locked(State())

    init(_ advertisement: ServiceAdvertisement, engine: any RecordEngine) throws(ServiceDiscoveryError) {
        self.engine = engine
        // Checked here for all engines: no engine can send a larger record, and a daemon's library may truncate its
        // length.
        try advertisement.record.checkPublishedSize()
        let operation = try engine.publish(advertisement, sink: self)
        state.withLock { $0.operation = operation }
    }

    deinit { stop() }

    var current: ServiceInstance? { state.withLock { $0.current } }

    func take() -> Result<ServiceInstance?, ServiceDiscoveryError>? {
        state.withLock { state in
            if let name = state.name.take() { return .success(name) }
            if let error = state.error { return .failure(error) }
            return state.isOver ? .success(nil) : nil
        }
    }

    func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        guard let operation = state.withLock({ $0.isOver ? nil : $0.operation }) else {
            throw ServiceDiscoveryError(.invalidated)
        }
        try record.checkPublishedSize()
        try engine.update(operation, record: record)
    }

    func stop() {
        let operation = state.withLock { state -> Int? in
            state.isOver = true
            state.current = nil
            return state.operation.take()
        }
        if let operation { engine.end(operation) }
        notify()
    }

    func receive(_ event: DiscoveryEvent, of operation: Int) {
        state.withLock { state in
            switch event {
            case .published(let instance):
                (state.current, state.name) = (instance, instance)
            case .hidden:
                (state.current, state.name) = (nil, nil)
            case .failed(let error):
                (state.error, state.current, state.isOver) = (error, nil, true)
            case .added, .removed, .absent: break
            }
        }
    }

    func notify() {
        condition.notify()
    }
}
