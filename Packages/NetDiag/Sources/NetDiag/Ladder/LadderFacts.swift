/// Everything that is known so far. Nil, and an absent key, mean that the fact was not checked.
struct LadderFacts: Sendable {
    var environment: Environment?
    var environmentError: ResolverError?
    var routes: [IPAddress: Route?] = [:]
    var lookup: Result<[IPAddress], ResolverError>?
    var nameServers: [SocketAddress: NameServerAnswer] = [:]
    /// The answers of the name servers over TCP.
    var nameServersByTCP: [SocketAddress: NameServerAnswer] = [:]
    /// The answers of the name servers for a name that does not exist.
    var nonexistentNameAnswers: [SocketAddress: NameServerAnswer] = [:]
    /// The outcome of each connection attempt; `.some(nil)` is a success.
    var connections: [SocketAddress: StreamError?] = [:]
    var neighbors: [Neighbor]?
    var pings: [IPAddress: PingOutcome] = [:]
    var paths: [IPAddress: PathOutcome] = [:]
    var packetSizes: [IPAddress: PacketSizes] = [:]
    var exchange: (SocketAddress, ExchangeOutcome)?
    /// The outcomes of exchanges with addresses that only another name server gives for the name.
    var otherExchanges: [SocketAddress: ExchangeOutcome] = [:]
    var inspection: Inspection?
    /// The answer to a request in plain HTTP.
    var plainPage: ExchangeOutcome?
    /// The error that ended an open connection, from a stream.
    var connectionLoss: StreamError?
    /// The finding that follows directly from the error of a failed load. If it is set, the target is not contacted.
    var verdict: Finding?

    /// The known addresses of the first hop: the proxy if there is one, else the target.
    func addresses(of target: DiagnosisTarget) -> [IPAddress] {
        if let literal = target.firstLiteral { return [literal] }
        if case .success(let found) = lookup { return found }
        return []
    }

    /// The addresses to which a route is needed: those of the first hop or, if they are unknown, those of the name servers.
    func destinations(of target: DiagnosisTarget) -> [IPAddress] {
        let addresses = addresses(of: target)
        guard addresses.isEmpty, target.host != nil else { return addresses }
        return (environment?.nameServers ?? []).compactMap(\.ipAddress).filter { !$0.isLoopback && !$0.isAny }
    }

    var connected: [SocketAddress] { connections.compactMap { $0.value == nil ? $0.key : nil } }

    /// The facts that concern one address family.
    func restricted(to family: AddressFamilies) -> LadderFacts {
        var facts = self
        facts.lookup = lookup?.map { $0.filter { family.contains($0.family) } }
        facts.connections = connections.filter { $0.key.ipAddress.map { family.contains($0.family) } ?? false }
        facts.routes = routes.filter { family.contains($0.key.family) }
        facts.paths = paths.filter { family.contains($0.key.family) }
        return facts
    }

    mutating func receive(_ result: ProbeResult, of probe: Probe) {
        switch (probe, result) {
        case (_, .environment(let found)): environment = found
        case (_, .environmentUnknown(let error)): environmentError = error
        case (.route(let address), .route(let route)): routes[address] = .some(route)
        case (_, .lookup(let result)): lookup = result
        case (.nameServer(let server, _, .udp), .name(let answer)): nameServers[server] = answer
        case (.nameServer(let server, _, .tcp), .name(let answer)): nameServersByTCP[server] = answer
        case (.nonexistentName(let server, _), .name(let answer)): nonexistentNameAnswers[server] = answer
        case (.connect(let address), .connect(let error)): connections[address] = .some(error)
        case (_, .neighbors(let found)): neighbors = found
        case (.ping(let address), .ping(let outcome)): pings[address] = outcome
        case (.path(let address), .path(let outcome)): paths[address] = outcome
        case (.packetSizes(let address, _), .packetSizes(let sizes)): packetSizes[address] = sizes
        case (.exchange(let address), .exchange(let outcome)): exchange = (address, outcome)
        case (.alternative(let address), .exchange(let outcome)): otherExchanges[address] = outcome
        case (.plainPage, .exchange(let outcome)): plainPage = outcome
        case (_, .inspection(let found)): inspection = found
        default: assertionFailure("\(probe) gave \(result)")
        }
    }
}
