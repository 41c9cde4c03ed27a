import ServiceDiscovery

/// Makes a service's name and TXT record, which needs no network, and prints what an error says.
@main struct Consumer {
    static func main() throws {
        let service = try ServiceInstance(name: "a.b", type: ServiceType("_http._tcp"))
        let record = TXTRecord(wire: try TXTRecord(["path": "/"]).wireForm)
        do {
            _ = try ServiceType("http")
        } catch {
            print("\(service) has \(record), and: \(error)")
        }
    }
}
