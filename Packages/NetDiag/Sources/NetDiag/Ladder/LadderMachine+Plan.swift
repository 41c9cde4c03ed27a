internal import Glibc

/// The plan: the probes that are useful, given the facts.
extension LadderMachine {
    func plan(_ now: ContinuousClock.Instant) -> [Probe] {
        var probes: [Probe] = [.environment]
        guard let host = target.firstHost, target.proxyFault == nil, facts.verdict == nil else {
            // Without a remote target, only the routers are probed.
            if target.host == nil { probes += pings(of: defaultGateways) + neighborsAfterPings }
            return probes
        }
        probes += nameProbes(host)
        guard target.firstPort > 0 else { return probes }

        probes += facts.destinations(of: target).prefix(LadderMachine.maxAddresses).map { .route($0) }
        if facts.connectionLoss == nil {
            for endpoint in endpoints where facts.connections[endpoint] == nil { probes.append(.connect(endpoint)) }
        }
        if isPathSuspect(now) {
            probes += pings(of: gateways) + neighborsAfterPings
            probes += unansweredAddresses(now).map { .path($0) }
        }
        if facts.exchange == nil, target.hasExchange,
            let endpoint = endpoints.first(where: { facts.connections[$0] == .some(nil) })
        {
            probes.append(.exchange(endpoint))
        }
        return probes + afterExchange(now)
    }

    /// The addresses, with port, to which this machine connects.
    private var endpoints: [SocketAddress] {
        facts.addresses(of: target).prefix(LadderMachine.maxAddresses).map { .ip($0, port: target.firstPort) }
    }

    // MARK: Names

    private func nameProbes(_ host: String) -> [Probe] {
        guard target.firstLiteral == nil else { return [] }
        var probes: [Probe] = facts.lookup == nil ? [.lookup(host)] : []
        guard needsNameServers, isServed(host), let environment = facts.environment else { return probes }
        for server in environment.nameServers.prefix(LadderMachine.maxNameServers) {
            probes.append(.nameServer(server, name: host, over: .udp))
            // Servers that refuse or fail are not queried again: many hosts limit the rate of errors (RFC 1812 §4.3.2.8).
            switch facts.nameServers[server] {
            case nil, .refused?, .failed?: break
            case .addresses?, .noSuchName?, .noAddress?, .silent?, .truncated?:
                probes.append(.nonexistentName(server, name: nonexistentName(near: host)))
            }
            if [.silent, .truncated].contains(facts.nameServers[server]) {
                probes.append(.nameServer(server, name: host, over: .tcp))
            }
        }
        return probes
    }

    /// Whether to query the name servers: if the name is looked up here, or if a lookup failed elsewhere.
    private var needsNameServers: Bool {
        if case .failure = facts.lookup { return true }
        return facts.connections.isEmpty || started.contains(.lookup(target.firstHost ?? ""))
    }

    /// Whether name servers serve the name: not `localhost` (RFC 6761 §6.3), and not names under `local` (RFC 6762 §3).
    private func isServed(_ host: String) -> Bool {
        let label = host.lowercased().split(separator: ".").last
        return label != "localhost" && label != "local"
    }

    /// An unregistered name in the same top-level domain.
    private func nonexistentName(near host: String) -> String {
        let labels = host.split(separator: ".")
        return labels.count > 1 ? "\(randomLabel).\(labels[labels.count - 1])" : "\(randomLabel).invalid"
    }

    // MARK: The path

    private var defaultGateways: [IPAddress] {
        (facts.environment?.network.defaultRoutes ?? []).compactMap(\.zonedGateway)
    }

    private var gateways: [IPAddress] {
        let destinations = facts.destinations(of: target)
        if destinations.isEmpty { return defaultGateways }
        let routes = destinations.compactMap { facts.routes[$0] ?? nil }
        return routes.filter { $0.kind == .unicast }.compactMap(\.zonedGateway)
    }

    private func pings(of gateways: [IPAddress]) -> [Probe] {
        gateways.prefix(LadderMachine.maxNameServers).map { .ping($0) }
    }

    /// Reads the neighbour table once the pings have ended, because they make the kernel resolve its neighbours.
    private var neighborsAfterPings: [Probe] {
        let areRoutesKnown = facts.destinations(of: target).prefix(LadderMachine.maxAddresses)
            .allSatisfy { facts.routes[$0] != nil }
        let isPinged = gateways.prefix(LadderMachine.maxNameServers).allSatisfy { facts.pings[$0] != nil }
        return facts.environment != nil && areRoutesKnown && isPinged ? [.neighbors] : []
    }

    /// Whether the path is suspect: the lookup or a connection has failed, or is slow.
    private func isPathSuspect(_ now: ContinuousClock.Instant) -> Bool {
        if isSlow(.lookup(target.firstHost ?? ""), now) { return true }
        if case .failure(let error) = facts.lookup, ![.hostNotFound, .noData, .invalidName].contains(error.code) {
            return true
        }
        return !unansweredAddresses(now).isEmpty
    }

    /// One address of each family that does not answer, or is slow to answer.
    private func unansweredAddresses(_ now: ContinuousClock.Instant) -> [IPAddress] {
        var families: AddressFamilies = []
        return endpoints.compactMap { endpoint in
            guard let address = endpoint.ipAddress, !families.contains(address.family) else { return nil }
            let isUnanswered =
                switch facts.connections[endpoint] {
                case .some(.some(let error)):
                    ![ECONNREFUSED, ECONNRESET, ENETUNREACH].contains(where: error.isPOSIX)
                case .some(.none): false
                case nil: isSlow(.connect(endpoint), now)
                }
            guard isUnanswered, let route = facts.routes[address] ?? nil, route.kind == .unicast else { return nil }
            families.formUnion(address.family)
            return address
        }
    }

    // MARK: After the exchange

    private func afterExchange(_ now: ContinuousClock.Instant) -> [Probe] {
        var probes: [Probe] = []
        if let (endpoint, outcome) = facts.exchange ?? slowExchange(now), outcome.isTimeout,
            let address = endpoint.ipAddress,
            let route = facts.routes[address] ?? nil, route.kind == .unicast
        {
            probes.append(.packetSizes(address, full: packetSize(of: route)))
        }
        if case (let endpoint, .tlsFailed(let error))? = facts.exchange, error.isAboutCertificate {
            probes.append(.inspection(endpoint))
        }
        if isPortalPossible(now),
            let address = facts.addresses(of: target).first(where: { !$0.isLoopback && !$0.isAny })
        {
            probes.append(.plainPage(address))
        }
        if isNameSuspect(now) {
            probes += facts.otherAddresses(of: target).prefix(LadderMachine.maxAlternatives).map {
                .alternative(.ip($0, port: target.firstPort))
            }
        }
        return probes
    }

    private func slowExchange(_ now: ContinuousClock.Instant) -> (SocketAddress, ExchangeOutcome)? {
        for case .exchange(let endpoint) in underWay.keys where isSlow(.exchange(endpoint), now) {
            return (endpoint, .unanswered(StreamError(posix: ETIMEDOUT)))
        }
        return nil
    }

    /// The maximum packet size of the route's link, or Ethernet's if it is unknown.
    private func packetSize(of route: Route) -> Int {
        let interfaces = facts.environment?.network.interfaces ?? []
        return interfaces.first { $0.index == route.interfaceIndex }?.maximumPacketSize.map { min($0, 9216) } ?? 1500
    }

    /// Whether every connection attempt has failed or is slow.
    private func isUnconnected(_ now: ContinuousClock.Instant) -> Bool {
        facts.connected.isEmpty && !endpoints.isEmpty
            && endpoints.allSatisfy { facts.connections[$0] != nil || isSlow(.connect($0), now) }
    }

    /// Whether a captive portal may be answering in place of the server.
    private func isPortalPossible(_ now: ContinuousClock.Instant) -> Bool {
        guard target.proxy == nil, case .http = target.service else { return false }
        if target.isSecure {
            guard target.port == 443 else { return false }
            if isUnconnected(now) { return true }
            if case .tlsFailed(let error)? = facts.exchange?.1 { return !error.isAboutDates }
            return false
        }
        guard target.port == 80, case .answered(let answer)? = facts.exchange?.1 else { return false }
        return answer.isTemporaryMove && PortalRules.leadsElsewhere(answer, from: target)
    }

    /// Whether the name may have resolved to a wrong address.
    private func isNameSuspect(_ now: ContinuousClock.Instant) -> Bool {
        guard target.proxy == nil, facts.environment != nil else { return false }
        if isUnconnected(now) { return true }
        if case .tlsFailed(let error)? = facts.exchange?.1 { return error.isAboutCertificate && !error.isAboutDates }
        return false
    }
}

extension LadderFacts {
    /// The addresses that a name server gives but the system's resolver does not.
    func otherAddresses(of target: DiagnosisTarget) -> [IPAddress] {
        let known = Set(addresses(of: target))
        let answered = (Array(nameServers) + Array(nameServersByTCP)).sorted { "\($0.key)" < "\($1.key)" }.flatMap {
            if case .addresses(let found) = $0.value { found } else { [IPAddress]() }
        }
        var seen: Set<IPAddress> = known
        return answered.filter { !$0.isAny && !$0.isLoopback && seen.insert($0).inserted }
    }
}

extension DiagnosisTarget {
    /// Whether there is something to send or read once connected.
    var hasExchange: Bool { isSecure || proxy != nil || service != .bytes }
}

extension Route {
    /// The router's address; a link-local one with the interface as its zone.
    var zonedGateway: IPAddress? {
        guard case .v6(let address)? = gateway, address.isLinkLocal else { return gateway }
        return IPv6Address(rawValue: address.rawValue, zone: interface).map { .v6($0) }
    }
}

extension ExchangeOutcome {
    /// Whether the exchange timed out.
    var isTimeout: Bool {
        switch self {
        case .unanswered(let error), .tlsFailed(let error): error.isPOSIX(ETIMEDOUT)
        case .connected, .answered, .redirectLoop, .greeted, .wrongProtocol, .proxyRefused, .proxyFailed: false
        }
    }

    /// Whether the intended server answered.
    var isSuccess: Bool {
        switch self {
        case .connected, .answered, .greeted: true
        case .tlsFailed, .redirectLoop, .wrongProtocol, .unanswered, .proxyRefused, .proxyFailed: false
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
