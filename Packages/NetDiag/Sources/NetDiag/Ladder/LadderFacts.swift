internal import Glibc
internal import HTTPMessage

/// Everything that is known so far. Nil, and an absent key, mean that the fact was not checked.
struct LadderFacts: Sendable {
    var environment: Environment?
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
    var service: (SocketAddress, ServiceOutcome)?
    /// The outcomes of probes of the service at addresses that only another name server gives for the name.
    var alternatives: [SocketAddress: ServiceOutcome] = [:]
    var inspection: Inspection?
    /// The answer to a request in plain HTTP.
    var plainPage: ServiceOutcome?
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
        case (_, .environmentUnknown): break
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
        case (.service(let address), .service(let outcome)): service = (address, outcome)
        case (.alternative(let address), .service(let outcome)): alternatives[address] = outcome
        case (.plainPage, .service(let outcome)): plainPage = outcome
        case (_, .inspection(let found)): inspection = found
        default: assertionFailure("\(probe) gave \(result)")
        }
    }
}

extension LadderFacts {
    /// The facts in a stream's report and error, so that their steps are not repeated.
    init(_ report: ConnectionReport, error: StreamError?, of target: DiagnosisTarget) {
        var isAboutOpening = false
        // After redirects, the report begins with steps to other hosts.
        let begin = report.steps.lastIndex { step in
            if case .lookup(let name) = step.kind { name == target.firstHost } else { false }
        }
        for step in report.steps[(begin ?? 0)...] {
            switch (step.kind, step.outcome) {
            case (.lookup(let name), .failed(let error)):
                guard let reason = error.underlying as? ResolverError, name == target.firstHost else { continue }
                lookup = .failure(reason)
                isAboutOpening = true
            case (.connect(let address), .succeeded): receive(.connect(nil), of: .connect(address))
            case (.connect(let address), .failed(let error)):
                receive(.connect(error), of: .connect(address))
                isAboutOpening = true
            case (.proxy, .failed(let error)):
                if let address = connected.first { service = (address, .proxyFailed(error)) }
                isAboutOpening = true
            case (.tls, .failed(let error)):
                if let address = connected.first { service = (address, .tlsFailed(error)) }
                isAboutOpening = true
            case (.tls, .succeeded): if let address = connected.first { service = (address, .connected) }
            case (.request, .failed(let error)):
                if let address = connected.first { service = (address, .unanswered(error)) }
                isAboutOpening = true
            case (.lookup, _), (.connect, _), (.tls, _), (.stream, _), (.request, _), (.proxy, _): continue
            }
        }
        if lookup == nil, report.steps.contains(where: { if case .lookup = $0.kind { true } else { false } }) {
            let found = connections.keys.compactMap(\.ipAddress)
            if !found.isEmpty { lookup = .success(found.sorted { "\($0)" < "\($1)" }) }
        }
        if !isAboutOpening { connectionLoss = error }
    }

    /// Derives facts from the number of a protocol error, which says more than a probe could find out.
    mutating func learn(_ error: StreamError?, of target: DiagnosisTarget) {
        guard let error else { return }
        let reason = PublicText.of("\(error)")
        let name = target.displayName
        func conclude(_ code: FindingCode, _ sentence: Sentence) {
            verdict = Finding(code, .failure, sentence, evidence: [error.debugDescription])
            (connectionLoss, service) = (nil, nil)
        }
        switch error.domain {
        case .http:
            switch HTTPErrorNumber(rawValue: error.code) {
            case .parseFailure?: conclude(.notHTTP, .notHTTP(name))
            case .redirectionLoop?: conclude(.redirectLoop, .loadFailed(reason))
            case .badUserName?, .badPassword?: conclude(.credentialsRefused, .credentialsRefused(name, reason))
            case .authenticationTypeUnsupported?: conclude(.credentialsWanted, .loadFailed(reason))
            case .connectionLost?: conclude(.answerMissing, .answerMissing(name, reason))
            case .badURL?, nil: learnProxyError(error)
            }
        case .ftp: conclude(LadderFacts.code(ofReply: error.code), .loadFailed(reason))
        default: break
        }
    }

    /// Derives facts from an error of an HTTP proxy, by CFNetwork's numbers.
    private mutating func learnProxyError(_ error: StreamError) {
        guard let number = HTTPErrorNumber.ProxyError(rawValue: error.code) else { return }
        let reason = PublicText.of("\(error)")
        let code: FindingCode =
            switch number {
            case .connectionFailure: .proxyUnreachable
            case .badCredentials: .proxyCredentialsWanted
            case .tunnelConnectionFailure: .proxyFails
            case .unexpectedResponseToConnect: .proxyWrong
            case .automaticConfigurationFile, .automaticConfigurationFileAuthentication:
                ProxyRules.code(ofScript: error)
            }
        verdict = Finding(code, .failure, .loadFailed(reason), evidence: [error.debugDescription])
        (connectionLoss, service) = (nil, nil)
    }

    /// The finding for an FTP server's negative reply (RFC 959 §4.2.2, RFC 4217 §14).
    private static func code(ofReply code: Int) -> FindingCode {
        switch code {
        case 530, 532, 331, 332: .credentialsRefused
        case 533, 534, 536, 537: .nothingInCommon
        case 200: .notFTP  // kCFFTPErrorUnexpectedStatusCode: no valid reply, or one that no command expects
        case 550, 552, 553, 450, 452: .requestRefused
        case 400..<500: .serverBroken
        default: .requestRefused
        }
    }

    /// Derives facts from a response that was already received.
    ///
    /// - Parameter address: the peer of the connection, which the report of a reused connection does not contain.
    mutating func learn(
        _ response: HTTPResponse, isFromProxy: Bool, of target: DiagnosisTarget, at address: SocketAddress? = nil
    ) {
        let endpoint =
            connected.first ?? address ?? .ip(target.firstLiteral ?? .v4(.any), port: target.firstPort)
        let answer = ServiceAnswer(response)
        if isFromProxy, !(200..<300).contains(answer.status) {
            (service, verdict, connectionLoss) = ((endpoint, .proxyRefused(status: answer.status)), nil, nil)
        } else if !isFromProxy, verdict == nil, connectionLoss == nil {
            service = (endpoint, .answered(answer))
        }
        if connections.isEmpty { connections[endpoint] = .some(nil) }
        if lookup == nil, target.firstLiteral == nil { lookup = .success(connected.compactMap(\.ipAddress)) }
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
