internal import Glibc

/// Decides which probes to run, and derives the findings from their results. Does no I/O, reads no clock and draws no random
/// numbers.
///
/// Theory of operation. Each call of ``next(now:)`` returns the probes that can run now and have not been started. The driver
/// passes each result to ``receive(_:of:)`` and then calls `next` again, and also at the time ``wake(now:)``. Facts that are
/// known from the start (a stream's report) are not probed. Facts that cost nothing come first; then all probes that are
/// independent of each other run at the same time, so that diagnosing a working target takes little longer than using it. A
/// missing answer is investigated while it may still arrive. Every probe ends with the whole diagnosis, so that a dead target
/// takes no longer than the longest single limit. The findings are a function of the facts alone.
struct LadderMachine: Sendable {
    /// A probe to run, and its deadline.
    struct ScheduledProbe: Sendable, Hashable {
        var probe: Probe
        var deadline: ContinuousClock.Instant
    }

    /// The maximum number of addresses of a name that are tried.
    static let maximumAddresses = 6
    /// The maximum number of name servers that are queried.
    static let maximumNameServers = 4
    /// The maximum number of addresses that are tried because only another name server gives them for the name.
    static let maximumAlternatives = 2

    let target: DiagnosisTarget
    private let limits: LadderLimits
    /// A random label that no host has as its name.
    private let randomLabel: String
    private(set) var facts: LadderFacts
    private let end: ContinuousClock.Instant
    private var started: Set<Probe> = []
    private var underWay: [Probe: ContinuousClock.Instant] = [:]
    /// The time of the slowest check of each rung.
    private(set) var times: [Rung: Duration] = [:]

    init(
        _ target: DiagnosisTarget, knowing facts: LadderFacts = LadderFacts(), limits: LadderLimits = LadderLimits(),
        randomLabel: String, now: ContinuousClock.Instant, until end: ContinuousClock.Instant? = nil
    ) {
        self.target = target
        self.limits = limits
        self.randomLabel = randomLabel
        self.facts = facts
        self.end = end ?? now + limits.total
    }

    /// Returns the probes to start now.
    mutating func next(now: ContinuousClock.Instant) -> [ScheduledProbe] {
        var probes: [ScheduledProbe] = []
        for probe in plan(now) where !started.contains(probe) {
            let deadline = limits.limit(of: probe).map { min(now + $0, end) } ?? end
            // A probe without time left is not started.
            if limits.limit(of: probe) != nil, deadline <= now { continue }
            started.insert(probe)
            underWay[probe] = now
            probes.append(ScheduledProbe(probe: probe, deadline: deadline))
        }
        return probes
    }

    /// Records the result of a probe.
    ///
    /// - Parameter now: the time of arrival, with which the time of the rung is measured; nil for a result that was not awaited.
    mutating func receive(_ result: ProbeResult, of probe: Probe, now: ContinuousClock.Instant? = nil) {
        if let now, let start = underWay[probe], let rung = LadderMachine.rung(of: probe, target) {
            times[rung] = max(times[rung] ?? .zero, start.duration(to: now))
        }
        underWay[probe] = nil
        facts.receive(result, of: probe)
    }

    /// The time at which to call ``next(now:)`` even if no result has arrived; nil if there is none.
    func wake(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        underWay.compactMap { probe, start in
            switch probe {
            case .lookup, .connect, .service: start + limits.slowAfter
            case .environment, .route, .nameServer, .nonexistentName, .neighbors, .ping, .path, .packetSizes,
                .alternative, .inspection, .plainPage:
                nil
            }
        }.filter { $0 > now }.min()
    }

    /// Whether a probe is under way.
    var isWaiting: Bool { !underWay.isEmpty }

    /// Whether a probe has been under way for longer than ``LadderLimits/slowAfter``.
    private func isSlow(_ probe: Probe, _ now: ContinuousClock.Instant) -> Bool {
        underWay[probe].map { $0 + limits.slowAfter <= now } ?? false
    }
}

// MARK: - Plan

extension LadderMachine {
    /// The probes that are useful, given the facts.
    private func plan(_ now: ContinuousClock.Instant) -> [Probe] {
        var probes: [Probe] = [.environment]
        guard let host = target.firstHost, target.proxyFault == nil, facts.verdict == nil else {
            // Without a remote target, only the routers are probed.
            if target.host == nil { probes += pings(of: defaultGateways) + neighborsAfterPings }
            return probes
        }
        probes += nameProbes(host)
        guard target.firstPort > 0 else { return probes }

        probes += facts.destinations(of: target).prefix(LadderMachine.maximumAddresses).map { .route($0) }
        if facts.connectionLoss == nil {
            for endpoint in endpoints where facts.connections[endpoint] == nil { probes.append(.connect(endpoint)) }
        }
        if isPathSuspect(now) {
            probes += pings(of: gateways) + neighborsAfterPings
            probes += unansweredAddresses(now).map { .path($0) }
        }
        if facts.service == nil, target.hasServiceProbe,
            let endpoint = endpoints.first(where: { facts.connections[$0] == .some(nil) })
        {
            probes.append(.service(endpoint))
        }
        return probes + afterService(now)
    }

    /// The addresses, with port, to which this machine connects.
    private var endpoints: [SocketAddress] {
        facts.addresses(of: target).prefix(LadderMachine.maximumAddresses).map { .ip($0, port: target.firstPort) }
    }

    // MARK: Names

    private func nameProbes(_ host: String) -> [Probe] {
        guard target.firstLiteral == nil else { return [] }
        var probes: [Probe] = facts.lookup == nil ? [.lookup(host)] : []
        guard needsNameServers, isServed(host), let environment = facts.environment else { return probes }
        for server in environment.nameServers.prefix(LadderMachine.maximumNameServers) {
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
        let label = host.lowercased().utf8.split(separator: UInt8(ascii: ".")).last.map { Substring($0) }
        return label != "localhost" && label != "local"
    }

    /// An unregistered name in the same top-level domain.
    private func nonexistentName(near host: String) -> String {
        let labels = host.utf8.split(separator: UInt8(ascii: ".")).map { Substring($0) }
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
        gateways.prefix(LadderMachine.maximumNameServers).map { .ping($0) }
    }

    /// Reads the neighbour table once the pings have ended, because they make the kernel resolve its neighbours.
    private var neighborsAfterPings: [Probe] {
        let areRoutesKnown = facts.destinations(of: target).prefix(LadderMachine.maximumAddresses)
            .allSatisfy { facts.routes[$0] != nil }
        let isPinged = gateways.prefix(LadderMachine.maximumNameServers).allSatisfy { facts.pings[$0] != nil }
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

    // MARK: After the probe of the service

    private func afterService(_ now: ContinuousClock.Instant) -> [Probe] {
        var probes: [Probe] = []
        if let (endpoint, outcome) = facts.service ?? slowService(now), outcome.isTimeout,
            let address = endpoint.ipAddress,
            let route = facts.routes[address] ?? nil, route.kind == .unicast
        {
            probes.append(.packetSizes(address, full: packetSize(of: route)))
        }
        if case (let endpoint, .tlsFailed(let error))? = facts.service, error.isAboutCertificate {
            probes.append(.inspection(endpoint))
        }
        if isPortalPossible(now),
            let address = facts.addresses(of: target).first(where: { !$0.isLoopback && !$0.isAny })
        {
            probes.append(.plainPage(address))
        }
        if isNameSuspect(now) {
            probes += facts.otherAddresses(of: target).prefix(LadderMachine.maximumAlternatives).map {
                .alternative(.ip($0, port: target.firstPort))
            }
        }
        return probes
    }

    private func slowService(_ now: ContinuousClock.Instant) -> (SocketAddress, ServiceOutcome)? {
        for case .service(let endpoint) in underWay.keys where isSlow(.service(endpoint), now) {
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
            if case .tlsFailed(let error)? = facts.service?.1 { return !error.isAboutDates }
            return false
        }
        guard target.port == 80, case .answered(let answer)? = facts.service?.1 else { return false }
        return answer.isTemporaryMove && PortalRules.leadsElsewhere(answer, from: target)
    }

    /// Whether the name may have resolved to a wrong address.
    private func isNameSuspect(_ now: ContinuousClock.Instant) -> Bool {
        guard target.proxy == nil, facts.environment != nil else { return false }
        if isUnconnected(now) { return true }
        if case .tlsFailed(let error)? = facts.service?.1 { return error.isAboutCertificate && !error.isAboutDates }
        return false
    }
}

extension Route {
    /// The router's address; a link-local one with the interface as its zone.
    var zonedGateway: IPAddress? {
        guard case .v6(let address)? = gateway, address.isLinkLocal else { return gateway }
        return IPv6Address(rawValue: address.rawValue, zone: interface).map { .v6($0) }
    }
}

// MARK: - Verdict

extension LadderMachine {
    /// The diagnosis that follows from the facts.
    var diagnosis: Diagnosis {
        Diagnosis(
            target: target.hostAndPort, findings: findings, checked: checked, needed: target.rungs,
            uncheckable: uncheckable,
            families: families, measured: measured)
    }

    /// All findings, the lowest rung first, and on each rung the lesser severity first.
    var findings: [Finding] {
        var findings = LadderMachine.findings(facts, target)
        findings += ServiceRules.findings(facts, target)
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
        let paths = facts.paths.sorted { "\($0.key)" < "\($1.key)" }
        if let failure = paths.lazy.compactMap(\.value.failure).first {
            sentences.append(.noPathCheck(PublicText.of(failure)))
        }
        if let fault = target.proxyFault, fault.severity == .note { sentences.append(fault.sentence) }
        return sentences + ServiceRules.uncheckable(facts, target)
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
        rungs.formUnion(ServiceRules.checked(facts, target))
        if let verdict = facts.verdict { rungs.formUnion(Rung.allCases.filter { $0 <= verdict.rung }) }
        return rungs
    }
}

extension LadderMachine {
    /// The rung whose time a probe measures; nil for a probe that only explains a failure.
    static func rung(of probe: Probe, _ target: DiagnosisTarget) -> Rung? {
        switch probe {
        case .environment: .link
        case .route: .route
        case .lookup: .name
        case .connect: target.proxy == nil ? .connection : .proxy
        case .ping: .gateway
        case .service: target.rungs.contains(.answer) ? .answer : target.rungs.contains(.security) ? .security : nil
        case .nameServer, .nonexistentName, .neighbors, .path, .packetSizes, .alternative, .inspection, .plainPage: nil
        }
    }

    /// The times and addresses of the rungs.
    var measured: [Rung: RungMeasurement] {
        var measured = times.mapValues { RungMeasurement(time: $0) }
        func set(_ address: String?, for rung: Rung) {
            guard let address, !address.isEmpty else { return }
            measured[rung, default: RungMeasurement()].address = address
        }
        if case .success(let found)? = facts.lookup {
            let shown = found.prefix(RungMeasurement.maximumAddresses).map(\.description).joined(separator: ", ")
            set(found.count > RungMeasurement.maximumAddresses ? shown + ", …" : shown, for: .name)
        }
        let first = facts.connected.map(\.description).min() ?? facts.connections.keys.map(\.description).min()
        set(first, for: target.proxy == nil ? .connection : .proxy)
        return measured
    }
}
