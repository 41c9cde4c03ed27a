import Testing

@testable import ServiceDiscovery

@Suite struct ServicePublisherTests {
    private let engine = ScriptedEngine()

    /// A record of `size` bytes.
    private func record(of size: Int) throws -> TXTRecord {
        var record = TXTRecord()
        while record.size < size {
            let rest = size - (record.entries.isEmpty ? 0 : record.size)
            // Each entry has a length byte, three digits, `=` and a value. The last one fills the rest, which must hold
            // a key.
            let count = rest <= 256 ? rest : rest - 128 > 128 ? 128 : rest / 2
            try record.set("\(100 + record.entries.count)", to: [UInt8](repeating: 1, count: count - 5))
        }
        return record
    }

    @Test func refusesTooLargeRecords() throws {
        let (largest, larger) = (try record(of: TXTRecord.maximumPublishedSize), try record(of: 8_389))
        #expect(largest.size == 8_388 && larger.size == 8_389)
        var service = ServiceAdvertisement(name: "Large", type: try ServiceType("_http._tcp"), port: 80, record: larger)
        let error = #expect(throws: ServiceDiscoveryError.self) {
            try ServicePublisher(service, engine: DiscoveryEngine(engine))
        }
        #expect(error?.code == .invalidRecord && engine.calls.isEmpty)
        service.record = largest
        _ = try ServicePublisher(service, engine: DiscoveryEngine(engine))
        #expect(engine.advertisements.map(\.record) == [largest])
    }

    @Test func refusesTooLargeUpdates() throws {
        let service = ServiceAdvertisement(name: "Web", type: try ServiceType("_http._tcp"), port: 80)
        let publisher = try ServicePublisher(service, engine: DiscoveryEngine(engine))
        let larger = try record(of: 8_389)
        let error = #expect(throws: ServiceDiscoveryError.self) { try publisher.update(larger) }
        #expect(error?.code == .invalidRecord && engine.calls == ["publish Web"])
        try publisher.update(try TXTRecord(["k": "v"]))
        #expect(engine.calls == ["publish Web", "update k=v"])
        publisher.stop()
        #expect(throws: ServiceDiscoveryError(.invalidated)) { try publisher.update(larger) }
    }
}
