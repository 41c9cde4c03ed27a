internal import IPAddresses

/// A decoder of one message from untrusted bytes.
struct DNSDecoder {
    /// The maximum number of compression pointers in a name. Honest servers need few; long chains only waste time.
    static let maximumPointers = 32

    /// Whether a record with invalid data is skipped. Otherwise it makes the whole message invalid.
    var skipsUnreadable = false
    /// The types of the records that were skipped so far.
    private var skipped: [DNSRecordType] = []
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the header and the questions. Also returns the record counts of the three sections that follow.
    mutating func head() throws(DNSWireError) -> (message: DNSMessage, counts: [Int]) {
        let header = DNSHeader(id: try integer16(), bits: try integer16())
        let questionCount = Int(try integer16())
        let counts = [Int(try integer16()), Int(try integer16()), Int(try integer16())]
        var message = DNSMessage(header: header)
        for _ in 0..<questionCount {
            let name = try name()
            let type = DNSRecordType(rawValue: try integer16())
            message.questions.append(DNSQuestion(name, type, recordClass: try integer16()))
        }
        return (message, counts)
    }

    mutating func message() throws(DNSWireError) -> DNSMessage { try messageAndSkipped().message }

    /// Also returns the types of the records in the answer section that were skipped.
    mutating func messageAndSkipped() throws(DNSWireError) -> (message: DNSMessage, skipped: [DNSRecordType]) {
        var (message, counts) = try head()
        message.answers = try records(counts[0])
        let skippedAnswers = skipped
        message.authorities = try records(counts[1])
        message.additionals = try records(counts[2])
        // RFC 6891 §6.1.1: a message has at most one.
        if let first = message.additionals.firstIndex(where: { $0.type == .opt }),
            message.additionals[(first + 1)...].contains(where: { $0.type == .opt })
        {
            guard skipsUnreadable else { throw fault("more than one EDNS record") }
            let others = message.additionals[(first + 1)...].filter { $0.type != .opt }
            message.additionals.replaceSubrange((first + 1)..., with: others)
        }
        return (message, skippedAnswers)
    }

    private mutating func records(_ count: Int) throws(DNSWireError) -> [DNSRecord] {
        // The count is only a claim, so memory is not reserved for it.
        var records: [DNSRecord] = []
        for _ in 0..<count {
            if let record = try record() { records.append(record) }
        }
        return records
    }

    /// Reads the next record; nil if it is skipped.
    private mutating func record() throws(DNSWireError) -> DNSRecord? {
        let name = try name()
        let type = DNSRecordType(rawValue: try integer16())
        let recordClass = try integer16()
        let timeToLive = try integer32()
        let length = Int(try integer16())
        guard bytes.count - position >= length else { throw fault("truncated record data") }
        let end = position + length
        do throws(DNSWireError) {
            let data = try data(of: type, end: end)
            guard position == end else { throw fault("record data that does not match its length") }
            return DNSRecord(name, type: type, recordClass: recordClass, timeToLive: timeToLive, data)
        } catch {
            guard skipsUnreadable else { throw error }
            position = end
            skipped.append(type)
            return nil
        }
    }

    private mutating func data(of type: DNSRecordType, end: Int) throws(DNSWireError) -> DNSRecordData {
        switch type {
        case .a:
            return .a(IPv4Address(rawValue: try integer32()))
        case .aaaa:
            let octets = try slice(16)
            return .aaaa(IPv6Address(rawValue: octets.reduce(0) { $0 << 8 | UInt128($1) }))
        case .cname: return .cname(try name())
        case .ns: return .ns(try name())
        case .ptr: return .ptr(try name())
        case .mx: return .mx(preference: try integer16(), exchange: try name())
        case .srv:
            return .srv(priority: try integer16(), weight: try integer16(), port: try integer16(), target: try name())
        case .txt:
            var texts: [[UInt8]] = []
            while position < end {
                let length = Int(try slice(1)[0])
                guard end - position >= length else { throw fault("text longer than its record") }
                texts.append(try slice(length))
            }
            return .txt(texts)
        case .soa:
            return .soa(
                DNSStartOfAuthority(
                    primary: try name(), mailbox: try name(), serial: try integer32(), refresh: try integer32(),
                    retry: try integer32(), expire: try integer32(), minimum: try integer32()))
        case .nsec:
            return .nsec(next: try name(), types: try types(end: end))
        default:
            return .other(type, try otherData(of: type, end: end))
        }
    }

    /// What the data of other types begin with, if names follow that senders may compress (RFC 3597 §4, RFC 6672 §2.5, RFC 6762 §18.14).
    private struct Layout {
        /// The number of bytes, and then of texts, before the first name.
        var bytes = 0
        var texts = 0
        var names = 1
    }

    private static let layouts: [UInt16: Layout] = [
        3: Layout(), 4: Layout(),  // MD, MF
        7: Layout(), 8: Layout(), 9: Layout(),  // MB, MG, MR
        14: Layout(names: 2), 17: Layout(names: 2),  // MINFO, RP
        18: Layout(bytes: 2), 21: Layout(bytes: 2), 36: Layout(bytes: 2),  // AFSDB, RT, KX
        24: Layout(bytes: 18), 46: Layout(bytes: 18),  // SIG, RRSIG
        26: Layout(bytes: 2, names: 2),  // PX
        30: Layout(), 39: Layout(),  // NXT, DNAME
        35: Layout(bytes: 4, texts: 3),  // NAPTR
    ]

    /// Reads data as they are, with the names in them uncompressed: a pointer means nothing outside of its message.
    private mutating func otherData(of type: DNSRecordType, end: Int) throws(DNSWireError) -> [UInt8] {
        guard let layout = Self.layouts[type.rawValue] else { return try slice(end - position) }
        var data = try slice(layout.bytes)
        for _ in 0..<layout.texts {
            let length = try slice(1)
            data += length
            data += try slice(Int(length[0]))
        }
        for _ in 0..<layout.names { data += try name().wireForm }
        return data + (try slice(end - position))
    }

    /// Reads a bit map of types (RFC 4034 §4.1.2): blocks of up to 32 bytes, in ascending order.
    private mutating func types(end: Int) throws(DNSWireError) -> [DNSRecordType] {
        var types: [DNSRecordType] = []
        var lastBlock = -1
        while position < end {
            let block = Int(try integer16())
            let (number, length) = (block >> 8, block & 255)
            guard number > lastBlock, (1...32).contains(length), end - position >= length else {
                throw fault("invalid bit map of types")
            }
            lastBlock = number
            for (index, byte) in try slice(length).enumerated() {
                for bit in 0..<8 where byte >> (7 - bit) & 1 == 1 {
                    types.append(DNSRecordType(rawValue: UInt16(number << 8 | index << 3 | bit)))
                }
            }
        }
        return types
    }

    /// Reads a name, compressed or not (RFC 1035 §4.1.4). Pointers must point backwards, so they cannot form a loop.
    private mutating func name() throws(DNSWireError) -> DNSName {
        var wire: [UInt8] = []
        var cursor = position
        var segmentStart = position
        var pointers = 0
        while true {
            guard cursor < bytes.count else { throw fault("truncated name") }
            let length = Int(bytes[cursor])
            switch length {
            case 0:
                if pointers == 0 { position = cursor + 1 }
                return DNSName(wire: wire + [0])
            case 1...63:
                let end = cursor + 1 + length
                guard end <= bytes.count else { throw fault("truncated label") }
                guard wire.count + length + 2 <= DNSName.maximumWireLength else {
                    throw fault("name longer than \(DNSName.maximumWireLength) bytes")
                }
                wire += bytes[cursor..<end]
                cursor = end
            case 0xC0...0xFF:
                guard cursor + 1 < bytes.count else { throw fault("truncated compression pointer") }
                let target = (length & 0x3F) << 8 | Int(bytes[cursor + 1])
                if pointers == 0 { position = cursor + 2 }
                pointers += 1
                guard target < segmentStart else { throw fault("compression pointer that does not point backwards") }
                guard pointers <= Self.maximumPointers else {
                    throw fault("more than \(Self.maximumPointers) compression pointers in a name")
                }
                (cursor, segmentStart) = (target, target)
            default:
                throw fault("unknown label type")
            }
        }
    }

    private mutating func integer16() throws(DNSWireError) -> UInt16 {
        guard bytes.count - position >= 2 else { throw fault("truncated message") }
        defer { position += 2 }
        return UInt16(bytes[position]) << 8 | UInt16(bytes[position + 1])
    }

    private mutating func integer32() throws(DNSWireError) -> UInt32 {
        UInt32(try integer16()) << 16 | UInt32(try integer16())
    }

    private mutating func slice(_ count: Int) throws(DNSWireError) -> [UInt8] {
        guard count >= 0, bytes.count - position >= count else { throw fault("truncated message") }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    private func fault(_ words: String) -> DNSWireError {
        DNSWireError(.malformed, detail: "\(words), at byte \(position)")
    }
}
