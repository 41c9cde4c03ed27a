internal import Glibc

/// The plan: the probes that are useful, given the facts.
extension LadderMachine {
    func wanted(_ now: ContinuousClock.Instant) -> [Probe] {
        var probes: [Probe] = [.surroundings]
        guard let host = target.firstHost, target.proxyFault == nil, facts.verdict == nil else {
            // Without a remote target, only the routers are probed.
            if target.host == nil { probes += pings(of: defaultGateways) + neighborsAfterPings }
            return probes
        }
        probes += nameProbes(host)
        guard target.firstPort > 0 else { return probes }

        probes += facts.destinations(of: target).prefix(LadderMachine.mostAddresses).map { .route($0) }
        if facts.breakage == nil {
            for place in places where facts.connections[place] == nil { probes.append(.connect(place)) }
        }
        if isWayInDoubt(now) {
            probes += pings(of: gateways) + neighborsAfterPings
            probes += lostAddresses(now).map { .path($0) }
        }
        if facts.talk == nil, target.isTalkative,
            let place = places.first(where: { facts.connections[$0] == .some(nil) })
        {
            probes.append(.talk(place))
        }
        return probes + afterTalk(now)
    }

    /// The addresses, with port, to which this machine connects.
    private var places: [SocketAddress] {
        facts.addresses(of: target).prefix(LadderMachine.mostAddresses).map { .ip($0, port: target.firstPort) }
    }

    // MARK: Names

    private func nameProbes(_ host: String) -> [Probe] {
        guard target.firstLiteral == nil else { return [] }
        var probes: [Probe] = facts.lookup == nil ? [.lookup(host)] : []
        guard isNameInDoubt, isServed(host), let surroundings = facts.surroundings else { return probes }
        for server in surroundings.nameServers.prefix(LadderMachine.mostNameServers) {
            probes.append(.nameServer(server, name: host, over: .udp))
            // Servers that refuse or fail are not queried again: many hosts limit the rate of errors (RFC 1812 §4.3.2.8).
            switch facts.nameServers[server] {
            case nil, .refused?, .failed?: break
            case .addresses?, .noSuchName?, .noAddress?, .silent?, .cut?:
                probes.append(.invention(server, name: inventedName(beside: host)))
            }
            if [.silent, .cut].contains(facts.nameServers[server]) {
                probes.append(.nameServer(server, name: host, over: .tcp))
            }
        }
        return probes
    }

    /// Whether to query the name servers: if the name is looked up here, or if a lookup failed elsewhere.
    private var isNameInDoubt: Bool {
        if case .failure = facts.lookup { return true }
        return facts.connections.isEmpty || asked.contains(.lookup(target.firstHost ?? ""))
    }

    /// Whether name servers serve the name: not `localhost` (RFC 6761 §6.3), and not names under `local` (RFC 6762 §3).
    private func isServed(_ host: String) -> Bool {
        let label = host.lowercased().split(separator: ".").last
        return label != "localhost" && label != "local"
    }

    /// An unregistered name in the same top-level domain.
    private func inventedName(beside host: String) -> String {
        let labels = host.split(separator: ".")
        return labels.count > 1 ? "\(noise).\(labels[labels.count - 1])" : "\(noise).invalid"
    }

    // MARK: The path

    private var defaultGateways: [IPAddress] {
        (facts.surroundings?.network.defaultRoutes ?? []).compactMap(\.zonedGateway)
    }

    private var gateways: [IPAddress] {
        let destinations = facts.destinations(of: target)
        if destinations.isEmpty { return defaultGateways }
        let routes = destinations.compactMap { facts.routes[$0] ?? nil }
        return routes.filter { $0.kind == .unicast }.compactMap(\.zonedGateway)
    }

    private func pings(of gateways: [IPAddress]) -> [Probe] {
        gateways.prefix(LadderMachine.mostNameServers).map { .ping($0) }
    }

    /// Reads the neighbour table once the pings have ended, because they make the kernel resolve its neighbours.
    private var neighborsAfterPings: [Probe] {
        let areRoutesKnown = facts.destinations(of: target).prefix(LadderMachine.mostAddresses)
            .allSatisfy { facts.routes[$0] != nil }
        let isPinged = gateways.prefix(LadderMachine.mostNameServers).allSatisfy { facts.pings[$0] != nil }
        return facts.surroundings != nil && areRoutesKnown && isPinged ? [.neighbors] : []
    }

    /// Whether the path is suspect: the lookup or a connection has failed, or is slow.
    private func isWayInDoubt(_ now: ContinuousClock.Instant) -> Bool {
        if isSlow(.lookup(target.firstHost ?? ""), now) { return true }
        if case .failure(let error) = facts.lookup, ![.hostNotFound, .noData, .invalidName].contains(error.code) {
            return true
        }
        return !lostAddresses(now).isEmpty
    }

    /// One address of each family that does not answer, or is slow to answer.
    private func lostAddresses(_ now: ContinuousClock.Instant) -> [IPAddress] {
        var families: AddressFamilies = []
        return places.compactMap { place in
            guard let address = place.ipAddress, !families.contains(address.family) else { return nil }
            let isLost =
                switch facts.connections[place] {
                case .some(.some(let error)):
                    ![ECONNREFUSED, ECONNRESET, ENETUNREACH].contains(where: error.isPOSIX)
                case .some(.none): false
                case nil: isSlow(.connect(place), now)
                }
            guard isLost, let route = facts.routes[address] ?? nil, route.kind == .unicast else { return nil }
            families.formUnion(address.family)
            return address
        }
    }

    // MARK: After the exchange

    private func afterTalk(_ now: ContinuousClock.Instant) -> [Probe] {
        var probes: [Probe] = []
        if let (place, outcome) = facts.talk ?? slowTalk(now), outcome.isTimeout, let address = place.ipAddress,
            let route = facts.routes[address] ?? nil, route.kind == .unicast
        {
            probes.append(.packetSizes(address, full: packetSize(of: route)))
        }
        if case (let place, .insecure(let error))? = facts.talk, error.isAboutCertificate {
            probes.append(.inspection(place))
        }
        if isPortalPossible(now),
            let address = facts.addresses(of: target).first(where: { !$0.isLoopback && !$0.isAny })
        {
            probes.append(.plainPage(address))
        }
        if isNameSuspect(now) {
            probes += facts.otherAddresses(of: target).prefix(LadderMachine.mostOthers).map {
                .alternative(.ip($0, port: target.firstPort))
            }
        }
        return probes
    }

    private func slowTalk(_ now: ContinuousClock.Instant) -> (SocketAddress, TalkOutcome)? {
        for case .talk(let place) in underWay.keys where isSlow(.talk(place), now) {
            return (place, .unanswered(StreamError(posix: ETIMEDOUT)))
        }
        return nil
    }

    /// The maximum packet size of the route's link, or Ethernet's if it is unknown.
    private func packetSize(of route: Route) -> Int {
        let interfaces = facts.surroundings?.network.interfaces ?? []
        return interfaces.first { $0.index == route.interfaceIndex }?.maximumPacketSize.map { min($0, 9216) } ?? 1500
    }

    /// Whether every connection attempt has failed or is slow.
    private func isUnconnected(_ now: ContinuousClock.Instant) -> Bool {
        facts.connected.isEmpty && !places.isEmpty
            && places.allSatisfy { facts.connections[$0] != nil || isSlow(.connect($0), now) }
    }

    /// Whether a captive portal may be answering in place of the server.
    private func isPortalPossible(_ now: ContinuousClock.Instant) -> Bool {
        guard target.proxy == nil, case .http = target.service else { return false }
        if target.isSecure {
            guard target.port == 443 else { return false }
            if isUnconnected(now) { return true }
            if case .insecure(let error)? = facts.talk?.1 { return !error.isAboutDates }
            return false
        }
        guard target.port == 80, case .answered(let answer)? = facts.talk?.1 else { return false }
        return answer.isTemporaryMove && PortalRules.leadsElsewhere(answer, from: target)
    }

    /// Whether the name may have resolved to a wrong address.
    private func isNameSuspect(_ now: ContinuousClock.Instant) -> Bool {
        guard target.proxy == nil, facts.surroundings != nil else { return false }
        if isUnconnected(now) { return true }
        if case .insecure(let error)? = facts.talk?.1 { return error.isAboutCertificate && !error.isAboutDates }
        return false
    }
}

extension LadderFacts {
    /// The addresses that a name server gives but the system's resolver does not.
    func otherAddresses(of target: DiagnosisTarget) -> [IPAddress] {
        let known = Set(addresses(of: target))
        let said = (Array(nameServers) + Array(nameServersByTCP)).sorted { "\($0.key)" < "\($1.key)" }.flatMap {
            if case .addresses(let found) = $0.value { found } else { [IPAddress]() }
        }
        var seen: Set<IPAddress> = known
        return said.filter { !$0.isAny && !$0.isLoopback && seen.insert($0).inserted }
    }
}

extension DiagnosisTarget {
    /// Whether there is something to send or read once connected.
    var isTalkative: Bool { isSecure || proxy != nil || service != .bytes }
}

extension Route {
    /// The router's address; a link-local one with the interface as its zone.
    var zonedGateway: IPAddress? {
        guard case .v6(let address)? = gateway, address.isLinkLocal else { return gateway }
        return IPv6Address(rawValue: address.rawValue, zone: interface).map { .v6($0) }
    }
}

extension TalkOutcome {
    /// Whether the exchange timed out.
    var isTimeout: Bool {
        switch self {
        case .unanswered(let error), .insecure(let error): error.isPOSIX(ETIMEDOUT)
        case .secured, .answered, .loops, .greeted, .otherProtocol, .proxyRefused, .proxyFailed: false
        }
    }

    /// Whether the intended server answered.
    var isSuccess: Bool {
        switch self {
        case .secured, .answered, .greeted: true
        case .insecure, .loops, .otherProtocol, .unanswered, .proxyRefused, .proxyFailed: false
        }
    }
}

extension StreamError {
    /// Whether a certificate was rejected because of its dates.
    var isAboutDates: Bool {
        [.certificateExpired, .certificateNotYetValid].contains(tlsFailure)
    }

    /// Whether the server's certificate was rejected.
    var isAboutCertificate: Bool {
        isAboutDates
            || [.unknownRoot, .noRoot, .invalidChain, .badCertificate, .hostNameMismatch].contains(tlsFailure)
    }
}
