/// Decides which probes to run, and derives the findings from their results. Does no I/O, reads no clock and draws no random
/// numbers.
///
/// Theory of operation. Each call of ``next(now:)`` returns the probes that can run now and have not been started. The driver
/// passes each result to ``receive(_:of:)`` and then calls `next` again, and also at the time ``wake(now:)``. Facts that are
/// known from the start (a stream's report) are not probed. Facts that cost nothing come first; then all probes that are
/// independent of each other run at the same time, so that diagnosing a working target takes little longer than using it. A
/// missing answer is investigated while it may still arrive. Every probe ends with the whole diagnosis, so that a dead target
/// takes no longer than the longest single limit. The findings are a function of the facts alone.
struct LadderMachine: Sendable {
    /// A probe to run, and its deadline.
    struct ScheduledProbe: Sendable, Hashable {
        var probe: Probe
        var deadline: ContinuousClock.Instant
    }

    /// The maximum number of addresses of a name that are tried.
    static let maxAddresses = 6
    /// The maximum number of name servers that are queried.
    static let maxNameServers = 4
    /// The maximum number of addresses that are tried because only another name server gives them for the name.
    static let maxAlternatives = 2

    let target: DiagnosisTarget
    let limits: LadderLimits
    /// A random label that no host has as its name.
    let randomLabel: String
    private(set) var facts: LadderFacts
    private let end: ContinuousClock.Instant
    private(set) var started: Set<Probe> = []
    private(set) var underWay: [Probe: ContinuousClock.Instant] = [:]

    init(
        _ target: DiagnosisTarget, knowing facts: LadderFacts = LadderFacts(), limits: LadderLimits = LadderLimits(),
        randomLabel: String, now: ContinuousClock.Instant, until end: ContinuousClock.Instant? = nil
    ) {
        self.target = target
        self.limits = limits
        self.randomLabel = randomLabel
        self.facts = facts
        self.end = end ?? now + limits.total
    }

    /// Returns the probes to start now.
    mutating func next(now: ContinuousClock.Instant) -> [ScheduledProbe] {
        var probes: [ScheduledProbe] = []
        for probe in plan(now) where !started.contains(probe) {
            let deadline = limits.limit(of: probe).map { min(now + $0, end) } ?? end
            // A probe without time left is not started.
            if limits.limit(of: probe) != nil, deadline <= now { continue }
            started.insert(probe)
            underWay[probe] = now
            probes.append(ScheduledProbe(probe: probe, deadline: deadline))
        }
        return probes
    }

    /// Records the result of a probe.
    mutating func receive(_ result: ProbeResult, of probe: Probe) {
        underWay[probe] = nil
        facts.receive(result, of: probe)
    }

    /// The time at which to call ``next(now:)`` even if no result has arrived; nil if there is none.
    func wake(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        underWay.compactMap { probe, start in
            switch probe {
            case .lookup, .connect, .exchange: start + limits.patience
            case .environment, .route, .nameServer, .nonexistentName, .neighbors, .ping, .path, .packetSizes,
                .alternative, .inspection, .plainPage:
                nil
            }
        }.filter { $0 > now }.min()
    }

    /// Whether a probe is under way.
    var isWaiting: Bool { !underWay.isEmpty }

    func isUnderWay(_ kind: (Probe) -> Bool) -> Bool { underWay.keys.contains(where: kind) }

    /// Whether a probe has been under way for longer than ``LadderLimits/patience``.
    func isSlow(_ probe: Probe, _ now: ContinuousClock.Instant) -> Bool {
        underWay[probe].map { $0 + limits.patience <= now } ?? false
    }
}
