/// Ways and routers. Asked only when no connection came about.
enum RouteRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        guard let network = facts.surroundings?.network else { return [] }
        let addresses = facts.addresses(of: target).filter { facts.routes[$0] != nil }
        if addresses.isEmpty {
            guard facts.addresses(of: target).isEmpty, network.defaultRoutes.allSatisfy(\.isDead) else { return [] }
            // Who has no way out may still look names up and talk on the link: that is for the other rungs to say.
            let isNeeded = target.host == nil || isFailure(facts.lookup)
            return [Finding(.noRoute, isNeeded ? .failure : .note, .noRouteKnown(""))]
        }
        var findings: [Finding] = []
        let missing = addresses.filter { facts.routes[$0] == .some(nil) }
        if missing.count == addresses.count {
            findings.append(
                Finding(.noRoute, .failure, .noRouteKnown(missing.map(\.description).joined(separator: ", "))))
        }
        let refused = addresses.filter { (facts.routes[$0] ?? nil)?.kind == .refused }
        if !refused.isEmpty, refused.count + missing.count == addresses.count {
            findings.append(
                Finding(.routeRefused, .failure, .routeRefused(refused.map(\.description).joined(separator: ", "))))
        }
        return findings + silentNeighbors(facts, addresses)
    }

    /// Each address's next hop that did not answer on the link: a failure if that goes for all of them.
    private static func silentNeighbors(_ facts: LadderFacts, _ addresses: [IPAddress]) -> [Finding] {
        guard let neighbors = facts.neighbors else { return [] }
        var findings: [Finding] = []
        var silent = 0
        var ways = 0
        for address in addresses {
            guard let route = facts.routes[address] ?? nil, route.kind == .unicast else { continue }
            ways += 1
            let hop = route.gateway ?? address
            guard
                let neighbor = neighbors.first(where: { $0.address == hop && $0.interfaceIndex == route.interfaceIndex }
                ),
                neighbor.state == .failed || neighbor.state == .resolving
            else { continue }
            silent += 1
            let interface = route.interface ?? "?"
            let finding =
                route.gateway == nil
                ? Finding(.hostSilent, .failure, .hostSilent("\(hop)", interface))
                : Finding(.gatewaySilent, .failure, .gatewaySilent("\(hop)", interface))
            if !findings.contains(finding) { findings.append(finding) }
        }
        return silent == ways
            ? findings : findings.map { Finding($0.code, .warning, $0.sentence, evidence: $0.evidence) }
    }

    private static func isFailure(_ lookup: Result<[IPAddress], ResolverError>?) -> Bool {
        if case .failure = lookup { true } else { false }
    }
}
