internal import DNSWire

/// Multicast DNS on one link (RFC 6762): questions, answers, publications and the cache of one interface.
///
/// Theory of operation. Inputs are packets and time; outputs are packets and events, which ``DiscoveryMachine`` takes.
/// Each concern is a value with its own deadlines, examined when its alarm is due: ``Publications``, ``LinkQuestions``,
/// ``PendingAnswers``, ``HeldQueries`` and the ``RecordCache``. A link knows only records, not services.
///
/// The effects of other hosts are bounded in rate and in size. A question is sent at most once per second
/// (``LinkQuestion``), queries list a limited number of known answers per minute, and a packet costs time in proportion
/// to its size: its questions, records and known answers are looked up by name and type, never compared in pairs.
struct LinkMachine {
    var link: MulticastLink
    /// With those of the host's other interfaces, which may be on the same link.
    var hostAddresses = HostAddresses()
    /// See ``DiscoveryMachine/receivesUnicast``.
    var receivesUnicast = true
    private let limits: EngineLimits
    private var random: DelayRandom
    private(set) var counts = EngineStatistics()

    private var cache: RecordCache
    private var echoes = EchoFilter()
    private var publications = Publications()
    private var owned = OwnedRecords()
    private var questions = LinkQuestions()
    private var pending: PendingAnswers
    private var held: HeldQueries
    /// The limit of known answers in queries.
    private var listing: Budget
    /// The limit of unicast packets.
    private var replies: Budget
    /// The packets to send, in order.
    private var transmissions: [Transmission] = []
    /// The events to report, in order.
    private var events: [LinkEvent] = []

    init(_ link: MulticastLink, limits: EngineLimits, seed: UInt64) {
        (self.link, self.limits, random) = (link, limits, DelayRandom(seed: seed))
        cache = RecordCache(limits: limits)
        pending = PendingAnswers(limit: limits.pendingAnswers)
        held = HeldQueries(limits: limits)
        listing = Budget(limits.listedAnswersPerMinute, in: .seconds(60))
        replies = Budget(limits.unicastRepliesPerSecond, in: .seconds(1))
    }

    var cachedRecords: Int { cache.count }
    /// When ``advance(_:)`` has work to do.
    var deadline: DiscoveryTime? {
        [publications.deadline, questions.deadline, pending.deadline, held.deadline, cache.deadline]
            .compactMap { $0 }.min()
    }

    func hasQuestionsDue(_ now: DiscoveryTime) -> Bool { questions.isDue(now) }

    func isDue(_ now: DiscoveryTime) -> Bool { deadline.map { $0 <= now } ?? false }

    /// Takes the packets to send and the events to report.
    mutating func take() -> (transmissions: [Transmission], events: [LinkEvent]) {
        defer { (transmissions, events) = ([], []) }
        return (transmissions, events)
    }

    /// Performs all work that is due.
    mutating func advance(_ now: DiscoveryTime) {
        let (expired, stale) = cache.advance(now, random: &random)
        for record in expired { reportRemoval(of: record, now: now) }
        for key in stale { questions.update(key) { $0.expedite(now) } }
        if publications.isDue(now) { advancePublications(now) }
        if held.isDue(now) { answerHeld(now) }
        if pending.isDue(now) { sendPending(now) }
        if questions.isDue(now) { sendQueries(now) }
    }

    /// Closes the link: sends goodbyes, and reports all records as removed.
    mutating func close(now: DiscoveryTime) {
        for id in publications.ids { withdraw(id, now: now) }
        for key in questions.keys {
            for record in cache.records(key) { events.append(.removed(record)) }
        }
    }

    private mutating func multicast(_ packets: [[UInt8]], now: DiscoveryTime) {
        for bytes in packets {
            echoes.noteSent(bytes, now: now)
            transmit(bytes, to: .group)
        }
    }

    /// Sends unicast packets to a host, within the limit.
    private mutating func reply(_ packets: [[UInt8]], to datagram: Datagram, now: DiscoveryTime) {
        for bytes in packets {
            guard replies.take(1, now: now) == 1 else {
                counts.repliesRefused += 1
                continue
            }
            transmit(bytes, to: .host(datagram.source, port: datagram.sourcePort))
        }
    }

    private mutating func transmit(_ bytes: [UInt8], to destination: Transmission.Destination) {
        counts.packetsSent += 1
        transmissions.append(Transmission(bytes: bytes, destination: destination, interface: link.index))
    }

    /// Reports a record that has expired or was withdrawn, and queries it again soon.
    private mutating func reportRemoval(of record: DNSRecord, now: DiscoveryTime) {
        guard let question = questions[record.key] else { return }
        events.append(.removed(record))
        if question.next != nil { return }
        let next = now + random.milliseconds(MulticastRules.firstQueryDelay)
        questions.update(record.key) { $0.restart(at: next) }
    }
}

// MARK: - Received packets (RFC 6762 §6, §11, §18). Any host may have sent them.

extension LinkMachine {
    mutating func receive(_ datagram: Datagram, now: DiscoveryTime) {
        if link.isOwn(datagram.source), echoes.takeEcho(datagram.bytes, from: datagram.source, now: now) { return }
        counts.packetsReceived += 1
        guard datagram.bytes.count <= limits.packetSize,
            // §11: a packet to the group can only come from the link; others must have a source address of the link.
            datagram.isMulticast || link.contains(datagram.source),
            // Some software writes malformed NSEC records; the other records of its packets are used.
            let message = try? DNSMessage(wire: datagram.bytes, skipsUnreadable: true),
            // §18.3, §18.11: other opcodes and failures are ignored.
            message.header.opcode == 0, message.header.shortResponseCode == 0
        else {
            counts.packetsRefused += 1
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
        if query.questions.isEmpty || !isLegacy && query.header.isTruncated {
            // §7.2: the rest of the known answers follows, or this is the rest.
            let due = now + random.milliseconds(MulticastRules.truncationDelay)
            if !held.hold(owned.part(of: query), datagram, until: due) { counts.repliesRefused += 1 }
            return
        }
        // §7.1: a legacy resolver lists no known answers.
        let known = KnownAnswers(isLegacy ? [] : query.answers)
        if !isLegacy, datagram.isMulticast {
            for question in query.distinctQuestions { noteForeignQuestion(question, known: known, now: now) }
        }
        answer(query, known: known, datagram, isComplete: false, now: now)
    }

    private mutating func receiveResponse(_ response: DNSMessage, _ datagram: Datagram, now: DiscoveryTime) {
        // §6: responses come from port 5353.
        guard datagram.sourcePort == MulticastRules.port else {
            counts.packetsRefused += 1
            return
        }
        var complete: [RecordKey: Set<DNSRecordData>] = [:]
        let records = (response.answers + response.additionals).filter { $0.isInternet && $0.type != .opt }
        checkForConflicts(records, now: now)
        for record in records {
            compareWithOwned(record, now: now)
            if record.isUnique { complete[record.key, default: []].insert(record.data) }
            insert(record, from: datagram.source, now: now)
        }
        // After all records are inserted: those of one set may be anywhere in the packet (§10.2), and a denial may
        // precede a record.
        for (key, data) in complete { cache.flush(key, except: data, now: now) }
        for record in records {
            if case .nsec(_, let types) = record.data { receiveDenial(of: record.name, types: types) }
        }
    }

    /// Suppresses or repeats an own record that another host has sent.
    private mutating func compareWithOwned(_ record: DNSRecord, now: DiscoveryTime) {
        guard let own = owned.record(matching: record) else { return }
        if record.timeToLive >= own.timeToLive / 2 {
            // §7.4: the same answer was just sent.
            if record.timeToLive >= own.timeToLive { pending.remove(record) }
        } else {
            // §6.6, §10.1: the own record is still valid, so it is announced before other hosts drop it after a second.
            // However many goodbyes are forged, it is not sent more often than §6 allows.
            schedule(own, at: now, pause: MulticastRules.repeatInterval)
        }
    }

    private mutating func insert(_ record: DNSRecord, from sender: IPAddress, now: DiscoveryTime) {
        if record.timeToLive == 0 {
            // Verified by a query during the remaining second, because any host can forge a goodbye.
            if cache.goodbye(record, now: now) { questions.update(record.key) { $0.expedite(now) } }
            return
        }
        let isWanted = questions.contains(record.key)
        // A denial is needed only while its packet is processed.
        guard isWanted || record.type != .nsec else { return }
        let (insertion, displaced) = cache.insert(record, from: sender, now: now, random: &random)
        counts.recordsRefused += displaced.count
        for record in displaced { reportRemoval(of: record, now: now) }
        if insertion == .refused { counts.recordsRefused += 1 }
        if insertion == .added, isWanted { events.append(.added(record)) }
    }

    /// §6.1: the owner lists its types, so no answers of other types will follow.
    private mutating func receiveDenial(of name: DNSName, types: [DNSRecordType]) {
        // Looked up by type instead of searching all questions: a packet may hold many denials.
        for type in DNSRecordType.denied(byOwnerOf: types) {
            let key = RecordKey(name, type)
            if questions.contains(key), cache.isEmpty(key) { events.append(.absent(key)) }
        }
    }
}

// MARK: - Questions (RFC 6762 §5)

extension LinkMachine {
    /// Begins to query a key. Records known already are in ``known(_:)``.
    mutating func begin(_ key: RecordKey, now: DiscoveryTime) {
        guard !questions.contains(key) else { return }
        var question = LinkQuestion()
        question.restart(at: questions.firstQuery(now, random: &random))
        cache.setWanted(true, key, now: now, random: &random)
        if cache.hasUniqueAnswer(key) { question.next = nil }
        questions[key] = question
    }

    mutating func end(_ key: RecordKey, now: DiscoveryTime) {
        questions[key] = nil
        cache.setWanted(false, key, now: now, random: &random)
    }

    mutating func known(_ key: RecordKey) -> [DNSRecord] {
        cache.records(key)
    }

    /// RFC 6762 §10.4: queries twice, and removes the record if no answer confirms it. If no question needs the record,
    /// it is removed unless another packet confirms it. Without data, all records of the key.
    mutating func verify(_ key: RecordKey, _ data: DNSRecordData?, now: DiscoveryTime) {
        guard cache.expire(key, data, at: now + MulticastRules.verificationTime) else { return }
        questions.update(key) { $0.verify(now) }
    }

    /// Sends the questions that are due, with the known answers.
    private mutating func sendQueries(_ now: DiscoveryTime) {
        var due: [DNSQuestion] = []
        var known: [DNSRecord] = []
        for key in questions.takeDue(now) {
            guard var question = questions[key] else { continue }
            let isFirst = question.sent == 0 && question.isScheduled(now)
            if cache.hasUniqueAnswer(key) { question.next = nil }
            if question.isDue(now) {
                // §5.4: a unicast response is requested only by the first query.
                due.append(DNSQuestion(key, wantsUnicast: isFirst && receivesUnicast))
                // A record near its end is not listed, so that its owner answers.
                known += cache.knownAnswers(key, now: now)
                question.noteSent(now)
            }
            questions[key] = question
        }
        guard !due.isEmpty else { return }
        known.removeLast(known.count - listing.take(known.count, now: now))
        multicast(PacketComposer.queries(due, known: known), now: now)
    }

    /// §7.3: another host has just sent a question that is about to be sent here. `known` are its known answers.
    private mutating func noteForeignQuestion(_ foreign: DNSQuestion, known: KnownAnswers, now: DiscoveryTime) {
        guard !foreign.wantsUnicast else { return }
        let key = foreign.key
        let listed = known.data(key)
        counts.recordsCompared += listed.count
        if let next = questions[key]?.next, next - now < .seconds(1),
            listed.allSatisfy({ cache.lists(key, $0, now: now) })
        {
            questions.update(key) { $0.noteScheduled(now) }
        }
        for record in cache.noteQuery(key, known: known, now: now) { verify(record.key, record.data, now: now) }
    }
}

// MARK: - Answers (RFC 6762 §6, §7)

extension LinkMachine {
    /// Answers a complete query, at once or after the delays of the standard.
    private mutating func answer(
        _ query: DNSMessage, known: KnownAnswers, _ datagram: Datagram, isComplete: Bool, now: DiscoveryTime
    ) {
        let isLegacy = datagram.sourcePort != MulticastRules.port
        let isProbe = !query.authorities.isEmpty
        // Unicast replies are sent only to hosts on the link; otherwise a forged source address would direct them elsewhere.
        let mayReply = link.contains(datagram.source)
        var byMulticast: [DNSRecord] = []
        var byUnicast: [DNSRecord] = []
        var isShared = false
        var names: [DNSName: OwnedName] = [:]
        for question in query.distinctQuestions {
            let name = names[question.name] ?? OwnedName(question.name, owned.records(of: question.name))
            names[question.name] = name
            let wantsUnicast = isLegacy || question.wantsUnicast || !datagram.isMulticast
            for record in name.records(of: question.type) {
                counts.recordsCompared += 1
                if known.suppresses(record) { continue }
                if !record.isUnique { isShared = true }
                if wantsUnicast, mayReply {
                    byUnicast.append(record)
                    // §5.4: a record that was not multicast for a quarter of its time to live is multicast as well.
                    if !isLegacy, datagram.isMulticast, !owned.isRecent(record, now: now) { byMulticast.append(record) }
                } else if !isLegacy {
                    byMulticast.append(record)
                }
            }
        }
        if !byUnicast.isEmpty, replies.isSpent(now) {
            counts.repliesRefused += 1
        } else if !byUnicast.isEmpty {
            let answers = isLegacy ? byUnicast.distinct : owned.completed(byUnicast)
            let extra = owned.additional(to: answers)
            let packets =
                isLegacy
                ? [PacketComposer.legacyReply(to: query, answers: answers, additional: extra)].compactMap { $0 }
                : PacketComposer.responses(answers, additional: extra)
            reply(packets, to: datagram, now: now)
        }
        // §6: no delay if only this host can answer, or if it defends a name.
        let delay: Duration =
            isProbe || isComplete || !isShared ? .zero : random.milliseconds(MulticastRules.sharedDelay)
        let pause = isProbe ? MulticastRules.defenceInterval : MulticastRules.repeatInterval
        for record in byMulticast.distinct { schedule(record, at: now + delay, pause: pause) }
        if pending.isDue(now) { sendPending(now) }
    }

    /// Schedules a record to be multicast at `time`, but not sooner than `pause` after the last time (§6).
    private mutating func schedule(_ record: DNSRecord, at time: DiscoveryTime, pause: Duration) {
        let due = max(time, owned.lastMulticast(record).map { $0 + pause } ?? time)
        if !pending.schedule(record, at: due) { counts.repliesRefused += 1 }
    }

    /// Sends the due answers in as few packets as possible (§6.4).
    private mutating func sendPending(_ now: DiscoveryTime) {
        var due = pending.takeDue(now)
        // A denial may be outdated, if the records of its name changed while it waited.
        due.removeAll { $0.type == .nsec && $0.data != owned.denial(of: $0.name)?.data }
        guard !due.isEmpty else { return }
        due = owned.completed(due)
        for record in due { pending.remove(record) }
        let extra = owned.additional(to: due)
        for record in due + extra { owned.noteMulticast(record, now: now) }
        multicast(PacketComposer.responses(due, additional: extra), now: now)
    }

    private mutating func answerHeld(_ now: DiscoveryTime) {
        for query in held.takeDue(now) {
            let message = DNSMessage(header: DNSHeader(id: 0), questions: query.questions)
            answer(message, known: query.known, query.datagram, isComplete: true, now: now)
        }
    }
}

// MARK: - Probing, announcing, goodbyes and conflicts (RFC 6762 §8, §9, §10.1)

extension LinkMachine {
    /// Publishes records, or replaces those with the same `id`.
    ///
    /// Changed records of the same name are announced without probing (§8.4); a new name is probed for. Equal records change
    /// nothing.
    mutating func publish(
        _ id: Int, name: DNSName, unique: [DNSRecord], shared: [DNSRecord], pause: Duration, now: DiscoveryTime
    ) {
        if let old = publications[id], old.name == name {
            if old.records.elementsEqual(unique + shared) { return }
            if old.isLive { return change(old, id, unique: unique, shared: shared, now: now) }
        }
        withdraw(id, now: now)
        publications[id] = Publication(
            name: name, unique: unique, shared: shared, phase: unique.isEmpty ? .announcing(0) : .probing(0),
            next: now + pause + random.milliseconds(MulticastRules.firstProbeDelay))
    }

    /// Withdraws a publication, with a goodbye if it was announced.
    mutating func withdraw(_ id: Int, now: DiscoveryTime) {
        guard let old = publications[id] else { return }
        publications[id] = nil
        guard old.isLive else { return }
        sendGoodbye(release(old.records, of: id, now: now), now: now)
    }

    /// Whether the publication has established `name` on this link.
    func hasPublished(_ id: Int, _ name: DNSName) -> Bool {
        publications[id].map { $0.isLive && $0.name == name } ?? false
    }

    private mutating func change(
        _ old: Publication, _ id: Int, unique: [DNSRecord], shared: [DNSRecord], now: DiscoveryTime
    ) {
        var new = old
        (new.unique, new.shared) = (unique, shared)
        let removed = old.records.filter { record in !new.records.contains { $0.hasSameData(as: record) } }
        let freed = release(removed, of: id, now: now)
        for record in new.records { claim(record, for: id, now: now) }
        // Replaced records are flushed by the announcement of the new ones, so they need no goodbye (§8.4).
        let flushed = Set(new.unique.map(\.key)).filter(owned.isWhole)
        sendGoodbye(freed.filter { !flushed.contains($0.key) }, now: now)
        new.phase = .announcing(1)
        announce(new, id, now: now)
    }

    private mutating func advancePublications(_ now: DiscoveryTime) {
        var probes: [(question: DNSQuestion, records: [DNSRecord])] = []
        for id in publications.takeDue(now) {
            guard var publication = publications[id] else { continue }
            switch publication.phase {
            case .probing(let sent) where sent < MulticastRules.probeCount:
                // §8.1: a question of type ANY. No unicast response: another program on this machine might get that instead.
                probes.append((DNSQuestion(publication.name, .any), publication.unique))
                publication.phase = .probing(sent + 1)
                publication.next = now + MulticastRules.probeInterval
                publications[id] = publication
            case .probing, .announcing(0):
                for record in publication.records { claim(record, for: id, now: now) }
                publication.phase = .announcing(0)
                announce(publication, id, now: now)
                events.append(.established(id))
            case .announcing:
                announce(publication, id, now: now)
            case .settled:
                publication.next = nil
                publications[id] = publication
            }
        }
        if !probes.isEmpty { multicast(PacketComposer.probes(probes), now: now) }
    }

    /// Sends one more announcement (§8.3) and stores the publication with its next step.
    private mutating func announce(_ publication: Publication, _ id: Int, now: DiscoveryTime) {
        var publication = publication
        var sent = 1
        if case .announcing(let before) = publication.phase { sent = before + 1 }
        let isLast = sent >= MulticastRules.announcementCount
        publication.phase = isLast ? .settled : .announcing(sent)
        publication.next = isLast ? nil : now + .seconds(1 << (sent - 1))
        publications[id] = publication
        let records = owned.completed(publication.records)
        for record in records { owned.noteMulticast(record, now: now) }
        multicast(PacketComposer.responses(records), now: now)
    }

    /// §10.1: the same records with a time to live of zero.
    private mutating func sendGoodbye(_ records: [DNSRecord], now: DiscoveryTime) {
        multicast(PacketComposer.responses(owned.goodbyes(records)), now: now)
    }

    /// Begins to answer with the record.
    private mutating func claim(_ record: DNSRecord, for id: Int, now: DiscoveryTime) {
        owned.claim(record, for: id)
        if cache.insertOwn(record, now: now), questions.contains(record.key) { events.append(.added(record)) }
    }

    /// Releases records of a publication; returns those that no other publication has.
    @discardableResult
    private mutating func release(_ records: [DNSRecord], of id: Int, now: DiscoveryTime) -> [DNSRecord] {
        var freed: [DNSRecord] = []
        for record in records where owned.release(record, of: id) {
            freed.append(record)
            pending.remove(record)
            if cache.removeOwn(record) { reportRemoval(of: record, now: now) }
        }
        return freed
    }

    /// §8.1, §9: compares the records of a response with the names that this host has or probes for.
    private mutating func checkForConflicts(_ records: [DNSRecord], now: DiscoveryTime) {
        let others = records.filter { $0.timeToLive > 0 && $0.type != .nsec && !hostAddresses.contain($0) }
        for id in publications.conflicting(with: others, compared: &counts.recordsCompared) {
            guard var publication = publications[id] else { continue }
            if case .probing = publication.phase {
                publications[id] = nil
                events.append(.conflict(id))
            } else {
                // §9: probe again; the host that defends the name keeps it.
                release(publication.records, of: id, now: now)
                publication.phase = .probing(0)
                publication.next = now + random.milliseconds(MulticastRules.firstProbeDelay)
                publications[id] = publication
            }
        }
    }

    /// §8.2: two hosts probe for the same name at the same time; the one whose records come later in order wins.
    private mutating func breakTies(_ probe: DNSMessage, now: DiscoveryTime) {
        let names = Set(probe.questions.map(\.name))
        let others = probe.authorities.filter { names.contains($0.name) && !hostAddresses.contain($0) && $0.isInternet }
        for id in publications.losingTies(against: others, compared: &counts.recordsCompared) {
            publications[id]?.phase = .probing(0)
            publications[id]?.next = now + MulticastRules.tieBreakDelay
        }
    }
}
