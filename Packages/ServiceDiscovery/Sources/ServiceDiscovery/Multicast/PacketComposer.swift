@_spi(Packages) internal import DNSWire

/// Encodes questions and records into as few packets as possible (RFC 6762 §17, §18).
enum PacketComposer {
    /// Encodes queries: all questions in the first packets, then the known answers, with the truncation bit if more
    /// follow (§7.2).
    static func queries(_ questions: [DNSQuestion], known: [DNSRecord]) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var questions = questions[...]
        while questions.count > 0 {
            let count = most(questions.count) {
                bytes(DNSMessage(header: DNSHeader(id: 0), questions: Array(questions.prefix($0))))
            }
            let part = Array(questions.prefix(count))
            questions = questions.dropFirst(count)
            let names = Set(part.map(\.key))
            packets += query(part, allKnown: known.filter { names.contains($0.key) })
        }
        return packets
    }

    private static func query(_ questions: [DNSQuestion], allKnown: [DNSRecord]) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var message = DNSMessage(header: DNSHeader(id: 0), questions: questions)
        var rest = allKnown[...]
        repeat {
            message.answers = Array(rest.prefix(maximumRecords))
            message.header.isTruncated = rest.count > maximumRecords
            var packet = fitted(message, least: packets.isEmpty ? 0 : 1)
            let count = packet?.recordCount ?? 1  // a record too large for any packet is skipped
            if message.header.isTruncated != (count < rest.count) {
                message.header.isTruncated.toggle()
                packet = fitted(message, least: count)
            }
            if let packet { packets.append(packet.bytes) }
            rest = rest.dropFirst(count)
            message.questions = []
        } while !rest.isEmpty
        return packets
    }

    /// Encodes probes: a question of type ANY for each name, with the proposed records (§8.1).
    static func probes(_ probes: [(question: DNSQuestion, records: [DNSRecord])]) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var rest = probes[...]
        while !rest.isEmpty {
            func packet(_ count: Int) -> [UInt8]? {
                let part = rest.prefix(count)
                return bytes(
                    DNSMessage(
                        header: DNSHeader(id: 0), questions: part.map(\.question),
                        authorities: part.flatMap(\.records).map(\.plain)))
            }
            let count = most(rest.count, packet)
            if let bytes = packet(count) { packets.append(bytes) }
            rest = rest.dropFirst(count)
        }
        return packets
    }

    /// Encodes responses, multicast or unicast. Additional records fill the remaining room.
    static func responses(_ answers: [DNSRecord], additional: [DNSRecord] = []) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var message = DNSMessage(header: DNSHeader(id: 0))
        message.header.isResponse = true
        message.header.isAuthoritative = true
        var rest = answers[...]
        while !rest.isEmpty {
            message.answers = Array(rest.prefix(maximumRecords))
            message.additionals = rest.count <= maximumRecords ? additional : []
            var packet = fitted(message, least: 1)
            // Each round leaves out at least one additional record.
            while !message.additionals.isEmpty, let fitting = packet?.recordCount {
                let count = max(0, fitting - message.answers.count)
                if count == message.additionals.count { break }
                message.additionals = wholeSets(of: message.additionals, within: count)
                packet = fitted(message, least: 1)
            }
            if let packet { packets.append(packet.bytes) }
            rest = rest.dropFirst(packet?.recordCount ?? 1)  // a record too large for any packet is skipped
        }
        return packets
    }

    /// The first records that fit, without those of sets that do not fit as a whole: with the cache-flush bit, the rest of a set
    /// would be dropped from the caches of other hosts (§10.2).
    private static func wholeSets(of records: [DNSRecord], within count: Int) -> [DNSRecord] {
        let cut = Set(records[count...].filter(\.isUnique).map(\.key))
        return records[..<count].filter { !cut.contains($0.key) }
    }

    /// The message with as many records as a usual packet holds, but at least `least`; nil if even a large packet
    /// cannot hold these.
    private static func fitted(_ message: DNSMessage, least: Int) -> (bytes: [UInt8], recordCount: Int)? {
        let packet = try? message.multicastWireForm(fitting: MulticastRules.usualPayload, least: least)
        guard let packet, packet.bytes.count <= MulticastRules.maximumPayload else { return nil }
        return packet
    }

    /// Encodes a reply to a legacy resolver (§6.7): ID and question repeated, short time to live, no cache-flush bit,
    /// and only the compression of plain DNS. A reply that is too long is truncated, with the truncation bit.
    static func legacyReply(to query: DNSMessage, answers: [DNSRecord], additional: [DNSRecord]) -> [UInt8]? {
        func short(_ record: DNSRecord) -> DNSRecord {
            record.plain.withTimeToLive(min(record.timeToLive, MulticastRules.legacyTimeToLive))
        }
        func reply(_ answers: [DNSRecord], _ additional: [DNSRecord], isTruncated: Bool) -> [UInt8]? {
            var message = DNSMessage(
                header: DNSHeader(id: query.header.id), questions: query.questions, answers: answers.map(short),
                additionals: additional.map(short))
            message.header.isResponse = true
            message.header.isAuthoritative = true
            message.header.isTruncated = isTruncated
            return try? message.wireForm()
        }
        // Plain DNS without EDNS carries 512 bytes.
        let count = most(answers.count, least: 0, limit: 512) {
            reply(Array(answers.prefix($0)), [], isTruncated: false)
        }
        let part = Array(answers.prefix(count))
        let extra = most(additional.count, least: 0, limit: 512) {
            reply(part, Array(additional.prefix($0)), isTruncated: false)
        }
        return reply(part, Array(additional.prefix(extra)), isTruncated: count < answers.count)
    }

    private static func bytes(_ message: DNSMessage) -> [UInt8]? {
        guard let bytes = try? message.multicastWireForm(), bytes.count <= MulticastRules.maximumPayload else {
            return nil
        }
        return bytes
    }

    /// An upper bound of the records in a packet; each takes at least twelve bytes.
    static let maximumRecords = 128

    /// The largest count that fits, or `least` if none does.
    private static func most(
        _ count: Int, least: Int = 1, limit: Int = MulticastRules.usualPayload, _ packet: (Int) -> [UInt8]?
    ) -> Int {
        func fits(_ number: Int) -> Bool { packet(number).map { $0.count <= limit } ?? false }
        let count = min(count, maximumRecords)
        if count <= least || fits(count) { return count }
        var (good, bad) = (least, count)
        while bad - good > 1 {
            let middle = good + (bad - good) / 2
            if fits(middle) { good = middle } else { bad = middle }
        }
        return good
    }
}
