internal import Glibc

/// Findings about connections to the port, and about the delivery of full-size packets.
enum ConnectionRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        let place = target.proxy == nil ? target.shownPlace : target.proxyPlace
        if let breakage = facts.breakage {
            let reason = PublicText.of("\(breakage)")
            return [Finding(.connectionBroken, .failure, .connectionBroken(place, reason))]
        }
        let failures = facts.connections.compactMap { item in item.value.map { (item.key, $0) } }
            .sorted { "\($0.0)" < "\($1.0)" }
        if failures.isEmpty { return narrowPath(facts, target) }
        let evidence = failures.map { "\($0.0): \(PublicText.of("\($0.1)"))" } + ways(facts)
        if !facts.connected.isEmpty { return brokenFamily(facts, target, evidence) + narrowPath(facts, target) }
        // The most specific error counts: an answer of the host before a report of a router before a timeout.
        for number in [ECONNREFUSED, ECONNRESET, EACCES, EPERM, EHOSTUNREACH, ETIMEDOUT] {
            guard let (address, error) = failures.first(where: { $0.1.isPOSIX(number) }) else { continue }
            let isName = target.firstLiteral == nil
            let shown = isName ? "\(place) (\(address))" : "\(address)"
            let reason = PublicText.of("\(error)")
            let (code, sentence) = judge(number, shown, reason, facts.paths[address.ipAddress ?? .v4(.any)])
            return [Finding(code, .failure, sentence, evidence: evidence)]
        }
        let reason = PublicText.of("\(failures[0].1)")
        return [Finding(.connectionFailed, .failure, .connectionFailed(place, reason), evidence: evidence)]
    }

    private static func judge(
        _ number: CInt, _ place: String, _ reason: String, _ path: PathOutcome?
    ) -> (FindingCode, Sentence) {
        if number == ECONNREFUSED { return (.portRefused, .portRefused(place)) }
        if number == ECONNRESET { return (.connectionBroken, .connectionBroken(place, reason)) }
        if number == EACCES || number == EPERM || path?.ownFirewall == true {
            return (.connectionForbidden, .connectionForbidden(place, "\(Sentence.thisMachineItself)"))
        }
        if let forbidder = path?.forbidder {
            return (.connectionForbidden, .connectionForbidden(place, "\(forbidder)"))
        }
        if number == EHOSTUNREACH || path?.unreachableSays != nil {
            return (.hostUnreachable, .hostUnreachable(place))
        }
        return path?.isReached == true ? (.portFiltered, .portFiltered(place)) : (.noAnswer, .noAnswer(place))
    }

    /// The routers on the path, one line for each address.
    private static func ways(_ facts: LadderFacts) -> [String] {
        facts.paths.sorted { "\($0.key)" < "\($1.key)" }.filter { $0.value.failure == nil }.map { address, path in
            let routers = path.routers.map { $0.map { "\($0)" } ?? "?" } + [path.isReached ? "\(address)" : "no answer"]
            return "path to \(address): \(routers.joined(separator: ", "))"
        }
    }

    /// Full-size packets are lost without an ICMP error, so the exchange times out.
    private static func narrowPath(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        guard let (place, outcome) = facts.talk, outcome.isTimeout, let address = place.ipAddress,
            let sizes = facts.packetSizes[address], sizes.told == nil, let largest = sizes.answered.max(),
            largest < sizes.full
        else { return [] }
        let answered = sizes.answered.sorted().map(String.init).joined(separator: ", ")
        return [
            Finding(
                .packetsTooLarge, .failure, .packetsTooLarge(target.shownPlace, "\(sizes.full)", "\(largest)"),
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
