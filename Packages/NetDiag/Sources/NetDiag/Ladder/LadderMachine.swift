/// Decides what to look at next, and what all of it means. Does no I/O, reads no clock and draws no random numbers.
///
/// Theory of operation. Each call of ``next(now:)`` gives the probes that can be made now and were not made yet; whoever runs
/// them hands each result to ``receive(_:of:)`` and asks again, also at ``wake(now:)``. What is known from the start (a
/// stream's report) is not asked for. Facts that cost nothing come first, then everything that does not depend on each other
/// at once: the diagnosis of what works takes hardly longer than using it. What keeps us waiting is looked into while it may
/// still answer, and every probe ends with the whole, so that what is dead takes no longer than the longest single limit. The
/// verdict is a function of the facts alone.
struct LadderMachine: Sendable {
    /// A probe, and when it must be over.
    struct Order: Sendable, Hashable {
        var probe: Probe
        var deadline: ContinuousClock.Instant
    }

    /// Most addresses of a name that are tried.
    static let mostAddresses = 6
    /// Most name servers that are asked.
    static let mostNameServers = 4
    /// Most addresses that are tried because somebody else says that they are the name's.
    static let mostOthers = 2

    let target: DiagnosisTarget
    let limits: LadderLimits
    /// A label that no host has: random letters.
    let noise: String
    private(set) var facts: LadderFacts
    private let end: ContinuousClock.Instant
    private(set) var asked: Set<Probe> = []
    private(set) var underWay: [Probe: ContinuousClock.Instant] = [:]

    init(
        _ target: DiagnosisTarget, knowing facts: LadderFacts = LadderFacts(), limits: LadderLimits = LadderLimits(),
        noise: String, now: ContinuousClock.Instant, until end: ContinuousClock.Instant? = nil
    ) {
        self.target = target
        self.limits = limits
        self.noise = noise
        self.facts = facts
        self.end = end ?? now + limits.total
    }

    /// What can be looked at now.
    mutating func next(now: ContinuousClock.Instant) -> [Order] {
        var orders: [Order] = []
        for probe in wanted(now) where !asked.contains(probe) {
            let deadline = limits.limit(of: probe).map { min(now + $0, end) } ?? end
            // What cannot be waited for is not begun.
            if limits.limit(of: probe) != nil, deadline <= now { continue }
            asked.insert(probe)
            underWay[probe] = now
            orders.append(Order(probe: probe, deadline: deadline))
        }
        return orders
    }

    /// Takes what came of a probe.
    mutating func receive(_ result: ProbeResult, of probe: Probe) {
        underWay[probe] = nil
        facts.receive(result, of: probe)
    }

    /// When to ask again though nothing has come by then; nil if there is no need.
    func wake(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        underWay.compactMap { probe, start in
            switch probe {
            case .lookup, .connect, .talk: start + limits.patience
            case .surroundings, .route, .nameServer, .invention, .neighbors, .ping, .path, .packetSizes,
                .alternative, .inspection, .plainPage:
                nil
            }
        }.filter { $0 > now }.min()
    }

    /// True while a result is waited for.
    var isWaiting: Bool { !underWay.isEmpty }

    func isUnderWay(_ kind: (Probe) -> Bool) -> Bool { underWay.keys.contains(where: kind) }

    /// It has been under way for so long that something may be wrong.
    func isSlow(_ probe: Probe, _ now: ContinuousClock.Instant) -> Bool {
        underWay[probe].map { $0 + limits.patience <= now } ?? false
    }
}
