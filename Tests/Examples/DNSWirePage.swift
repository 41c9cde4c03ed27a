import DNSWire

enum DNSWirePage {
    static func exchange(_ query: [UInt8]) -> [UInt8] { query }
}
