internal import Glibc

/// Connections to the port.
enum ConnectionRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        if let breakage = facts.breakage {
            return [Finding(.connectionBroken, .failure, .connectionBroken(target.place, "\(breakage)"))]
        }
        let failures = facts.connections.compactMap { item in item.value.map { (item.key, $0) } }
            .sorted { "\($0.0)" < "\($1.0)" }
        let evidence = failures.map { "\($0.0): \($0.1)" }
        if failures.isEmpty { return [] }
        if !facts.connected.isEmpty { return brokenFamily(facts, failures, evidence) }
        // What says the most about the target counts: an answer before a router's word before silence.
        for number in [ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ETIMEDOUT] {
            guard let (address, _) = failures.first(where: { $0.1.isPOSIX(number) }) else { continue }
            let place = target.literal == nil ? "\(target.place) (\(address))" : "\(address)"
            let (code, sentence): (FindingCode, Sentence) =
                switch number {
                case ECONNREFUSED: (.portRefused, .portRefused(place))
                case ECONNRESET: (.connectionBroken, .connectionBroken(place, "\(failures[0].1)"))
                case EHOSTUNREACH: (.hostUnreachable, .hostUnreachable(place))
                default: (.noAnswer, .noAnswer(place))
                }
            return [Finding(code, .failure, sentence, evidence: evidence)]
        }
        return [
            Finding(
                .connectionFailed, .failure, .connectionFailed(target.place, "\(failures[0].1)"), evidence: evidence)
        ]
    }

    /// One family fails throughout while the other works, though the kernel has a route for it: a machine without IPv6 at
    /// all is healthy.
    private static func brokenFamily(
        _ facts: LadderFacts, _ failures: [(SocketAddress, StreamError)], _ evidence: [String]
    ) -> [Finding] {
        let working = facts.connected.reduce(into: AddressFamilies()) { $0.formUnion(family($1)) }
        return [AddressFamilies.v4, .v6].compactMap { broken in
            let failed = failures.filter { family($0.0) == broken }
            guard !working.contains(broken), !failed.isEmpty, failed.contains(where: { !$0.1.isPOSIX(ENETUNREACH) })
            else {
                return nil
            }
            let names = broken == .v6 ? ("IPv6", "IPv4") : ("IPv4", "IPv6")
            return Finding(.familyBroken, .warning, .familyBroken(names.0, names.1), evidence: evidence)
        }
    }

    private static func family(_ address: SocketAddress) -> AddressFamilies {
        if case .ip(let address, _) = address { address.family } else { [] }
    }
}
