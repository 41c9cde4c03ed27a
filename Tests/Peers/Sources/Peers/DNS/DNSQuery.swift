/// A query that a ``ScriptedNameServer`` has received.
public struct DNSQuery: Hashable, Sendable {
    /// The transport of a query.
    public enum Transport: Hashable, Sendable {
        /// A datagram.
        case udp
        /// A TCP stream, with the length before each message.
        case tcp
    }

    /// The transport of the query.
    public var transport: Transport
    /// The number of the query; 0 for the first of its server.
    public var number: Int
    /// The queried name, without a trailing dot.
    public var name: String
    /// The queried type: 1 for A, 28 for AAAA, 33 for SRV.
    public var type: Int
    /// The whole message.
    public var bytes: [UInt8]

    /// Parses a message with one question (RFC 1035 §4.1); returns nil for other bytes.
    init?(_ bytes: [UInt8], transport: Transport, number: Int) {
        var labels: [String] = []
        var index = 12
        while index < bytes.count, bytes[index] != 0 {
            let end = index + 1 + Int(bytes[index])
            guard bytes[index] < 64, end <= bytes.count else { return nil }
            labels.append(String(decoding: bytes[index + 1..<end], as: UTF8.self))
            index = end
        }
        guard bytes.count >= 12, bytes[4] == 0, bytes[5] == 1, index + 5 <= bytes.count else { return nil }
        self.transport = transport
        self.number = number
        self.bytes = bytes
        name = labels.joined(separator: ".")
        type = Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
        questionEnd = index + 5
    }

    private let questionEnd: Int

    /// Encodes an answer with these records and this RCODE (RFC 1035 §4.1.1).
    func answer(_ records: [DNSRecord], code: Int = 0, isTruncated: Bool = false) -> [UInt8] {
        // QR, AA and TC; RD as in the query; RA.
        let flags: [UInt8] = [0x84 | (isTruncated ? 2 : 0) | bytes[2] & 1, 0x80 | UInt8(code & 15)]
        var message = bytes[..<2] + flags
        message += [0, 1] + UInt16(records.count).bigEndianBytes + [0, 0, 0, 0]
        message += bytes[12..<questionEnd]
        for record in records { message += record.wire }
        return Array(message)
    }
}
