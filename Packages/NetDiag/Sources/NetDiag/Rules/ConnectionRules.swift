internal import Glibc

/// Findings about connections to the port, and about the delivery of full-size packets.
enum ConnectionRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        let name = target.proxy == nil ? target.displayName : target.proxyHostAndPort
        if let connectionLoss = facts.connectionLoss {
            let reason = PublicText.of("\(connectionLoss)")
            return [Finding(.connectionBroken, .failure, .connectionBroken(name, reason))]
        }
        let failures = facts.connections.compactMap { item in item.value.map { (item.key, $0) } }
            .sorted { "\($0.0)" < "\($1.0)" }
        if failures.isEmpty { return pathMTU(facts, target) }
        let evidence = failures.map { "\($0.0): \(PublicText.of("\($0.1)"))" } + paths(facts)
        if !facts.connected.isEmpty { return brokenFamily(facts, target, evidence) + pathMTU(facts, target) }
        // The most specific error counts: an answer of the host before a report of a router before a timeout.
        for number in [ECONNREFUSED, ECONNRESET, EACCES, EPERM, EHOSTUNREACH, ETIMEDOUT] {
            guard let (address, error) = failures.first(where: { $0.1.isPOSIX(number) }) else { continue }
            let isName = target.firstLiteral == nil
            let shown = isName ? "\(name) (\(address))" : "\(address)"
            let reason = PublicText.of("\(error)")
            let (code, sentence) = classify(number, shown, reason, facts.paths[address.ipAddress ?? .v4(.any)])
            return [Finding(code, .failure, sentence, evidence: evidence)]
        }
        let reason = PublicText.of("\(failures[0].1)")
        return [Finding(.connectionFailed, .failure, .connectionFailed(name, reason), evidence: evidence)]
    }

    private static func classify(
        _ number: CInt, _ name: String, _ reason: String, _ path: PathOutcome?
    ) -> (FindingCode, Sentence) {
        if number == ECONNREFUSED { return (.portRefused, .portRefused(name)) }
        if number == ECONNRESET { return (.connectionBroken, .connectionBroken(name, reason)) }
        if number == EACCES || number == EPERM || path?.isBlockedLocally == true {
            return (.connectionForbidden, .connectionForbidden(name, "\(Sentence.thisMachineItself)"))
        }
        if let prohibitedBy = path?.prohibitedBy {
            return (.connectionForbidden, .connectionForbidden(name, "\(prohibitedBy)"))
        }
        if number == EHOSTUNREACH || path?.unreachableReportedBy != nil {
            return (.hostUnreachable, .hostUnreachable(name))
        }
        return path?.isReached == true ? (.portFiltered, .portFiltered(name)) : (.noAnswer, .noAnswer(name))
    }

    /// The routers on the path, one line for each address.
    private static func paths(_ facts: LadderFacts) -> [String] {
        facts.paths.sorted { "\($0.key)" < "\($1.key)" }.filter { $0.value.failure == nil }.map { address, path in
            let routers = path.routers.map { $0.map { "\($0)" } ?? "?" } + [path.isReached ? "\(address)" : "no answer"]
            return "path to \(address): \(routers.joined(separator: ", "))"
        }
    }

    /// Full-size packets are lost without an ICMP error, so the probe of the service times out.
    private static func pathMTU(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        guard let (endpoint, outcome) = facts.service, outcome.isTimeout, let address = endpoint.ipAddress,
            let sizes = facts.packetSizes[address], sizes.reportedMaximum == nil, let largest = sizes.answered.max(),
            largest < sizes.full
        else { return [] }
        let answered = sizes.answered.sorted().map(String.init).joined(separator: ", ")
        return [
            Finding(
                .packetsTooLarge, .failure, .packetsTooLarge(target.displayName, "\(sizes.full)", "\(largest)"),
                evidence: ["packet sizes answered: \(answered)"])
        ]
    }

    /// One family fails for every address while the other works. A family without a route does not count: a machine without IPv6
    /// is healthy.
    private static func brokenFamily(
        _ facts: LadderFacts, _ target: DiagnosisTarget, _ evidence: [String]
    ) -> [Finding] {
        let working = facts.connected.reduce(into: AddressFamilies()) { $0.formUnion($1.ipAddress?.family ?? []) }
        return [AddressFamilies.v4, .v6].compactMap { broken in
            if working.contains(broken) { return nil }
            let own = facts.restricted(to: broken)
            let isTried = own.connections.values.contains { $0?.isPOSIX(ENETUNREACH) == false }
            guard isTried, let reason = findings(own, target).first else { return nil }
            let names = broken == .v6 ? ("IPv6", "IPv4") : ("IPv4", "IPv6")
            return Finding(
                .familyBroken, .warning, .familyBroken(names.0, names.1, "\(reason.sentence)"), evidence: evidence)
        }
    }
}
