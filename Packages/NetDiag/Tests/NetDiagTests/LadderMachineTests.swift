import Glibc
import Testing

@testable import NetDiag

/// A world with one fault: answers probes, so that the machine can be run against it without any I/O.
struct World {
    var surroundings = Surroundings(
        network: NetworkSnapshot(
            interfaces: [World.loopback, World.eth0],
            defaultRoutes: [Route(kind: .unicast, gateway: World.gateway, interfaceIndex: 2)]),
        nameServers: [World.server])
    var route: Route? = Route(kind: .unicast, gateway: World.gateway, interfaceIndex: 2)
    var routes: [IPAddress: Route?] = [:]
    var lookup: Result<[IPAddress], ResolverError> = .success([World.host])
    var answers: [SocketAddress: NameServerAnswer] = [World.server: .addresses([World.host])]
    var connection: StreamError?
    var connections: [IPAddress: StreamError] = [:]
    var neighbors: [Neighbor] = []
    var talk = TalkOutcome.answered(status: 200, location: nil)

    static let gateway = IPAddress("192.0.2.1")!
    static let host = IPAddress("198.51.100.7")!
    static let host6 = IPAddress("2001:db8::7")!
    static let server = SocketAddress.ip(IPAddress("192.0.2.53")!, port: 53)
    static let loopback = NetworkInterface(
        name: "lo", index: 1, isLoopback: true, addresses: [InterfaceAddress(IPAddress("127.0.0.1")!, prefixLength: 8)])
    static let eth0 = NetworkInterface(
        name: "eth0", index: 2, addresses: [InterfaceAddress(IPAddress("192.0.2.7")!, prefixLength: 24)])

    static func changed(_ change: (inout World) -> Void) -> World {
        var world = World()
        change(&world)
        return world
    }

    func answer(_ probe: Probe) -> ProbeResult {
        switch probe {
        case .surroundings: return .surroundings(surroundings)
        case .route(let address): return .route(address, routes[address] ?? route)
        case .lookup: return .lookup(lookup)
        case .nameServer(let server, _): return .nameServer(server, answers[server] ?? .silent)
        case .connect(.ip(let address, let port)):
            return .connect(.ip(address, port: port), connections[address] ?? connection)
        case .connect(let address): return .connect(address, connection)
        case .neighbors: return .neighbors(neighbors)
        case .talk(let address): return .talk(address, talk)
        }
    }

    func diagnose(
        _ target: DiagnosisTarget = .page, knowing facts: LadderFacts = LadderFacts(), probes: inout [Probe]
    ) -> Diagnosis {
        var machine = LadderMachine(target, knowing: facts)
        while !machine.isOver {
            let next = machine.next()
            probes += next
            // The last answered first: no order is promised.
            for probe in next.reversed() { machine.receive(answer(probe)) }
        }
        return Diagnosis(
            target: target.place, findings: machine.findings, checked: machine.checked, needed: target.rungs)
    }

    func diagnose(_ target: DiagnosisTarget = .page, knowing facts: LadderFacts = LadderFacts()) -> Diagnosis {
        var probes: [Probe] = []
        return diagnose(target, knowing: facts, probes: &probes)
    }
}

extension DiagnosisTarget {
    static let page = DiagnosisTarget(
        host: "www.example.org", port: 443, isSecure: true, service: .http(path: "/"))
    static let plainPage = DiagnosisTarget(
        host: "www.example.org", port: 80, isSecure: false, service: .http(path: "/"))
    static let address = DiagnosisTarget(host: "198.51.100.7", port: 80, isSecure: false, service: .bytes)
}

private let unreachable = StreamError(posix: ENETUNREACH)
private let timedOut = StreamError(posix: ETIMEDOUT)
private let unknown = ResolverError(.hostNotFound)
private let temporary = ResolverError(.temporaryFailure)

private let faults: [(FindingCode, World)] = [
    (
        .noInterface,
        .changed {
            $0.surroundings.network.interfaces = [World.loopback]
            $0.surroundings.network.defaultRoutes = []
            $0.lookup = .failure(temporary)
            $0.answers = [:]
        }
    ),
    (
        .linkOff,
        .changed {
            $0.surroundings.network.interfaces[1].isUp = false
            $0.surroundings.network.interfaces[1].hasCarrier = false
            $0.surroundings.network.defaultRoutes = []
            $0.lookup = .failure(temporary)
            $0.answers = [World.server: .failed("unreachable")]
        }
    ),
    (
        .noCarrier,
        .changed {
            $0.surroundings.network.interfaces[1].hasCarrier = false
            $0.lookup = .failure(temporary)
            $0.answers = [:]
        }
    ),
    (
        .noAddress,
        .changed {
            $0.surroundings.network.interfaces[1].addresses = []
            $0.surroundings.network.defaultRoutes = []
            $0.lookup = .failure(temporary)
            $0.answers = [World.server: .failed("unreachable")]
        }
    ),
    (
        .linkLocalOnly,
        .changed {
            $0.surroundings.network.interfaces[1].addresses = [
                InterfaceAddress(IPAddress("169.254.3.4")!, prefixLength: 16),
                InterfaceAddress(IPAddress("fe80::1")!, prefixLength: 64),
            ]
            $0.surroundings.network.defaultRoutes = []
            $0.lookup = .failure(temporary)
            $0.answers = [World.server: .silent]
        }
    ),
    (
        .duplicateAddress,
        .changed {
            $0.surroundings.network.interfaces[1].addresses[0].isDuplicate = true
            $0.lookup = .failure(temporary)
            $0.answers = [World.server: .silent]
        }
    ),
    (
        .noRoute,
        .changed {
            $0.surroundings.network.defaultRoutes = []
            $0.lookup = .failure(temporary)
            $0.answers = [World.server: .failed("unreachable")]
        }
    ),
    (
        .noRoute,
        .changed {
            $0.route = nil
            $0.connection = unreachable
        }
    ),
    (
        .routeRefused,
        .changed {
            $0.route = Route(kind: .refused)
            $0.connection = StreamError(posix: EACCES)
        }
    ),
    (
        .gatewaySilent,
        .changed {
            $0.connection = timedOut
            $0.neighbors = [Neighbor(World.gateway, interfaceIndex: 2, state: .failed)]
        }
    ),
    (
        .hostSilent,
        .changed {
            $0.route = Route(kind: .unicast, interfaceIndex: 2)
            $0.connection = StreamError(posix: EHOSTUNREACH)
            $0.neighbors = [Neighbor(World.host, interfaceIndex: 2, state: .failed)]
        }
    ),
    (
        .noNameServers,
        .changed {
            $0.surroundings.nameServers = []
            $0.lookup = .failure(temporary)
        }
    ),
    (
        .nameServersSilent,
        .changed {
            $0.lookup = .failure(temporary)
            $0.answers = [World.server: .silent]
        }
    ),
    (
        .nameServersFail,
        .changed {
            $0.lookup = .failure(temporary)
            $0.answers = [World.server: .failed("REFUSED")]
        }
    ),
    (
        .nameUnknown,
        .changed {
            $0.lookup = .failure(unknown)
            $0.answers = [World.server: .noSuchName]
        }
    ),
    (
        .nameWithoutAddress,
        .changed {
            $0.lookup = .failure(ResolverError(.noData))
            $0.answers = [World.server: .noAddress]
        }
    ),
    (
        .nameLookupFailed,
        .changed {
            $0.lookup = .failure(ResolverError(.system))
        }
    ),
    (
        .hostsEntryStale,
        .changed {
            $0.surroundings.hostsEntry = [IPAddress("198.51.100.99")!]
            $0.lookup = .success($0.surroundings.hostsEntry)
            $0.connection = timedOut
        }
    ),
    (.portRefused, .changed { $0.connection = StreamError(posix: ECONNREFUSED) }),
    (.noAnswer, .changed { $0.connection = timedOut }),
    (.hostUnreachable, .changed { $0.connection = StreamError(posix: EHOSTUNREACH) }),
    (.connectionBroken, .changed { $0.connection = StreamError(posix: ECONNRESET) }),
    (.connectionFailed, .changed { $0.connection = StreamError(posix: EADDRNOTAVAIL) }),
    (.certificateExpired, .changed { $0.talk = .insecure(World.tls(.certificateExpired)) }),
    (.certificateNotYetValid, .changed { $0.talk = .insecure(World.tls(.certificateNotYetValid)) }),
    (.certificateUntrusted, .changed { $0.talk = .insecure(World.tls(.unknownRoot)) }),
    (.certificateWrongName, .changed { $0.talk = .insecure(World.tls(.hostNameMismatch)) }),
    (.notTLS, .changed { $0.talk = .insecure(World.tls(.protocolViolation)) }),
    (.nothingInCommon, .changed { $0.talk = .insecure(World.tls(.protocolVersion)) }),
    (.securityFailed, .changed { $0.talk = .insecure(World.tls(.badRecordMAC)) }),
    (.notHTTP, .changed { $0.talk = .notHTTP }),
    (.answerMissing, .changed { $0.talk = .unanswered(timedOut) }),
    (.serverBroken, .changed { $0.talk = .answered(status: 503, location: nil) }),
    (.requestRefused, .changed { $0.talk = .answered(status: 404, location: nil) }),
    (.ledElsewhere, .changed { $0.talk = .answered(status: 511, location: nil) }),
    (.credentialsWanted, .changed { $0.talk = .answered(status: 401, location: nil) }),
]

extension World {
    static func tls(_ failure: TLSFailure) -> StreamError {
        StreamError(domain: .ssl, code: failure.rawValue, sentence: Sentence("test", "no TLS"))
    }
}

@Suite struct LadderMachineTests {
    @Test(arguments: faults.indices)
    func eachFaultIsNamed(_ index: Int) {
        let (code, world) = faults[index]
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause?.code == code, "\(diagnosis)")
        #expect(diagnosis.brokenRung == code.rung)
        #expect(diagnosis.status == .down)
        #expect(!diagnosis.description.isEmpty)
    }

    @Test func everyCodeHasATest() {
        let tested = Set(faults.map(\.0)).union([.nameServerBad, .familyBroken])
        #expect(Set(FindingCode.allCases) == tested)
    }

    @Test func theLowerOfTwoFaultsWins() {
        var pairs = 0
        for (low, lower) in faults where low.rung <= .connection {
            for (high, higher) in faults where high.rung > low.rung && high.rung >= .connection {
                var world = lower
                world.talk = higher.talk
                if low.rung == .name { world.connection = higher.connection ?? lower.connection }
                // A stale entry shows only when what it says does not work.
                if low == .hostsEntryStale, world.connection == nil { continue }
                #expect(world.diagnose().cause?.code == low, "\(low) and \(high)")
                pairs += 1
            }
        }
        #expect(pairs > 300)
    }

    @Test func aHealthyNetworkIsUp() {
        var probes: [Probe] = []
        let diagnosis = World().diagnose(probes: &probes)
        #expect(diagnosis.cause == nil && diagnosis.remarks.isEmpty)
        #expect(diagnosis.status == .up)
        #expect(diagnosis.unchecked.isEmpty)
        #expect(Set(probes).count == probes.count)
        #expect(!probes.contains(.neighbors))
    }

    @Test(arguments: [
        // No IPv6 at all: the address is there, a route is not.
        World.changed {
            $0.lookup = .success([World.host6, World.host])
            $0.routes = [World.host6: Route?.none]
            $0.connections = [World.host6: unreachable]
        },
        // No default route, but one to the target, as through a VPN.
        World.changed { $0.surroundings.network.defaultRoutes = [] },
        // A second interface without a cable.
        World.changed {
            $0.surroundings.network.interfaces.append(NetworkInterface(name: "eth1", index: 3, hasCarrier: false))
        },
        // Moved for good.
        World.changed { $0.talk = .answered(status: 301, location: "https://example.com/") },
        // The name servers are not asked by the system's resolver at all.
        World.changed { $0.answers = [World.server: .noSuchName] },
    ])
    func oddHabitsAreNotBroken(_ world: World) {
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause == nil, "\(diagnosis)")
        #expect(diagnosis.remarks.allSatisfy { $0.severity == .note })
    }

    @Test func oneDeadNameServerIsAWarning() {
        let other = SocketAddress.ip(IPAddress("192.0.2.54")!, port: 53)
        let world = World.changed {
            $0.surroundings.nameServers = [other, World.server]
            $0.answers[other] = .silent
        }
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause == nil)
        #expect(diagnosis.remarks.map(\.code) == [.nameServerBad])
        #expect(diagnosis.remarks[0].sentence.description.contains("192.0.2.54"))
    }

    @Test func aBrokenFamilyIsAWarning() {
        let world = World.changed {
            $0.lookup = .success([World.host6, World.host])
            $0.connections = [World.host6: timedOut]
        }
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause == nil)
        #expect(diagnosis.remarks.map(\.code) == [.familyBroken])
        #expect(diagnosis.remarks[0].sentence.description.hasPrefix("IPv6 does not get through"))
    }

    @Test func aPortalIsAWarningWithoutTLS() {
        let world = World.changed { $0.talk = .answered(status: 302, location: "http://portal.example.net/login") }
        #expect(world.diagnose(.plainPage).remarks.map(\.code) == [.ledElsewhere])
        #expect(world.diagnose(.plainPage).remarks.map(\.severity) == [.warning])
    }

    @Test func whatAStreamKnowsIsNotTriedAgain() {
        var facts = LadderFacts()
        facts.lookup = .success([World.host])
        facts.receive(.connect(.ip(World.host, port: 443), StreamError(posix: ECONNREFUSED)))
        var probes: [Probe] = []
        let diagnosis = World().diagnose(knowing: facts, probes: &probes)
        #expect(diagnosis.cause?.code == .portRefused)
        #expect(Set(probes) == [.surroundings, .route(World.host), .neighbors])
    }

    @Test func aConnectionThatBrokeLaterIsNotMadeAgain() {
        var facts = LadderFacts()
        facts.lookup = .success([World.host])
        facts.breakage = StreamError(posix: ECONNRESET)
        var probes: [Probe] = []
        let diagnosis = World().diagnose(.address, knowing: facts, probes: &probes)
        #expect(diagnosis.cause?.code == .connectionBroken)
        #expect(!probes.contains { if case .connect = $0 { true } else { false } })
    }

    @Test func manyAddressesAndServersAreBounded() {
        let many = (1...200).map { IPAddress("198.51.100.\($0)")! }
        let servers = (1...20).map { SocketAddress.ip(IPAddress("192.0.2.\($0)")!, port: 53) }
        let world = World.changed {
            $0.lookup = .success(many)
            $0.surroundings.nameServers = servers
        }
        var probes: [Probe] = []
        _ = world.diagnose(probes: &probes)
        #expect(probes.count(where: { if case .connect = $0 { true } else { false } }) == LadderMachine.mostAddresses)
        #expect(
            probes.count(where: { if case .nameServer = $0 { true } else { false } }) == LadderMachine.mostNameServers)
    }

    @Test func theMachineAloneIsJudgedWithoutAPacket() {
        var probes: [Probe] = []
        #expect(World().diagnose(.machine, probes: &probes).cause == nil)
        #expect(probes == [.surroundings])
        let cut = World.changed { $0.surroundings.network.defaultRoutes = [] }
        #expect(cut.diagnose(.machine).cause?.code == .noRoute)
    }

    @Test func adviceIsAlwaysGiven() {
        for code in FindingCode.allCases {
            #expect(code.advice.key == "advice.\(code.rawValue)")
            #expect(code.advice.description.hasSuffix(".") && code.advice.description.count > 12)
        }
    }
}
