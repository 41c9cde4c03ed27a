internal import EventLoops

/// One publication of an engine, and the names that it has got.
final class PublicationRunner: DiscoveryFeedSource, DiscoverySink {
    private struct State {
        var operation: Int?
        /// The newest name, until it is taken: it need not be read, and the newest counts.
        var name: ServiceInstance?
        var current: ServiceInstance?
        var error: ServiceDiscoveryError?
        var isOver = false
        var bell: (any DeliverySignal)?
    }

    let point = WaitPoint()
    private let backend: any DiscoveryBackend
    private let state = Locked(State())

    init(_ advertisement: ServiceAdvertisement, backend: any DiscoveryBackend) throws(ServiceDiscoveryError) {
        self.backend = backend
        // Here for all engines: none can send a larger record, and a daemon's library may cut its length off.
        try advertisement.record.checkPublishedSize()
        let operation = try backend.publish(advertisement, sink: self)
        state.withLock { $0.operation = operation }
    }

    deinit { stop() }

    var current: ServiceInstance? { state.withLock { $0.current } }

    func take() throws(ServiceDiscoveryError) -> DiscoveryStep<ServiceInstance> {
        try state.withLock { state -> Result<DiscoveryStep<ServiceInstance>, ServiceDiscoveryError> in
            if let name = state.name.take() { return .success(.element(name)) }
            if let error = state.error { return .failure(error) }
            return .success(state.isOver ? .over : .nothing)
        }.get()
    }

    func deliver(to signal: any DeliverySignal) {
        state.withLock { $0.bell = signal }
        signal.signal()
    }

    func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        guard let operation = state.withLock({ $0.isOver ? nil : $0.operation }) else {
            throw ServiceDiscoveryError(.invalidated)
        }
        try record.checkPublishedSize()
        try backend.update(operation, record: record)
    }

    func stop() {
        let operation = state.withLock { state -> Int? in
            state.isOver = true
            state.current = nil
            return state.operation.take()
        }
        if let operation { backend.end(operation) }
        ring()
    }

    func put(_ event: DiscoveryEvent, of operation: Int) {
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

    func ring() {
        point.signal(.readable)
        state.withLock { $0.bell }?.signal()
    }
}
