internal import IPAddresses

/// An encoder of one message.
struct DNSEncoder {
    private var bytes: [UInt8] = []
    /// The offset of each name that a compression pointer can refer to.
    private var offsets: [DNSName: Int] = [:]
    /// Whether to compress the names that only multicast DNS allows to compress (RFC 6762 §18.14).
    var compressesEverything = false

    mutating func encode(_ message: DNSMessage) throws(DNSWireError) -> [UInt8] {
        try encode(message, fitting: DNSMessage.maximumSize, least: .max).bytes
    }

    /// Encodes the header, the questions, the first `least` records, and as many of the further records as fit into `size`
    /// bytes. Returns the bytes and the number of records in them.
    mutating func encode(
        _ message: DNSMessage, fitting size: Int, least: Int
    ) throws(DNSWireError) -> (bytes: [UInt8], recordCount: Int) {
        bytes = []
        put(message.header.id)
        put(message.header.bits)
        var counts = [message.questions.count, 0, 0, 0]
        for _ in counts { put(0) }
        for question in message.questions {
            put(question.name, isCompressible: true)
            put(question.type.rawValue)
            put(question.recordClass)
        }
        var recordCount = 0
        sections: for (section, records) in [message.answers, message.authorities, message.additionals].enumerated() {
            for record in records {
                let end = bytes.count
                try put(record)
                if bytes.count > size, recordCount >= least {
                    bytes.removeLast(bytes.count - end)
                    break sections
                }
                counts[section + 1] += 1
                recordCount += 1
            }
        }
        guard bytes.count <= DNSMessage.maximumSize else { throw tooLarge }
        for (index, count) in counts.enumerated() {
            guard let count = UInt16(exactly: count) else { throw tooLarge }
            bytes[4 + 2 * index] = UInt8(count >> 8)
            bytes[5 + 2 * index] = UInt8(count & 255)
        }
        return (bytes, recordCount)
    }

    private mutating func put(_ record: DNSRecord) throws(DNSWireError) {
        put(record.name, isCompressible: true)
        put(record.type.rawValue)
        put(record.recordClass)
        put(UInt16(record.timeToLive >> 16))
        put(UInt16(record.timeToLive & 0xFFFF))
        let lengthOffset = bytes.count
        put(0)
        try put(record.data)
        guard let length = UInt16(exactly: bytes.count - lengthOffset - 2) else { throw tooLarge }
        bytes[lengthOffset] = UInt8(length >> 8)
        bytes[lengthOffset + 1] = UInt8(length & 255)
    }

    private mutating func put(_ data: DNSRecordData) throws(DNSWireError) {
        switch data {
        case .a(let address): bytes += address.octets
        case .aaaa(let address): bytes += address.octets
        case .cname(let name), .ns(let name), .ptr(let name): put(name, isCompressible: true)
        case .mx(let preference, let exchange):
            put(preference)
            put(exchange, isCompressible: true)
        case .srv(let priority, let weight, let port, let target):
            for number in [priority, weight, port] { put(number) }
            // RFC 2782: the target is not compressed.
            put(target, isCompressible: compressesEverything)
        case .txt(let texts):
            for text in texts {
                guard text.count <= 255 else {
                    throw DNSWireError(.tooLarge, detail: "a text is longer than 255 bytes")
                }
                bytes.append(UInt8(text.count))
                bytes += text
            }
        case .soa(let soa):
            put(soa.primary, isCompressible: true)
            put(soa.mailbox, isCompressible: true)
            for number in [soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum] {
                put(UInt16(number >> 16))
                put(UInt16(number & 0xFFFF))
            }
        case .nsec(let next, let types):
            // RFC 4034 §4.1.1: the name is not compressed.
            put(next, isCompressible: compressesEverything)
            putBitMap(of: types)
        case .other(_, let data):
            bytes += data
        }
    }

    /// Writes a bit map of types (RFC 4034 §4.1.2), without empty blocks and without the zero bytes at the end of a
    /// block.
    private mutating func putBitMap(of types: [DNSRecordType]) {
        var blocks: [UInt8: [UInt8]] = [:]
        for type in types {
            let (block, index) = (UInt8(type.rawValue >> 8), Int(type.rawValue & 255))
            var map = blocks[block] ?? []
            if map.count <= index / 8 { map += [UInt8](repeating: 0, count: index / 8 + 1 - map.count) }
            map[index / 8] |= 0x80 >> UInt8(index % 8)
            blocks[block] = map
        }
        for (block, map) in blocks.sorted(by: { $0.key < $1.key }) { bytes += [block, UInt8(map.count)] + map }
    }

    private mutating func put(_ name: DNSName, isCompressible: Bool) {
        var rest = name.wireForm[...]
        while let length = rest.first, length > 0 {
            let tail = DNSName(wire: Array(rest))
            if isCompressible, let offset = offsets[tail] {
                put(0xC000 | UInt16(offset))
                return
            }
            // A compression pointer has 14 bits.
            if bytes.count < 0x4000, offsets[tail] == nil { offsets[tail] = bytes.count }
            bytes += rest.prefix(Int(length) + 1)
            rest = rest.dropFirst(Int(length) + 1)
        }
        bytes.append(0)
    }

    private mutating func put(_ number: UInt16) {
        bytes.append(UInt8(number >> 8))
        bytes.append(UInt8(number & 255))
    }

    private var tooLarge: DNSWireError {
        DNSWireError(.tooLarge, detail: "the message is larger than \(DNSMessage.maximumSize) bytes")
    }
}
