import ServiceDiscovery

/// Many services of one type.
struct Crowd {
    let count: Int
    let type: ServiceType
    let engine: DiscoveryEngine

    /// Publishes all of them until the end of the time.
    func publish(until end: ContinuousClock.Instant) async throws {
        let publishers = try (1...count).map { number in
            let service = ServiceAdvertisement(
                name: "Service \(number)", type: type, port: UInt16(number), record: try TXTRecord(["n": "\(number)"]))
            return try ServicePublisher(service, engine: engine)
        }
        for publisher in publishers { try await publisher.published(until: end) }
        Probe.say("published \(count)")
        try await Task.sleep(until: end, clock: .continuous)
        withExtendedLifetime(publishers) {}
    }

    /// Finds all of them, and resolves all of them at the same time.
    func find(until end: ContinuousClock.Instant) async throws {
        let feed = try ServiceBrowser(type, engine: engine).start()
        var found: Set<ServiceInstance> = []
        while found.count < count, let change = try await feed.next(until: end) { found.insert(change.value) }
        Probe.say("found \(found.count)")
        let ports = try await withThrowingTaskGroup(of: UInt16.self) { group in
            for service in found {
                group.addTask { try await ServiceResolver(service, engine: engine).resolve(until: end).port }
            }
            return try await group.reduce(into: Set<UInt16>()) { $0.insert($1) }
        }
        Probe.say("resolved \(ports.count)")
    }
}
