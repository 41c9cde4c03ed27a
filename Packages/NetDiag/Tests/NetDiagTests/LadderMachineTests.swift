import Glibc
import Testing

@_spi(Packages) @testable import NetDiag

@Suite struct LadderMachineTests {
    // Parity: ND-012
    @Test(arguments: LadderFault.all)
    func eachFaultIsNamed(_ fault: LadderFault) {
        let diagnosis = fault.world.diagnose(fault.target)
        #expect(diagnosis.cause?.code == fault.code, "\(diagnosis)")
        #expect(diagnosis.brokenRung == fault.code.rung)
        #expect(diagnosis.status == .down)
        #expect(!diagnosis.description.isEmpty)
    }

    /// Codes that no environment produces as the cause have tests of their own, below or elsewhere.
    // Parity: ND-013
    @Test func everyCodeHasATest() {
        let elsewhere: Set<FindingCode> = [
            .nameServerBad, .nameServerInvents, .familyBroken, .leaseOverdue, .ledElsewhere, .credentialsRefused,
            .proxyScript,
            .proxyScriptUnreachable, .proxyScriptBroken,
        ]
        #expect(Set(FindingCode.allCases) == Set(LadderFault.all.map(\.code)).union(elsewhere))
    }

    /// Of a fault on the path and one at its end, the lower is reported.
    @Test func theLowerOfTwoFaultsWins() {
        var pairs = 0
        for lower in LadderFault.all where lower.code.rung <= .connection && lower.code.rung != .proxy {
            for higher in LadderFault.all where higher.code.rung > lower.code.rung && higher.code.rung >= .connection {
                // A portal explains the faults below it.
                if higher.code == .captivePortal || higher.target != lower.target { continue }
                var world = lower.world
                world.service = higher.world.service
                world.inspection = higher.world.inspection
                if lower.code.rung == .name, world.connection == nil, lower.code != .nameServerLies {
                    world.connection = higher.world.connection
                }
                #expect(world.diagnose(lower.target).cause?.code == lower.code, "\(lower) and \(higher)")
                pairs += 1
            }
        }
        #expect(pairs > 400)
    }

    @Test func aHealthyNetworkIsUp() {
        let run = World().run()
        #expect(run.diagnosis.cause == nil && run.diagnosis.remarks.isEmpty)
        #expect(run.diagnosis.status == .up)
        #expect(run.diagnosis.unchecked.isEmpty && run.diagnosis.uncheckable.isEmpty)
        #expect(run.diagnosis.families == [FamilyVerdict(.v4, .works), FamilyVerdict(.v6, .notThere)])
        #expect(Set(run.probes).count == run.probes.count)
        // Only the target and its name servers are contacted.
        for probe in run.probes {
            switch probe {
            case .environment, .route, .lookup, .nameServer(_, _, over: .udp), .nonexistentName, .connect, .service:
                continue
            case .nameServer, .neighbors, .ping, .path, .packetSizes, .alternative, .inspection, .plainPage:
                Issue.record("\(probe)")
            }
        }
    }

    static let unusualNetworks: [LadderFault] = [
        // No IPv6: the target has an address, but there is no route to it.
        LadderFault(.noRoute) {
            $0.lookup = .success([World.host6, World.host])
            $0.routes = [World.host6: Route?.none]
            $0.connections = [World.host6: World.unreachable]
        },
        // No default route, but a route to the target, as through a VPN.
        LadderFault(.noRoute) { $0.environment.network.defaultRoutes = [] },
        // A default route into a tunnel, without a gateway.
        LadderFault(.noRoute) {
            $0.environment.network.defaultRoutes = [Route(kind: .unicast, interfaceIndex: 2)]
            $0.route = $0.environment.network.defaultRoutes[0]
        },
        // A second interface without a cable.
        LadderFault(.noCarrier) {
            $0.environment.network.interfaces.append(NetworkInterface(name: "eth1", index: 3, hasCarrier: false))
        },
        // A permanent redirect.
        LadderFault(.ledElsewhere) {
            $0.service = .answered(ServiceAnswer(status: 301, location: "https://example.com/"))
        },
        // The system's resolver does not use the name servers.
        LadderFault(.nameUnknown) { $0.answers = [World.server: .noSuchName] },
        // The name server invents addresses, but this name's address is right.
        LadderFault(.nameInvented) {
            $0.nonexistentNameAnswers = [World.server: .addresses([IPAddress("192.0.2.80")!])]
        },
        // The same address as for nonexistent names, but the certificate proves that it is right.
        LadderFault(.nameInvented) { $0.nonexistentNameAnswers = [World.server: .addresses([World.host])] },
        // A developer's setup: every name of a domain resolves to this machine.
        LadderFault(.nameInvented, .plainPage) {
            let own = IPAddress("127.0.0.1")!
            $0.lookup = .success([own])
            $0.answers = [World.server: .addresses([own])]
            $0.nonexistentNameAnswers = $0.answers
            $0.route = Route(kind: .local)
        },
        // A name that only the hosts file contains.
        LadderFault(.hostsEntryStale) {
            $0.environment.hostsEntry = [World.host]
            $0.answers = [World.server: .noSuchName]
        },
        // A proxy is the only route out, and resolves names that are unknown here.
        LadderFault(.noRoute, .page.proxied()) { $0.environment.network.defaultRoutes = [] },
        LadderFault(.proxyWrong, .page.proxied(.socks5h)) { _ in },
        // The settings contain credentials, which a diagnosis does not send.
        LadderFault(.proxyCredentialsWanted, .page.proxied(user: "ann")) { $0.service = .proxyRefused(status: 407) },
        // The server refuses the request without the URL's query, which is not sent.
        LadderFault(.requestRefused, .searched) { $0.service = .answered(ServiceAnswer(status: 404)) },
        // A redirect loop for clients without cookies.
        LadderFault(.redirectLoop) { $0.service = .redirectLoop(to: "/", wantsCookie: true) },
        LadderFault(.notFTP, .files) { $0.service = .greeted(220) },
    ]

    @Test(arguments: unusualNetworks)
    func unusualNetworksAreNotBroken(_ habit: LadderFault) {
        let diagnosis = habit.world.diagnose(habit.target)
        #expect(diagnosis.cause == nil, "\(diagnosis)")
        #expect(diagnosis.remarks.allSatisfy { $0.severity == .note }, "\(diagnosis.remarks)")
    }

    // MARK: Remarks

    @Test func oneDeadNameServerIsAWarning() {
        let world = World.changed {
            $0.environment.nameServers = [World.otherServer, World.server]
            $0.answers[World.otherServer] = .silent
        }
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause == nil)
        #expect(diagnosis.remarks.map(\.code) == [.nameServerBad])
        #expect(diagnosis.remarks[0].sentence.description.contains("192.0.2.54"))
    }

    @Test func aServerThatInventsNamesIsNoted() {
        let said = IPAddress("192.0.2.80")!
        let diagnosis = World.changed { $0.nonexistentNameAnswers = [World.server: .addresses([said])] }.diagnose()
        #expect(diagnosis.remarks.map(\.code) == [.nameServerInvents])
        #expect(diagnosis.remarks[0].sentence.description.contains("192.0.2.80"))
    }

    @Test func anOverdueLeaseIsAWarning() {
        let world = World.changed {
            $0.environment.network.interfaces[1].addresses[0].lease = AddressLease(
                total: .seconds(3600), remaining: .seconds(100))
        }
        #expect(world.diagnose().remarks.map(\.code) == [.leaseOverdue])
        // Not while another address remains, nor for a temporary address.
        var other = world
        other.environment.network.interfaces[1].addresses.append(
            InterfaceAddress(IPAddress("192.0.2.8")!, prefixLength: 24))
        #expect(other.diagnose().remarks.isEmpty)
        var temporary = world
        temporary.environment.network.interfaces[1].addresses[0].isTemporary = true
        #expect(temporary.diagnose().remarks.isEmpty)
    }

    @Test func aBrokenFamilyIsAWarningWithItsReason() {
        let world = World.changed {
            $0.environment.network.interfaces[1].addresses.append(World.address6)
            $0.lookup = .success([World.host6, World.host])
            $0.connections = [World.host6: World.timedOut]
            $0.path = PathOutcome(routers: [nil], isReached: true)
        }
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause == nil)
        #expect(diagnosis.remarks.map(\.code) == [.familyBroken])
        #expect(diagnosis.remarks[0].sentence.description.hasPrefix("This host cannot be reached over IPv6"))
        #expect(diagnosis.families.map(\.state) == [.works, .broken])
        #expect(diagnosis.families[1].finding?.code == .portFiltered)
    }

    @Test func bothFamiliesAreJudgedByThemselves() {
        let world = World.changed {
            $0.environment.network.interfaces[1].addresses.append(World.address6)
            $0.lookup = .success([World.host6, World.host])
            $0.routes = [World.host6: Route?.none]
            $0.connections = [World.host6: World.unreachable, World.host: World.refused]
        }
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause?.code == .portRefused)
        #expect(diagnosis.families.map(\.finding?.code) == [.portRefused, .noRoute])
        // A machine with one family, and a host with both.
        let onlyFour = World.changed {
            $0.lookup = .success([World.host6, World.host])
            $0.routes = [World.host6: Route?.none]
            $0.connections = [World.host6: World.unreachable]
        }
        #expect(onlyFour.diagnose().families.map(\.state) == [.works, .notHere])
    }

    @Test func anOrdinaryRedirectIsNoPortal() {
        for location in ["https://sso.example.net/login", "http://portal.example.net/login"] {
            let world = World.changed { $0.service = .answered(ServiceAnswer(status: 302, location: location)) }
            let diagnosis = world.diagnose(.plainPage)
            #expect(diagnosis.cause == nil)
            #expect(diagnosis.remarks.map(\.code) == [.ledElsewhere])
            #expect(diagnosis.remarks.map(\.severity) == [.warning])
        }
        let sameDomain = World.changed {
            $0.service = .answered(ServiceAnswer(status: 302, location: "https://login.example.org/"))
        }
        #expect(sameDomain.diagnose(.plainPage).remarks.map(\.severity) == [.note])
    }

    @Test func aPortalExplainsWhatIsBelowIt() {
        let world = World.changed {
            $0.service = .tlsFailed(World.tls(.unknownRoot))
            $0.plainPage = .answered(ServiceAnswer(status: 511))
        }
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause?.code == .captivePortal)
        #expect(diagnosis.consequences.map(\.code) == [.certificateUntrusted])
        #expect(diagnosis.consequences.map(\.dependsOn) == [.captivePortal])
    }

    /// A certificate that is only expired is the server's own, not a portal's: port 80 is not probed.
    @Test func anExpiredCertificateIsNotThePortals() {
        let run = World.changed { $0.service = .tlsFailed(World.tls(.certificateExpired)) }.run()
        #expect(!run.probes.contains { if case .plainPage = $0 { true } else { false } })
    }

    @Test func followUpsNameTheirCause() {
        let world = World.changed {
            $0.connection = World.timedOut
            $0.neighbors = [Neighbor(World.gateway, interfaceIndex: 2, state: .failed)]
        }
        let diagnosis = world.diagnose()
        #expect(diagnosis.cause?.dependsOn == nil)
        #expect(diagnosis.consequences.map(\.code) == [.noAnswer])
        #expect(diagnosis.consequences.map(\.dependsOn) == [.gatewaySilent])
    }

    // MARK: Probes that are not run

    @Test func stepsOfAStreamAreNotRepeated() {
        var facts = LadderFacts()
        facts.lookup = .success([World.host])
        facts.receive(.connect(World.refused), of: .connect(.ip(World.host, port: 80)))
        let run = World().run(.plainPage, knowing: facts)
        #expect(run.diagnosis.cause?.code == .portRefused)
        #expect(Set(run.probes) == [.environment, .route(World.host)])
    }

    @Test func aConnectionThatBrokeLaterIsNotMadeAgain() {
        var facts = LadderFacts()
        facts.lookup = .success([World.host])
        facts.connectionLoss = StreamError(posix: ECONNRESET)
        let run = World().run(.address, knowing: facts)
        #expect(run.diagnosis.cause?.code == .connectionBroken)
        #expect(!run.probes.contains { if case .connect = $0 { true } else { false } })
    }

    @Test func manyAddressesAndServersAreBounded() {
        let many = (1...200).map { IPAddress("198.51.100.\($0)")! }
        let servers = (1...20).map { SocketAddress.ip(IPAddress("192.0.2.\($0)")!, port: 53) }
        let world = World.changed {
            $0.lookup = .success(many)
            $0.environment.nameServers = servers
            $0.connection = World.timedOut
        }
        let probes = world.run().probes
        func count(_ isKind: (Probe) -> Bool) -> Int { probes.count(where: isKind) }
        #expect(count { if case .connect = $0 { true } else { false } } == LadderMachine.maximumAddresses)
        #expect(
            count { if case .nameServer(_, _, .udp) = $0 { true } else { false } } == LadderMachine.maximumNameServers)
        #expect(count { if case .path = $0 { true } else { false } } == 1)
        #expect(count { if case .ping = $0 { true } else { false } } == 1)
    }

    @Test func localNamesAreNotQueried() {
        for name in ["localhost", "printer.local"] {
            let target = DiagnosisTarget(host: name, port: 80, isSecure: false, service: .bytes)
            let run = World.changed { $0.lookup = .failure(World.unknown) }.run(target)
            #expect(run.diagnosis.cause?.code == .nameUnknown)
            #expect(!run.probes.contains { if case .nameServer = $0 { true } else { false } })
        }
    }

    @Test func aScriptThatCannotBeRunIsNotGuessed() {
        let run = World().run(
            .page.withUnknownProxy(Finding(.proxyScript, .note, .proxyScript("A script", "It cannot be run."))))
        #expect(run.probes == [.environment])
        #expect(run.diagnosis.remarks.map(\.code) == [.proxyScript])
        #expect(run.diagnosis.unchecked.contains(.connection))
    }

    @Test func theMachineAloneProbesItsRoutersOnly() {
        let run = World.changed { $0.ping = .answered }.run(.machine)
        #expect(run.diagnosis.cause == nil)
        #expect(run.probes == [.environment, .ping(World.gateway), .neighbors])
        let cut = World.changed { $0.environment.network.defaultRoutes = [] }
        #expect(cut.diagnose(.machine).cause?.code == .noRoute)
        let dead = World.changed { $0.neighbors = [Neighbor(World.gateway, interfaceIndex: 2, state: .failed)] }
        #expect(dead.diagnose(.machine).cause?.code == .gatewaySilent)
        // A router that has answered a ping is up, even while the kernel is still resolving its link address.
        let alive = World.changed {
            $0.ping = .answered
            $0.neighbors = [Neighbor(World.gateway, interfaceIndex: 2, state: .resolving)]
        }
        #expect(alive.diagnose(.machine).cause == nil)
    }

    // Parity: ND-015
    @Test func uncheckablePartsAreReported() {
        let world = World.changed {
            $0.connection = World.timedOut
            $0.ping = .forbidden("net.ipv4.ping_group_range")
            $0.path = PathOutcome(failure: "Address family not supported by protocol")
        }
        let keys = world.diagnose().uncheckable.map(\.key)
        #expect(keys == ["diag.noPings", "diag.noDuplicateCheck", "diag.noPathCheck"])
        let proxied = World.changed { $0.service = .proxyRefused(status: 407) }
        let diagnosis = proxied.diagnose(.page.proxied(user: "ann"))
        #expect(diagnosis.uncheckable.map(\.key) == ["diag.noCredentialsSent"])
        #expect(diagnosis.unchecked == [.connection, .security, .answer, .authentication])
    }

    // Parity: ND-013
    @Test func adviceIsAlwaysGiven() {
        for code in FindingCode.allCases {
            #expect(code.advice.key == "advice.\(code.rawValue)")
            #expect(code.advice.description.hasSuffix(".") && code.advice.description.count > 12)
        }
    }
}

extension DiagnosisTarget {
    /// A target whose URL has a query, which is not sent.
    fileprivate static let searched = DiagnosisTarget(
        host: "www.example.org", port: 443, isSecure: true, service: .http(path: "/search", isWhole: false))
}

/// The limits of the rules: environments that differ little from a fault's, and do not have that fault.
@Suite struct RuleEdgeTests {
    /// Of a silent address and one that refuses, the refusal says more about the target.
    @Test func aRefusalCountsForMoreThanSilence() {
        let world = World.changed {
            $0.lookup = .success([World.host, IPAddress("198.51.100.8")!])
            $0.connections = [World.host: World.timedOut, IPAddress("198.51.100.8")!: World.refused]
        }
        #expect(world.diagnose().cause?.code == .portRefused)
    }

    /// A router that reports the largest packet size is not a black hole: the sender adapts.
    @Test func aReportedPacketSizeIsNoFault() {
        let world = World.changed {
            $0.service = .tlsFailed(World.timedOut)
            $0.sizes = PacketSizes(full: 1500, answered: [576, 1280], reportedMaximum: 1400)
        }
        #expect(world.diagnose().cause?.code == .securityFailed)
    }

    /// If both clocks agree, the certificate is at fault.
    @Test func aClockThatIsRightIsNotBlamed() {
        let now: Int64 = 1_800_000_000
        let world = World.changed {
            $0.service = .tlsFailed(World.tls(.certificateNotYetValid))
            $0.inspection = Inspection(validity: (now - 9)...(now + 9), serverTime: now, ownTime: now)
        }
        #expect(world.diagnose().cause?.code == .certificateNotYetValid)
    }

    /// A server that redirects every page to an encrypted login page with a host name is not a portal.
    @Test func aLoginElsewhereIsNoPortal() {
        let world = World.changed {
            $0.service = .answered(ServiceAnswer(status: 302, location: "https://sso.example.net/login"))
            $0.plainPage = $0.service
        }
        #expect(world.diagnose(.plainPage).cause == nil)
    }

    @Test func aHostsEntryThatTheServersShareIsNotStale() {
        let world = World.changed {
            $0.environment.hostsEntry = [World.host]
            $0.connection = World.refused
        }
        #expect(world.diagnose().cause?.code == .portRefused)
    }

    /// A point-to-point link may have no address; a working connection is not broken.
    @Test func aConnectedHostHasALink() {
        let world = World.changed { $0.environment.network.interfaces[1].addresses = [] }
        #expect(world.diagnose().cause == nil)
    }

    @Test func evidenceIsSanitized() {
        let finding = Finding(.notHTTP, .failure, .notHTTP("x"), evidence: ["GET /?token=hunter2\u{1b}[2J"])
        #expect(finding.evidence == ["GET /?token=…"])
    }
}
