internal import Glibc

/// The verdict: the findings that follow from the facts.
extension LadderMachine {
    var diagnosis: Diagnosis {
        Diagnosis(
            target: target.hostAndPort, findings: findings, checked: checked, needed: target.rungs,
            uncheckable: uncheckable,
            families: families)
    }

    /// All findings, the lowest rung first, and on each rung the lesser severity first.
    var findings: [Finding] {
        var findings = LadderMachine.findings(facts, target)
        findings += ExchangeRules.findings(facts, target)
        if let verdict = facts.verdict { findings.append(verdict) }
        // `sort` is not stable, so the offset is part of the key.
        let order = findings.enumerated().sorted {
            ($0.element.rung, $1.element.severity, $0.offset) < ($1.element.rung, $0.element.severity, $1.offset)
        }
        return order.map(\.element)
    }

    /// The findings about everything up to the connection.
    private static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        var findings: [Finding] = []
        let addresses = facts.addresses(of: target)
        let isLocal = addresses.contains { $0.isLoopback || (facts.routes[$0] ?? nil)?.kind == .local }
        let works = !facts.connected.isEmpty || facts.connectionLoss != nil || facts.verdict != nil
        if let environment = facts.environment, !isLocal {
            let families = addresses.reduce(into: AddressFamilies()) { $0.formUnion($1.family) }
            let link = LinkRules.findings(
                environment.network, families: families.isEmpty ? .all : families, host: target.firstHost,
                expiredLeases: environment.expiredLeases)
            findings += link.filter { !works || $0.severity != .failure }
            if !works { findings += RouteRules.findings(facts, target) }
        }
        let names = NameRules.findings(facts, target)
        findings += target.proxy == nil ? names : ProxyRules.ofName(names, target)
        if let fault = target.proxyFault { findings.append(fault) }
        let connection = ConnectionRules.findings(facts, target)
        findings += target.proxy == nil ? connection : ProxyRules.ofConnection(connection, target)
        return findings
    }

    /// The results for each address family by itself.
    var families: [FamilyVerdict] {
        guard let network = facts.environment?.network, facts.verdict == nil, facts.connectionLoss == nil else {
            return []
        }
        let addresses = facts.addresses(of: target)
        if target.firstHost != nil, addresses.isEmpty { return [] }
        return [AddressFamilies.v4, .v6].map { family in
            if target.firstHost == nil { return machineVerdict(network, family) }
            guard addresses.contains(where: { family.contains($0.family) }) else {
                return FamilyVerdict(family, .notThere)
            }
            if facts.connected.contains(where: { $0.ipAddress.map { family.contains($0.family) } ?? false }) {
                return FamilyVerdict(family, .works)
            }
            let isLocal = addresses.contains { family.contains($0.family) && $0.isLoopback }
            if !isLocal, !LinkRules.hasAddress(network, family) { return FamilyVerdict(family, .notHere) }
            let found = LadderMachine.findings(facts.restricted(to: family), target).filter { $0.severity == .failure }
            guard let lowest = found.min(by: { $0.rung < $1.rung }) else { return FamilyVerdict(family, .unknown) }
            return FamilyVerdict(family, .broken, lowest)
        }
    }

    private func machineVerdict(_ network: NetworkSnapshot, _ family: AddressFamilies) -> FamilyVerdict {
        if !LinkRules.hasAddress(network, family) { return FamilyVerdict(family, .notHere) }
        let hasRoute = network.defaultRoutes.contains { route in
            !route.isDead && (route.gateway.map { family.contains($0.family) } ?? true)
        }
        return hasRoute
            ? FamilyVerdict(family, .works)
            : FamilyVerdict(family, .broken, Finding(.noRoute, .warning, .noRouteKnown("")))
    }

    /// What could not be checked, and why.
    var uncheckable: [Sentence] {
        var sentences: [Sentence] = []
        for case .forbidden(let reason) in facts.pings.values.sorted(by: { "\($0)" < "\($1)" }).prefix(1) {
            sentences.append(.noPings(reason))
        }
        let hasIPv4 = facts.environment.map { LinkRules.hasAddress($0.network, .v4) } ?? false
        if facts.neighbors != nil, hasIPv4 { sentences.append(.noDuplicateCheck) }
        for path in facts.paths.values {
            if let failure = path.failure, sentences.allSatisfy({ $0.key != "diag.noPathCheck" }) {
                sentences.append(.noPathCheck(PublicText.of(failure)))
            }
        }
        if let fault = target.proxyFault, fault.severity == .note { sentences.append(fault.sentence) }
        return sentences + ExchangeRules.uncheckable(facts, target)
    }

    /// The rungs that were checked, broken or not.
    var checked: Set<Rung> {
        var rungs: Set<Rung> = []
        if facts.environment != nil { rungs.formUnion([.link, .address]) }
        if !facts.routes.isEmpty || (target.host == nil && facts.environment != nil) { rungs.insert(.route) }
        // A host that refuses can be reached, and so can everything on the path to it.
        let isAnswered = facts.connections.values.contains { error in
            guard let error else { return true }
            return [ECONNREFUSED, ECONNRESET].contains(where: error.isPOSIX)
        }
        if facts.neighbors != nil || isAnswered { rungs.insert(.gateway) }
        if facts.lookup != nil { rungs.insert(.name) }
        if !facts.connections.isEmpty || facts.connectionLoss != nil {
            rungs.insert(target.proxy == nil ? .connection : .proxy)
        }
        if target.proxyFault?.severity == .failure { rungs.insert(.proxy) }
        rungs.formUnion(ExchangeRules.checked(facts, target))
        if let verdict = facts.verdict { rungs.formUnion(Rung.allCases.filter { $0 <= verdict.rung }) }
        return rungs
    }
}
