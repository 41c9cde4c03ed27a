import HostResolver
import Testing

@testable import ServiceDiscovery

@Suite struct DaemonRecordsTests {
    private let name = DNSName("_http._tcp.local")!
    private let data = DNSRecordData.ptr(DNSName("a._http._tcp.local")!)

    @Test func foundWithTheFirstAndGoneWithTheLast() {
        var records = DaemonRecords(of: name)
        let record = DNSRecord(name, timeToLive: 0, data)
        // Avahi tells each once for each family.
        #expect(records.receive(data, interface: 1, isAdded: true) == .added(record, interface: 1))
        #expect(records.receive(data, interface: 1, isAdded: true) == nil)
        #expect(records.receive(data, interface: 2, isAdded: true) == .added(record, interface: 2))
        #expect(records.known == [.added(record, interface: 1), .added(record, interface: 2)])
        #expect(records.receive(data, interface: 1, isAdded: false) == nil)
        #expect(records.receive(data, interface: 1, isAdded: false) == .removed(record, interface: 1))
        #expect(records.receive(data, interface: 1, isAdded: false) == nil)
        #expect(records.known == [.added(record, interface: 2)])
    }

    @Test func readsDataOnItsOwn() throws {
        #expect(DNSRecordData(wire: [10, 0, 0, 1], type: .a) == .a(IPv4Address(10, 0, 0, 1)))
        let target = try #require(DNSName("h.local"))
        let srv: [UInt8] = [0, 0, 0, 0, 0, 80] + target.wireForm
        #expect(DNSRecordData(wire: srv, type: .srv) == .srv(priority: 0, weight: 0, port: 80, target: target))
        #expect(DNSRecordData(wire: [3, 97, 61, 98, 0], type: .txt) == .txt([[97, 61, 98], []]))
    }

    @Test func refusesDamagedData() {
        for count in 0..<4 { #expect(DNSRecordData(wire: Array(repeating: 1, count: count), type: .a) == nil) }
        #expect(DNSRecordData(wire: [0, 0, 0], type: .srv) == nil)
        // A pointer to itself, and one to what stands before.
        #expect(DNSRecordData(wire: [0xC0, 23], type: .ptr) == nil)
        #expect(DNSRecordData(wire: [9, 97], type: .txt) == nil)
        #expect(DNSRecordData(wire: Array(repeating: 0, count: 65_536), type: .txt) == nil)
    }
}
