import DNSWire

/// Encodes a query, decodes an answer, and prints what an error says.
@main struct Consumer {
    static func main() throws {
        let name = DNSName("_imaps._tcp.example.org")!
        let query = try DNSMessage(query: DNSQuestion(name, .srv), id: 4711).wireForm()
        let asked = try DNSMessage(wire: query).questions[0]
        var message = DNSMessage(header: DNSHeader(id: 4711))
        message.answers = [DNSRecord(name, timeToLive: 60, .a(IPv4Address("192.0.2.7")!))]
        let address = try DNSMessage(wire: message.wireForm()).answers[0].data.address
        do throws(DNSWireError) {
            _ = try DNSMessage(wire: [])
        } catch {
            print("\(asked.name) \(asked.type) \(query.count) bytes, \(address!), \(error)")
        }
    }
}
