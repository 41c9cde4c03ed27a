internal import HostResolver

/// Packets that come in (RFC 6762 §6, §11, §18). Anybody may have sent them.
extension LinkMachine {
    mutating func receive(_ datagram: Datagram, now: DiscoveryTime) {
        if link.isOwn(datagram.source), echoes.isEcho(datagram.bytes, from: datagram.source, now: now) { return }
        statistics.packetsReceived += 1
        guard datagram.bytes.count <= limits.packetSize,
            // §11: what was sent to the group can only come from the link; anything else must look like it.
            datagram.isMulticast || link.contains(datagram.source),
            // Much software cannot write NSEC records: what else it says is heard.
            let message = try? DNSMessage(wire: datagram.bytes, skipsUnreadable: true),
            // §18.3, §18.11: other operations and failures are none of ours.
            message.header.opcode == 0, message.header.shortResponseCode == 0
        else {
            statistics.packetsRefused += 1
            return
        }
        if message.header.isResponse {
            receiveResponse(message, datagram, now: now)
        } else {
            receiveQuery(message, datagram, now: now)
        }
    }

    private mutating func receiveQuery(_ query: DNSMessage, _ datagram: Datagram, now: DiscoveryTime) {
        let isLegacy = datagram.sourcePort != MulticastRules.port
        if !query.authorities.isEmpty { breakTies(query, now: now) }
        if query.questions.isEmpty {
            _ = continueHeld(query, datagram)
            return
        }
        if !isLegacy, query.header.isTruncated { return hold(query, datagram, now: now) }
        // §7.1: a plain resolver has no list of known answers.
        let known = KnownAnswers(isLegacy ? [] : query.answers)
        if !isLegacy, datagram.isMulticast {
            for question in query.distinctQuestions { noteForeignQuestion(question, known: known, now: now) }
        }
        answer(query, known: known, datagram, isComplete: false, now: now)
    }

    private mutating func receiveResponse(_ response: DNSMessage, _ datagram: Datagram, now: DiscoveryTime) {
        // §6: answers come from port 5353.
        guard datagram.sourcePort == MulticastRules.port else {
            statistics.packetsRefused += 1
            return
        }
        var complete: [RecordKey: Set<DNSRecordData>] = [:]
        let records = (response.answers + response.additionals).filter { $0.isInternet && $0.type != .opt }
        for record in records {
            checkForConflict(record, now: now)
            meet(record, now: now)
            if record.isUnique { complete[record.key, default: []].insert(record.data) }
            keep(record, from: datagram.source, now: now)
        }
        // After all are in: records of one set may stand anywhere in the packet (§10.2), and what denies them before them.
        for (key, data) in complete { cache.flush(key, except: data, now: now) }
        for record in records {
            if case .nsec(_, let types) = record.data { receiveDenial(of: record.name, types: types) }
        }
    }

    /// What somebody else's answer means for answers of ours.
    private mutating func meet(_ record: DNSRecord, now: DiscoveryTime) {
        guard let ours = owned[record.name]?[record.data] else { return }
        if record.timeToLive >= ours.record.timeToLive / 2 {
            // §7.4: said already.
            if record.timeToLive >= ours.record.timeToLive { pending[record.identity] = nil }
        } else {
            // §6.6, §10.1: it is still ours and as good as ever; tell everybody before they forget it, which takes a second, but
            // not more often than §6 allows, however many goodbyes are forged.
            schedule(ours.record, at: now, pause: MulticastRules.repeatInterval)
        }
    }

    private mutating func keep(_ record: DNSRecord, from sender: IPAddress, now: DiscoveryTime) {
        let key = record.key
        if record.timeToLive == 0 {
            // The second that is left is used to ask whether it is true: anybody can say goodbye for anybody.
            if cache.goodbye(record, now: now) { expedite(key, now: now) }
            return
        }
        let isWanted = questions[key] != nil
        switch cache.insert(record, from: sender, now: now, random: &random) {
        case .added(let displaced):
            statistics.recordsRefused += displaced.count
            for record in displaced { lost(record, now: now) }
            if isWanted { events.append(.added(record)) }
        case .refreshed: break
        case .refused: statistics.recordsRefused += 1
        }
    }

    /// §6.1: the owner says which types it has; of the others there is nothing to wait for.
    private mutating func receiveDenial(of name: DNSName, types: [DNSRecordType]) {
        // A service has both SRV and TXT (RFC 6763 §6): who denies both lists what is missing, as python-zeroconf did until 2026.
        let isOfService = types.contains(.srv) || types.contains(.txt)
        let deniable: [DNSRecordType] = isOfService ? [.a, .aaaa, .ptr, .srv, .txt] : [.a, .aaaa, .ptr]
        // Asked by type, not by going through all questions: a packet may hold many denials.
        for type in deniable where !types.contains(type) {
            let key = RecordKey(name, type)
            if questions[key] != nil, cache.isEmpty(key) { events.append(.absent(key)) }
        }
    }
}
