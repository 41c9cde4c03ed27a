internal import HostResolver

/// Multicast DNS on one link (RFC 6762): questions, answers, publications and the cache of one interface.
///
/// Theory of operation. Packets and time go in; packets (``transmissions``) and events (``events``) come out and are
/// taken by ``DiscoveryMachine``. Each concern has a list of its own with deadlines, looked through when its alarm says
/// so: publications (`+Publishing`), questions (`+Asking`), answers that wait and queries that are not complete
/// (`+Answering`), and the cache. Packets come in by `+Receiving`. Nothing here knows what a service is.
///
/// What strangers can cause is bounded in rate as well as in size. A question is sent at most once in a second
/// (``LinkQuestion``), queries list a bounded number of known answers in a minute, and one packet costs time in proportion to
/// its size: its questions and known answers are looked up by name and type, never compared pair by pair.
struct LinkMachine {
    var link: MulticastLink
    let limits: EngineLimits
    var random: DelayRandom
    var statistics = EngineStatistics()

    var cache: RecordCache
    var echoes = EchoFilter()
    /// What is to be sent, in order.
    var transmissions: [Transmission] = []
    /// What is to be told, in order.
    var events: [LinkEvent] = []

    var publications: [Int: Publication] = [:]
    var byName: [DNSName: Set<Int>] = [:]
    var publicationAlarm = Alarm()
    /// What questions are answered with; by name.
    var owned: [DNSName: [DNSRecordData: OwnedRecord]] = [:]
    /// When the denial of each name of ``owned`` was last multicast: an NSEC record is made when asked for, not owned.
    var denied: [DNSName: DiscoveryTime] = [:]
    var claimed = 0

    var questions: [RecordKey: LinkQuestion] = [:]
    var questionAlarm = Alarm(pause: MulticastRules.searchInterval)
    /// When the questions begun just now are asked, all together.
    var firstRound: DiscoveryTime?
    /// The known answers that queries may list.
    var listing: Budget

    var pending: [RecordIdentity: PendingAnswer] = [:]
    var scheduled = 0
    var pendingAlarm = Alarm()
    var held: [HeldQuery] = []
    var heldAlarm = Alarm()
    /// The packets that may go to single hosts.
    var replies: Budget

    init(_ link: MulticastLink, limits: EngineLimits, seed: UInt64) {
        self.link = link
        self.limits = limits
        random = DelayRandom(seed: seed)
        cache = RecordCache(limits: limits)
        listing = Budget(limits.listedAnswersPerMinute, in: .seconds(60))
        replies = Budget(limits.unicastRepliesPerSecond, in: .seconds(1))
    }

    /// When ``advance(_:)`` has something to do next.
    var deadline: DiscoveryTime? {
        let alarms = [
            publicationAlarm.earliest, questionAlarm.earliest, pendingAlarm.earliest, heldAlarm.earliest,
            cache.deadline,
        ]
        return alarms.compactMap { $0 }.min()
    }

    func isDue(_ now: DiscoveryTime) -> Bool {
        deadline.map { $0 <= now } ?? false
    }

    /// What is to be sent and told; it is not kept.
    mutating func take() -> (transmissions: [Transmission], events: [LinkEvent]) {
        defer {
            transmissions = []
            events = []
        }
        return (transmissions, events)
    }

    /// Does what is due.
    mutating func advance(_ now: DiscoveryTime) {
        let (gone, stale) = cache.advance(now, random: &random)
        for record in gone { lost(record, now: now) }
        for key in stale { expedite(key, now: now) }
        if publicationAlarm.isDue(now) { advancePublications(now) }
        if heldAlarm.isDue(now) { answerHeld(now) }
        if pendingAlarm.isDue(now) { sendPending(now) }
        if questionAlarm.isDue(now) { ask(now) }
    }

    /// The link goes: everything known through it goes too, after a goodbye for what was published.
    mutating func close(now: DiscoveryTime) {
        for id in publications.keys.sorted() { withdraw(id, now: now) }
        for key in questions.keys {
            for entry in cache.records(key) { events.append(.removed(entry.record)) }
        }
    }

    mutating func multicast(_ packets: [[UInt8]], now: DiscoveryTime) {
        for bytes in packets {
            echoes.noteSent(bytes, now: now)
            transmit(bytes, to: .group)
        }
    }

    /// Sends to one host, within the budget.
    mutating func reply(_ packets: [[UInt8]], to source: IPAddress, port: UInt16, now: DiscoveryTime) {
        for bytes in packets {
            guard replies.take(1, now: now) == 1 else {
                statistics.repliesRefused += 1
                continue
            }
            transmit(bytes, to: .host(source, port: port))
        }
    }

    private mutating func transmit(_ bytes: [UInt8], to destination: Transmission.Destination) {
        statistics.packetsSent += 1
        transmissions.append(Transmission(bytes: bytes, destination: destination, interface: link.index))
    }

    /// A record's time is over, or its owner has taken it back.
    mutating func lost(_ record: DNSRecord, now: DiscoveryTime) {
        guard questions[record.key] != nil else { return }
        events.append(.removed(record))
        resumeAsking(record.key, now: now)
    }
}
