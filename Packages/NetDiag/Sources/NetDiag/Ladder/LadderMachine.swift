/// Decides what to look at next, and what all of it means. Does no I/O and reads no clock.
///
/// Theory of operation. Each call of ``next()`` gives the probes that can be made now and were not made yet; whoever runs
/// them hands each result to ``receive(_:)`` and asks again. What is known from the start (a stream's report) is not asked
/// for. Facts that cost nothing come first, then everything that does not depend on each other at once: the diagnosis of
/// what works takes hardly longer than using it. The verdict is a function of the facts alone.
struct LadderMachine: Sendable {
    /// Most addresses of a name that are tried.
    static let mostAddresses = 6
    /// Most name servers that are asked.
    static let mostNameServers = 4

    let target: DiagnosisTarget
    private(set) var facts: LadderFacts
    private var asked: Set<Probe> = []
    private var underWay = 0

    init(_ target: DiagnosisTarget, knowing facts: LadderFacts = LadderFacts()) {
        self.target = target
        self.facts = facts
    }

    /// True once there is nothing left to look at.
    var isOver: Bool { underWay == 0 && wanted.allSatisfy(asked.contains) }

    /// What can be looked at now.
    mutating func next() -> [Probe] {
        let new = wanted.filter { asked.insert($0).inserted }
        underWay += new.count
        return new
    }

    /// Takes what came of a probe.
    mutating func receive(_ result: ProbeResult) {
        underWay -= 1
        facts.receive(result)
    }

    /// Everything worth asking, by what is known.
    private var wanted: [Probe] {
        var probes: [Probe] = [.surroundings]
        guard let host = target.host else { return probes }
        if target.literal == nil, facts.lookup == nil { probes.append(.lookup(host)) }
        if target.literal == nil, isNameInDoubt, let surroundings = facts.surroundings {
            probes += surroundings.nameServers.prefix(LadderMachine.mostNameServers).map { .nameServer($0, name: host) }
        }
        guard target.port > 0 else { return probes }
        let addresses = facts.addresses(of: target).prefix(LadderMachine.mostAddresses)
        probes += addresses.map { .route($0) }
        let places = addresses.map { SocketAddress.ip($0, port: target.port) }
        if facts.breakage == nil {
            for place in places where facts.connections[place] == nil { probes.append(.connect(place)) }
        }
        let tried = places.filter { facts.connections[$0] != nil }
        if !tried.isEmpty, tried.count == places.count, facts.connected.isEmpty, facts.neighbors == nil {
            probes.append(.neighbors)
        }
        if facts.talk == nil, target.isSecure || target.service != .bytes,
            let place = places.first(where: { facts.connections[$0] == .some(nil) })
        {
            probes.append(.talk(place))
        }
        return probes
    }

    /// The name servers are asked when the name is being looked up here, and when a look-up failed elsewhere.
    private var isNameInDoubt: Bool {
        if case .failure = facts.lookup { return true }
        return facts.connections.isEmpty || asked.contains(.lookup(target.host ?? ""))
    }

    // MARK: The verdict

    /// What the facts mean, the lowest rung first.
    var findings: [Finding] {
        var findings: [Finding] = []
        let addresses = facts.addresses(of: target)
        let isLocal = addresses.contains { $0.isLoopback || (facts.routes[$0] ?? nil)?.kind == .local }
        let works = !facts.connected.isEmpty || facts.breakage != nil
        if let surroundings = facts.surroundings, !isLocal, !works {
            let families = addresses.reduce(into: AddressFamilies()) { $0.formUnion($1.family) }
            findings += LinkRules.findings(surroundings.network, families: families.isEmpty ? .all : families)
            findings += RouteRules.findings(facts, target)
        }
        findings += NameRules.findings(facts, target)
        findings += ConnectionRules.findings(facts, target)
        findings += TalkRules.findings(facts, target)
        // A stable sort: `sort` is none.
        let order = findings.enumerated().sorted {
            ($0.element.rung, $1.element.severity, $0.offset) < ($1.element.rung, $0.element.severity, $1.offset)
        }
        return order.map(\.element)
    }

    /// The rungs that were looked at, whether they held or not.
    var checked: Set<Rung> {
        var rungs: Set<Rung> = []
        if facts.surroundings != nil { rungs.formUnion([.link, .address]) }
        if !facts.routes.isEmpty || (target.host == nil && facts.surroundings != nil) { rungs.insert(.route) }
        if facts.neighbors != nil || !facts.connected.isEmpty { rungs.insert(.gateway) }
        if facts.lookup != nil { rungs.insert(.name) }
        if !facts.connections.isEmpty || facts.breakage != nil { rungs.insert(.connection) }
        switch facts.talk?.1 {
        case .secured, .insecure: rungs.insert(.security)
        case .answered:
            if target.isSecure { rungs.insert(.security) }
            rungs.formUnion([.answer, .authentication])
        case .notHTTP, .unanswered:
            if target.isSecure { rungs.insert(.security) }
            rungs.insert(.answer)
        case nil: break
        }
        return rungs
    }
}
