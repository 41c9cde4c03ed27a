internal import HostResolver

/// Puts questions and records into as few packets as hold them (RFC 6762 §17, §18).
enum PacketComposer {
    /// Queries: all questions in the first packets, then what is known, with a bit that says when more follows (§7.2).
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
            message.answers = Array(rest.prefix(mostRecords))
            message.header.isTruncated = rest.count > mostRecords
            var packet = fitted(message, least: packets.isEmpty ? 0 : 1)
            let count = packet?.recordCount ?? 1  // a record that no packet holds is left out
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

    /// Probes: a question for everything of each name, with the records that are wanted for it (§8.1).
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

    /// Responses by multicast or to one host that speaks it. Additional records fill what room there is.
    static func responses(_ answers: [DNSRecord], additional: [DNSRecord] = []) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var message = DNSMessage(header: DNSHeader(id: 0))
        message.header.isResponse = true
        message.header.isAuthoritative = true
        var rest = answers[...]
        while !rest.isEmpty {
            message.answers = Array(rest.prefix(mostRecords))
            message.additionals = rest.count <= mostRecords ? additional : []
            let packet = fitted(message, least: 1)
            if let packet { packets.append(packet.bytes) }
            rest = rest.dropFirst(packet?.recordCount ?? 1)  // a record that no packet holds is left out
        }
        return packets
    }

    /// The message with as many records as a usual packet holds, but at least `least`; nil if not even a large one holds those.
    private static func fitted(_ message: DNSMessage, least: Int) -> (bytes: [UInt8], recordCount: Int)? {
        let packet = try? message.multicastWireForm(fitting: MulticastRules.usualPayload, least: least)
        guard let packet, packet.bytes.count <= MulticastRules.largestPayload else { return nil }
        return packet
    }

    /// A reply to a resolver that knows nothing of multicast (§6.7): number and question repeated, short life, no bit in
    /// the class, nothing compressed that plain DNS does not compress. Cut, with the bit that says so, if it is too long.
    static func legacyReply(to query: DNSMessage, answers: [DNSRecord], additional: [DNSRecord]) -> [UInt8]? {
        func short(_ record: DNSRecord) -> DNSRecord {
            record.plain.living(min(record.timeToLive, MulticastRules.legacyTime))
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
        // Plain DNS carries 512 bytes without EDNS.
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
        guard let bytes = try? message.multicastWireForm(), bytes.count <= MulticastRules.largestPayload else {
            return nil
        }
        return bytes
    }

    /// More records than this do not fit into a packet: each takes twelve bytes at least.
    static let mostRecords = 128

    /// The most elements that fit, and `least` even if they do not.
    private static func most(
        _ count: Int, least: Int = 1, limit: Int = MulticastRules.usualPayload, _ packet: (Int) -> [UInt8]?
    ) -> Int {
        func fits(_ number: Int) -> Bool { packet(number).map { $0.count <= limit } ?? false }
        let count = min(count, mostRecords)
        if count <= least || fits(count) { return count }
        var (good, bad) = (least, count)
        while bad - good > 1 {
            let middle = good + (bad - good) / 2
            if fits(middle) { good = middle } else { bad = middle }
        }
        return good
    }
}
