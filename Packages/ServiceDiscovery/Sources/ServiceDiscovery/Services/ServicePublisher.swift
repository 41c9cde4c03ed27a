package import DNSWire
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
    private let driver: PublicationDriver<ServiceInstance>

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

    /// Replaces the further records of the service's name.
    package func update(_ records: [OwnRecord]) throws(ServiceDiscoveryError) {
        try driver.update(records, with: TXTRecord.maximumEntryLength)
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

/// Publishes a record of any name in `local` for as long as the publisher exists.
package final class RecordPublisher: Sendable {
    /// The record, when it is established. Throws the failure that ended the publication.
    package let announcements: DiscoveryFeed<DNSName>
    private let driver: PublicationDriver<DNSName>

    /// Begins to publish.
    package init(_ record: RecordAdvertisement, engine: DiscoveryEngine) throws(ServiceDiscoveryError) {
        driver = try PublicationDriver(record, engine: engine.engine)
        announcements = DiscoveryFeed(driver)
    }

    deinit { stop() }

    /// Announces a new record in place of the published one.
    package func update(_ record: OwnRecord) throws(ServiceDiscoveryError) {
        try driver.update([record])
    }

    /// Withdraws the record, with a goodbye. Idempotent.
    package func stop() {
        driver.stop()
    }
}

/// Drives one publication of an engine, and returns the names under which it becomes visible.
final class PublicationDriver<Name: Sendable>: FeedDriver {
    private struct State {
        /// The newest name that was not read yet; it replaces an older unread one.
        var name: Name?
        var current: Name?
        var error: ServiceDiscoveryError?
        var isOver = false
    }

    let condition = Condition()
    private let engine: any RecordEngine
    private let operation = OperationNumber.next()
    /// The name that an event makes visible, if it does.
    private let name: @Sendable (DiscoveryEvent) -> Name?
    private let state = Locked(State())

    private init(engine: any RecordEngine, name: @escaping @Sendable (DiscoveryEvent) -> Name?) {
        (self.engine, self.name) = (engine, name)
    }

    deinit { stop() }

    var current: Name? { state.withLock { $0.current } }

    func take() -> Result<Name?, ServiceDiscoveryError>? {
        state.withLock { state in
            if let name = state.name.take() { return .success(name) }
            if let error = state.error { return .failure(error) }
            return state.isOver ? .success(nil) : nil
        }
    }

    func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        if state.withLock({ $0.isOver }) { throw ServiceDiscoveryError(.invalidated) }
        try record.checkPublishedSize()
        try engine.update(operation, record: record)
    }

    /// Replaces records, which with `size` further bytes must fit into a packet.
    func update(_ records: [OwnRecord], with size: Int = 0) throws(ServiceDiscoveryError) {
        if state.withLock({ $0.isOver }) { throw ServiceDiscoveryError(.invalidated) }
        try records.checkPublishedSize(with: size)
        try engine.update(operation, records: records)
    }

    func stop() {
        state.withLock { state in
            state.isOver = true
            state.current = nil
        }
        engine.end(operation)
        notify()
    }

    func receive(_ event: DiscoveryEvent, of operation: Int) {
        let name = name(event)
        state.withLock { state in
            switch event {
            case .published, .announced:
                (state.current, state.name) = (name, name)
            case .hidden:
                (state.current, state.name) = (nil, nil)
            case .failed(let error):
                (state.error, state.current, state.isOver) = (error, nil, true)
            case .added, .removed, .absent, .unanswered: break
            }
        }
    }

    func notify() {
        condition.notify()
    }
}

extension PublicationDriver where Name == ServiceInstance {
    convenience init(_ advertisement: ServiceAdvertisement, engine: any RecordEngine) throws(ServiceDiscoveryError) {
        self.init(engine: engine) { if case .published(let instance) = $0 { instance } else { nil } }
        // Checked here for all engines: no engine can send a larger record, and a daemon's library may truncate its
        // length.
        try advertisement.furtherRecords.checkPublishedSize(with: advertisement.record.size)
        try engine.publish(advertisement, as: operation, sink: self)
    }
}

extension PublicationDriver where Name == DNSName {
    convenience init(_ record: RecordAdvertisement, engine: any RecordEngine) throws(ServiceDiscoveryError) {
        let name = record.name
        self.init(engine: engine) { if case .announced = $0 { name } else { nil } }
        try [record.record].checkPublishedSize()
        try engine.publish(record, as: operation, sink: self)
    }
}
