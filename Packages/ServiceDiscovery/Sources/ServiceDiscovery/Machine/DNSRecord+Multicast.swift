internal import HostResolver

/// What multicast DNS makes of a record's class, and how records are compared.
extension DNSRecord {
    /// The top bit of the class: "this is all there is of that name and type" (RFC 6762 §10.2).
    static let cacheFlush: UInt16 = 0x8000

    var key: RecordKey { RecordKey(name, type) }
    var isUnique: Bool { recordClass & Self.cacheFlush != 0 }
    var isInternet: Bool { recordClass & ~Self.cacheFlush == 1 }

    /// A record of which this host alone has all of its name and type.
    static func unique(_ name: DNSName, _ time: UInt32, _ data: DNSRecordData) -> DNSRecord {
        DNSRecord(name, type: data.type, recordClass: 1 | cacheFlush, timeToLive: time, data)
    }

    /// A record as it stands in queries and for resolvers that know nothing of multicast: without the bit.
    var plain: DNSRecord {
        DNSRecord(name, type: type, recordClass: 1, timeToLive: timeToLive, data)
    }

    func living(_ seconds: UInt32) -> DNSRecord {
        var copy = self
        copy.timeToLive = seconds
        return copy
    }

    /// The same name, type and data; life and class do not count.
    func saysTheSame(as other: DNSRecord) -> Bool {
        type == other.type && data == other.data && name == other.name
    }

    /// What tie-breaks compare (RFC 6762 §8.2): class, type, then the data's bytes without compression.
    var tieBreaker: [UInt8] {
        let message = DNSMessage(header: DNSHeader(id: 0), answers: [DNSRecord(.root, timeToLive: 0, data)])
        // Behind the header come the root, type, class, time and length: 12 + 1 + 10 bytes.
        let bytes = (try? message.wireForm())?.dropFirst(23) ?? []
        return [0, 1, UInt8(type.rawValue >> 8), UInt8(type.rawValue & 255)] + bytes
    }
}

extension DNSQuestion {
    /// The top bit of the class: "answer me alone, please" (RFC 6762 §5.4).
    static let unicastWanted: UInt16 = 0x8000

    var wantsUnicast: Bool { recordClass & Self.unicastWanted != 0 }
    var key: RecordKey { RecordKey(name, type) }

    /// Class IN or ANY.
    var isInternet: Bool { [1, 255].contains(recordClass & ~Self.unicastWanted) }
}

extension DNSMessage {
    /// The questions of the Internet class, each once: a packet may repeat one hundreds of times.
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
