internal import EventLoops

/// One publication of an engine, and the names that it has got.
final class PublicationRunner: DiscoveryFeedSource, DiscoverySink {
    private struct State {
        var operation: Int?
        var names: [ServiceInstance] = []
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
        let operation = try backend.publish(advertisement, sink: self)
        state.withLock { $0.operation = operation }
    }

    deinit { stop() }

    var isOver: Bool { state.withLock { $0.isOver } }
    var current: ServiceInstance? { state.withLock { $0.current } }

    func take() throws(ServiceDiscoveryError) -> ServiceInstance? {
        let (name, error) = state.withLock { state -> (ServiceInstance?, ServiceDiscoveryError?) in
            state.names.isEmpty ? (nil, state.error) : (state.names.removeFirst(), nil)
        }
        if name == nil, let error { throw error }
        return name
    }

    func deliver(to signal: any DeliverySignal) {
        state.withLock { $0.bell = signal }
        signal.signal()
    }

    func update(_ record: TXTRecord) throws(ServiceDiscoveryError) {
        guard let operation = state.withLock({ $0.isOver ? nil : $0.operation }) else {
            throw ServiceDiscoveryError(.invalidated)
        }
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
                state.current = instance
                // Nobody need read them: the newest counts.
                state.names = [instance]
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
