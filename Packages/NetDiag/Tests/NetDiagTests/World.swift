import Glibc

@_spi(Packages) @testable import NetDiag

/// A simulated environment with faults and a clock: it answers probes, so that the machine runs without I/O.
///
/// An answer takes as many round trips as in reality; a probe without an answer ends at its deadline.
struct World {
    var environment = Environment(
        network: NetworkSnapshot(
            interfaces: [World.loopback, World.eth0],
            defaultRoutes: [Route(kind: .unicast, gateway: World.gateway, interfaceIndex: 2)]),
        nameServers: [World.server])
    var route: Route? = Route(kind: .unicast, gateway: World.gateway, interfaceIndex: 2)
    var routes: [IPAddress: Route?] = [:]
    var lookup: Result<[IPAddress], ResolverError> = .success([World.host])
    var answers: [SocketAddress: NameServerAnswer] = [World.server: .addresses([World.host])]
    /// The answers over TCP; those over UDP if absent.
    var answersByTCP: [SocketAddress: NameServerAnswer] = [:]
    var nonexistentNameAnswers: [SocketAddress: NameServerAnswer] = [:]
    var connection: StreamError?
    var connections: [IPAddress: StreamError] = [:]
    var neighbors: [Neighbor] = []
    var ping = PingOutcome.silent
    var path = PathOutcome()
    var sizes = PacketSizes(full: 1500, answered: [1500])
    var service = ServiceOutcome.answered(ServiceAnswer(status: 200))
    var services: [IPAddress: ServiceOutcome] = [:]
    var inspection: Inspection?
    var plainPage = ServiceOutcome.answered(ServiceAnswer(status: 404))

    static let gateway = IPAddress("192.0.2.1")!
    static let host = IPAddress("198.51.100.7")!
    static let host6 = IPAddress("2001:db8::7")!
    static let server = SocketAddress.ip(IPAddress("192.0.2.53")!, port: 53)
    static let otherServer = SocketAddress.ip(IPAddress("192.0.2.54")!, port: 53)
    static let loopback = NetworkInterface(
        name: "lo", index: 1, isLoopback: true, addresses: [InterfaceAddress(IPAddress("127.0.0.1")!, prefixLength: 8)])
    static let eth0 = NetworkInterface(
        name: "eth0", index: 2, maximumPacketSize: 1500,
        addresses: [InterfaceAddress(IPAddress("192.0.2.7")!, prefixLength: 24)])
    static let address6 = InterfaceAddress(IPAddress("2001:db8:1::7")!, prefixLength: 64)

    static let unreachable = StreamError(posix: ENETUNREACH)
    static let timedOut = StreamError(posix: ETIMEDOUT)
    static let refused = StreamError(posix: ECONNREFUSED)
    static let unknown = ResolverError(.hostNotFound)
    static let temporary = ResolverError(.temporaryFailure)

    static func changed(_ change: (inout World) -> Void) -> World {
        var world = World()
        change(&world)
        return world
    }

    static func tls(_ failure: TLSFailure) -> StreamError {
        StreamError(domain: .ssl, code: failure.rawValue, sentence: Sentence("test", "no TLS"))
    }

    static func socks(_ failure: SOCKSFailure) -> StreamError {
        StreamError(domain: .socks, code: failure.rawValue, sentence: Sentence("test", "no SOCKS"))
    }

    // MARK: Answers

    private func answer(_ probe: Probe) -> ProbeResult {
        switch probe {
        case .environment: .environment(environment)
        case .route(let address): .route(routes[address] ?? route)
        case .lookup: .lookup(lookup)
        case .nameServer(let server, _, .udp): .name(answers[server] ?? .silent)
        case .nameServer(let server, _, .tcp): .name(answersByTCP[server] ?? answers[server] ?? .silent)
        case .nonexistentName(let server, _):
            .name(
                nonexistentNameAnswers[server] ?? (answers[server].map { $0.hasAnswered ? .noSuchName : $0 } ?? .silent)
            )
        case .connect(let address): .connect(address.ipAddress.flatMap { connections[$0] } ?? connection)
        case .neighbors: .neighbors(neighbors)
        case .ping: .ping(ping)
        case .path: .path(path)
        case .packetSizes: .packetSizes(sizes)
        case .service(let address), .alternative(let address):
            .service(address.ipAddress.flatMap { services[$0] } ?? service)
        case .inspection: .inspection(inspection)
        case .plainPage: .service(plainPage)
        }
    }

    /// The number of round trips that the answer takes; nil if there is no answer.
    private func roundTrips(_ probe: Probe, of target: DiagnosisTarget) -> Int? {
        switch answer(probe) {
        case .environment, .environmentUnknown, .route, .neighbors: return 0
        case .lookup(.failure(let error)) where [.temporaryFailure, .timedOut].contains(error.code): return nil
        case .lookup: return 1
        case .name(.silent), .name(.truncated): return nil
        case .name: return 1
        case .connect(let error): return error?.isPOSIX(ETIMEDOUT) == true ? nil : 1
        case .ping(let outcome): return outcome == .silent ? nil : 1
        case .path(let path): return path == PathOutcome() ? nil : 1
        case .packetSizes: return 1
        case .inspection: return 3
        case .service(let outcome):
            if outcome.isTimeout { return nil }
            return 1 + (target.isSecure ? 1 : 0) + (target.service == .bytes ? 0 : 1)
        }
    }

    // MARK: Diagnosing

    /// The result of a run.
    struct Run {
        var diagnosis: Diagnosis
        var probes: [Probe] = []
        var time = Duration.zero
    }

    func run(
        _ target: DiagnosisTarget = .page, knowing facts: LadderFacts = LadderFacts(),
        limits: LadderLimits = LadderLimits(), roundTrip: Duration = .milliseconds(40)
    ) -> Run {
        let start = ContinuousClock.now
        var now = start
        var machine = LadderMachine(target, knowing: facts, limits: limits, randomLabel: "qzvxkjw", now: now)
        var pending: [(at: ContinuousClock.Instant, probe: Probe)] = []
        var probes: [Probe] = []
        while true {
            for scheduled in machine.next(now: now) {
                probes.append(scheduled.probe)
                let answer = roundTrips(scheduled.probe, of: target).map { now + roundTrip * $0 }
                pending.append((min(answer ?? scheduled.deadline, scheduled.deadline), scheduled.probe))
            }
            guard machine.isWaiting else { break }
            // Of results at the same time, the one requested last arrives first, because no order is guaranteed.
            let next = pending.indices.reversed().min { pending[$0].at < pending[$1].at }!
            if let wake = machine.wake(now: now), wake < pending[next].at {
                now = wake
                continue
            }
            let (time, probe) = pending.remove(at: next)
            now = max(now, time)
            machine.receive(answer(probe), of: probe, now: now)
        }
        return Run(diagnosis: machine.diagnosis, probes: probes, time: start.duration(to: now))
    }

    func diagnose(_ target: DiagnosisTarget = .page, knowing facts: LadderFacts = LadderFacts()) -> Diagnosis {
        run(target, knowing: facts).diagnosis
    }
}

extension NameServerAnswer {
    fileprivate var hasAnswered: Bool {
        switch self {
        case .addresses, .noSuchName, .noAddress: true
        case .silent, .refused, .truncated, .failed: false
        }
    }
}

extension DiagnosisTarget {
    static let page = DiagnosisTarget(
        host: "www.example.org", port: 443, isSecure: true, service: .http(path: "/"))
    static let plainPage = DiagnosisTarget(
        host: "www.example.org", port: 80, isSecure: false, service: .http(path: "/"))
    static let address = DiagnosisTarget(host: "198.51.100.7", port: 80, isSecure: false, service: .bytes)
    static let files = DiagnosisTarget(host: "ftp.example.org", port: 21, isSecure: false, service: .ftp)

    func proxied(_ kind: ProxyServer.Kind = .http, user: String? = nil) -> DiagnosisTarget {
        var target = self
        target.proxy = ProxyServer(kind, host: "proxy.example.org", port: 3128, user: user)
        return target
    }
}

extension NetDiagnostic.Options {
    /// Options for servers that answer, however slow the machine is.
    static var patient: Self {
        var options = NetDiagnostic.Options()
        options.lookupTimeout = .seconds(3600)
        options.connectionTimeout = .seconds(3600)
        options.responseTimeout = .seconds(3600)
        return options
    }
}
