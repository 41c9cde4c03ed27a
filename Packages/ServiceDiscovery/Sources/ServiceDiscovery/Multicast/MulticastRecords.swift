package import DNSWire

/// The bits of the class field in multicast DNS, and the comparison of records.
extension DNSRecord {
    /// The cache-flush bit: the packet holds all records of that name and type (RFC 6762 §10.2).
    static let cacheFlush: UInt16 = 0x8000

    var isUnique: Bool { recordClass & Self.cacheFlush != 0 }
    var isInternet: Bool { recordClass & ~Self.cacheFlush == 1 }

    /// A record of a name and type of which only this host has records.
    static func unique(_ name: DNSName, _ time: UInt32, _ data: DNSRecordData) -> DNSRecord {
        DNSRecord(name, type: data.type, recordClass: 1 | cacheFlush, timeToLive: time, data)
    }

    /// The record without the cache-flush bit, as used in queries and in replies to legacy resolvers.
    var plain: DNSRecord {
        DNSRecord(name, type: type, recordClass: 1, timeToLive: timeToLive, data)
    }

    package func withTimeToLive(_ seconds: UInt32) -> DNSRecord {
        var copy = self
        copy.timeToLive = seconds
        return copy
    }

    /// Whether name, type and data are equal. Time to live and class are not compared.
    func hasSameData(as other: DNSRecord) -> Bool {
        type == other.type && data == other.data && name == other.name
    }

    /// The memory of the name and data, in bytes. It may be a large multiple of the size in a packet: each string of a TXT
    /// record is an array of its own, and a bit of an NSEC record becomes a number.
    var memory: Int {
        let size =
            switch data {
            case .a, .aaaa: 0
            case .cname(let name), .ns(let name), .ptr(let name), .mx(_, let name), .srv(_, _, _, let name):
                name.wireForm.count
            case .txt(let strings): strings.reduce(0) { $0 + 56 + $1.count }
            case .soa(let start): start.primary.wireForm.count + start.mailbox.wireForm.count
            case .nsec(let next, let types): next.wireForm.count + types.count * MemoryLayout<DNSRecordType>.size
            case .other(_, let bytes): bytes.count
            }
        return name.wireForm.count + size
    }

    /// The bytes that tie-breaks compare (RFC 6762 §8.2): class, type, and the data without compression.
    var tieBreaker: [UInt8] { [0, 1, UInt8(type.rawValue >> 8), UInt8(type.rawValue & 255)] + data.wireForm }
}

extension DNSRecordData {
    /// The data on the wire, without compression; empty if it has no wire form.
    package var wireForm: [UInt8] {
        if case .soa(let start) = self {
            // The encoder would compress the second name.
            let numbers = [start.serial, start.refresh, start.retry, start.expire, start.minimum]
            return start.primary.wireForm + start.mailbox.wireForm
                + numbers.flatMap { number in (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
        }
        let message = DNSMessage(header: DNSHeader(id: 0), answers: [DNSRecord(.root, timeToLive: 0, self)])
        // The data follows the header, name, type, class, time to live and length: 12 + 1 + 10 bytes.
        return (try? message.wireForm()).map { Array($0.dropFirst(23)) } ?? []
    }
}

extension [DNSRecord] {
    /// The records without duplicates of name and data, in order.
    var distinct: [DNSRecord] {
        var seen: Set<RecordIdentity> = []
        return filter { seen.insert($0.identity).inserted }
    }
}

extension DNSRecordType {
    /// The types that the owner of a name does not have, if its NSEC record lists `types` (RFC 6762 §6.1).
    ///
    /// A service has both SRV and TXT (RFC 6763 §6). A list without both is one of other types: python-zeroconf listed the
    /// missing types until 2026.
    static func denied(byOwnerOf types: [DNSRecordType]) -> [DNSRecordType] {
        let isOfService = types.contains(.srv) || types.contains(.txt)
        let deniable: [DNSRecordType] = isOfService ? [.a, .aaaa, .ptr, .srv, .txt] : [.a, .aaaa, .ptr]
        return deniable.filter { !types.contains($0) }
    }
}

extension DNSQuestion {
    /// The QU bit: a unicast response is requested (RFC 6762 §5.4).
    static let unicastWanted: UInt16 = 0x8000

    init(_ key: RecordKey, wantsUnicast: Bool) {
        self.init(key.name, key.type, recordClass: wantsUnicast ? 1 | Self.unicastWanted : 1)
    }

    var wantsUnicast: Bool { recordClass & Self.unicastWanted != 0 }
    var key: RecordKey { RecordKey(name, type) }

    /// Whether the class is IN or ANY.
    var isInternet: Bool { [1, 255].contains(recordClass & ~Self.unicastWanted) }
}

extension DNSMessage {
    /// The questions of class IN or ANY without duplicates; a packet may repeat one hundreds of times.
    var distinctQuestions: [DNSQuestion] {
        var seen: Set<DNSQuestion> = []
        return questions.filter { question in
            guard question.isInternet else { return false }
            let plain = DNSQuestion(
                question.name, question.type, recordClass: question.wantsUnicast ? 1 | DNSQuestion.unicastWanted : 1)
            return seen.insert(plain).inserted
        }
    }
}

/// The known answers of a query, by question. Both this list and the records it is compared with may be long.
struct KnownAnswers {
    private var seconds: [RecordKey: [DNSRecordData: UInt32]] = [:]
    private(set) var count = 0

    init(_ records: [DNSRecord] = []) {
        for record in records { insert(record) }
    }

    mutating func insert(_ record: DNSRecord) {
        let old = seconds[record.key, default: [:]].updateValue(record.timeToLive, forKey: record.data)
        if old == nil { count += 1 }
    }

    /// The data listed as answers to one question.
    func data(_ key: RecordKey) -> Dictionary<DNSRecordData, UInt32>.Keys {
        (seconds[key] ?? [:]).keys
    }

    func contains(_ record: DNSRecord) -> Bool {
        seconds[record.key]?[record.data] != nil
    }

    /// Whether the querier knows the record for at least half of its time to live (RFC 6762 §7.1).
    func suppresses(_ record: DNSRecord) -> Bool {
        seconds[record.key]?[record.data].map { $0 >= record.timeToLive / 2 } ?? false
    }
}

/// The records that publish a service and a host (RFC 6763 §4, §5, §6, §7.1, §9).
enum ServiceRecords {
    static let local = [Array("local".utf8)]
    static let enumeration = ["_services", "_dns-sd", "_udp"].map { Array($0.utf8) }

    /// The SRV and TXT records, and further ones of the name, which are probed for.
    static func unique(_ advertisement: ServiceAdvertisement, _ instance: ServiceInstance, host: DNSName) -> [DNSRecord]
    {
        let name = instance.fullName
        let location = DNSRecordData.srv(
            priority: 0, weight: 0, port: advertisement.port, target: advertisement.host ?? host)
        let records = [OwnRecord(location), OwnRecord(.txt(advertisement.record.strings))]
        return (records + advertisement.furtherRecords).map { .unique(name, $0.timeToLive, $0.data) }.distinct
    }

    /// The pointers from the type, from each subtype, and from the list of all types.
    static func shared(_ advertisement: ServiceAdvertisement, _ instance: ServiceInstance) -> [DNSRecord] {
        let domain = instance.domain.name.labels
        let type = advertisement.type.labels
        var pointers = [(type + domain, instance.fullName)]
        for subtype in advertisement.type.subtypes {
            pointers.append(([Array(subtype.utf8), Array("_sub".utf8)] + type + domain, instance.fullName))
        }
        if let name = DNSName(labels: type + domain) { pointers.append((enumeration + domain, name)) }
        return pointers.compactMap { labels, target in
            DNSName(labels: labels).map { DNSRecord($0, timeToLive: MulticastRules.otherTimeToLive, .ptr(target)) }
        }
    }

    /// The address records of a host on one link, without IPv6 zones, which are valid only on this machine. Names of
    /// addresses (RFC 6762 §4) are not published: a daemon on the same machine has different ones, and would detect a
    /// conflict.
    static func host(_ name: DNSName, on link: MulticastLink) -> [DNSRecord] {
        var records: [DNSRecord] = []
        for own in link.addresses {
            switch own.address {
            case .v4(let address): records.append(.unique(name, MulticastRules.hostTimeToLive, .a(address)))
            case .v6(let address):
                let bare = IPv6Address(rawValue: address.rawValue)
                records.append(.unique(name, MulticastRules.hostTimeToLive, .aaaa(bare)))
            }
        }
        return records.distinct
    }
}
