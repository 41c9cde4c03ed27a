internal import HTTPMessage

/// Findings about interfaces, carriers and addresses.
enum LinkRules {
    /// The faults of this machine's links and addresses that concern sending to `host` over `families`.
    static func findings(
        _ network: NetworkSnapshot, families: AddressFamilies, host: String? = nil, expiredLeases: [DHCPLease] = []
    ) -> [Finding] {
        let interfaces = network.interfaces.filter { !$0.isLoopback }
        if interfaces.isEmpty { return [Finding(.noInterface, .failure, .noInterface)] }
        let evidence = interfaces.map(describe)
        let up = interfaces.filter(\.isUp)
        if up.isEmpty { return [Finding(.linkOff, .failure, .linkOff(names(interfaces)), evidence: evidence)] }
        let connected = up.filter(\.hasCarrier)
        if connected.isEmpty { return [Finding(.noCarrier, .failure, .noCarrier(names(up)), evidence: evidence)] }

        let everyUsable = connected.flatMap(\.addresses).filter(isUsable)
        let usable = everyUsable.filter { families.contains($0.address.family) }
        var findings = overdueLeases(usable, evidence)
        for interface in connected {
            for duplicate in interface.addresses
            where duplicate.isDuplicate && families.contains(duplicate.address.family) {
                findings.append(
                    Finding(
                        .duplicateAddress, usable.isEmpty ? .failure : .warning,
                        .duplicateAddress("\(duplicate.address)", interface.name), evidence: evidence))
            }
        }
        if !usable.isEmpty || findings.contains(where: { $0.severity == .failure }) { return findings }
        if let host, let other = everyUsable.first {
            let (here, there) = other.address.family == .v4 ? ("IPv4", "IPv6") : ("IPv6", "IPv4")
            return findings + [
                Finding(
                    .familyMissing, .failure, .familyMissing(PublicText.of(host), there, here), evidence: evidence)
            ]
        }
        if let lease = expiredLeases.first(where: { lease in connected.contains { $0.name == lease.interface } }) {
            let sentence = Sentence.leaseExpired(
                "\(lease.address)", lease.interface, "\(HTTPDate(secondsSinceEpoch: lease.expiry))")
            return findings + [Finding(.leaseExpired, .failure, sentence, evidence: evidence)]
        }
        let linkLocal = connected.flatMap(\.addresses).filter(\.address.isLinkLocal)
        return findings + [
            linkLocal.isEmpty
                ? Finding(.noAddress, .failure, .noAddress(names(connected)), evidence: evidence)
                : Finding(
                    .linkLocalOnly, .failure,
                    .linkLocalOnly(linkLocal.map { "\($0.address)" }.joined(separator: ", ")), evidence: evidence)
        ]
    }

    /// Whether this machine has an address of the family that is valid beyond its link.
    static func hasAddress(_ network: NetworkSnapshot, _ family: AddressFamilies) -> Bool {
        network.interfaces.contains { interface in
            interface.isUp && interface.hasCarrier && !interface.isLoopback
                && interface.addresses.contains { isUsable($0) && family.contains($0.address.family) }
        }
    }

    /// The addresses whose lease was not renewed in time, unless another address of their family remains.
    private static func overdueLeases(_ usable: [InterfaceAddress], _ evidence: [String]) -> [Finding] {
        usable.filter { address in
            guard !address.isTemporary, address.lease?.isOverdue == true else { return false }
            return !usable.contains { $0.address.family == address.address.family && $0.lease?.isOverdue != true }
        }.map { address in
            let seconds = address.lease?.remaining.components.seconds ?? 0
            return Finding(
                .leaseOverdue, .warning, .leaseOverdue("\(address.address)", "\(seconds)"), evidence: evidence)
        }
    }

    /// Whether hosts beyond the link can answer to the address.
    private static func isUsable(_ address: InterfaceAddress) -> Bool {
        !address.isTentative && !address.isDuplicate && !address.address.isLinkLocal && !address.address.isLoopback
    }

    private static func names(_ interfaces: [NetworkInterface]) -> String {
        interfaces.map(\.name).joined(separator: ", ")
    }

    private static func describe(_ interface: NetworkInterface) -> String {
        let state = !interface.isUp ? "down" : interface.hasCarrier ? "connected" : "no carrier"
        let addresses = interface.addresses.map { address in
            let lease = address.lease.map { " (lease: \($0.remaining.components.seconds) s left)" } ?? ""
            return "\(address.address)/\(address.prefixLength)\(address.isDuplicate ? " (duplicate)" : "")\(lease)"
        }
        return ([interface.name, state] + addresses).joined(separator: "  ")
    }
}

/// Findings about routes and routers. They apply only if no connection succeeded.
enum RouteRules {
    static func findings(_ facts: LadderFacts, _ target: DiagnosisTarget) -> [Finding] {
        guard let network = facts.environment?.network else { return [] }
        let addresses = facts.destinations(of: target).filter { facts.routes[$0] != nil }
        guard facts.addresses(of: target).isEmpty else {
            return routes(facts, addresses) + silentNeighbors(facts, addresses)
        }
        // A name server that is off is no fault of the link, but a silent router in front of it is.
        let routed = addresses.filter { (facts.routes[$0] ?? nil)?.gateway != nil }
        var findings = addresses.isEmpty ? silentGateways(facts, network) : silentNeighbors(facts, routed)
        if network.defaultRoutes.allSatisfy(\.isDead) {
            // Without a default route, hosts on the link may still be reachable and names may still be looked up: then the other
            // rungs decide.
            let isNeeded = target.host == nil || isFailure(facts.lookup)
            findings.append(Finding(.noRoute, isNeeded ? .failure : .note, .noRouteKnown("")))
        }
        return findings
    }

    /// The routes to the target.
    private static func routes(_ facts: LadderFacts, _ addresses: [IPAddress]) -> [Finding] {
        if addresses.isEmpty { return [] }
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
        return findings
    }

    /// The default gateways that do not answer: a failure only if this concerns all of them.
    private static func silentGateways(_ facts: LadderFacts, _ network: NetworkSnapshot) -> [Finding] {
        let routes = network.defaultRoutes.filter { !$0.isDead && $0.gateway != nil }
        let silent = routes.filter { route in route.gateway.map { isSilent($0, route, facts) } ?? false }
        return silent.map { route in
            Finding(
                .gatewaySilent, silent.count == routes.count ? .failure : .warning,
                .gatewaySilent(route.gateway.map { "\($0)" } ?? "", route.interface ?? "?"))
        }
    }

    /// Whether neither the kernel's neighbour resolution nor a ping received an answer from the next hop.
    private static func isSilent(_ hop: IPAddress, _ route: Route, _ facts: LadderFacts) -> Bool {
        if facts.pings[hop] == .answered || route.zonedGateway.flatMap({ facts.pings[$0] }) == .answered {
            return false
        }
        let neighbor = facts.neighbors?.first { $0.address == hop && $0.interfaceIndex == route.interfaceIndex }
        return neighbor?.state == .failed || neighbor?.state == .resolving
    }

    /// The next hops of the addresses that do not answer on the link: a failure only if this concerns all of them.
    private static func silentNeighbors(_ facts: LadderFacts, _ addresses: [IPAddress]) -> [Finding] {
        if facts.neighbors == nil { return [] }
        var findings: [Finding] = []
        var silent = 0
        var routed = 0
        for address in addresses {
            guard let route = facts.routes[address] ?? nil, route.kind == .unicast else { continue }
            routed += 1
            let hop = route.gateway ?? address
            guard isSilent(hop, route, facts) else { continue }
            silent += 1
            let interface = route.interface ?? "?"
            let finding =
                route.gateway == nil
                ? Finding(.hostSilent, .failure, .hostSilent("\(hop)", interface))
                : Finding(.gatewaySilent, .failure, .gatewaySilent("\(hop)", interface))
            if !findings.contains(finding) { findings.append(finding) }
        }
        return silent == routed
            ? findings : findings.map { Finding($0.code, .warning, $0.sentence, evidence: $0.evidence) }
    }

    /// Whether the lookup failed without an answer from a name server.
    private static func isFailure(_ lookup: Result<[IPAddress], ResolverError>?) -> Bool {
        guard case .failure(let error) = lookup else { return false }
        return ![.hostNotFound, .noData, .invalidName].contains(error.code)
    }
}
