import Testing

@testable import NetDiag

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
            $0.exchange = .tlsFailed(World.timedOut)
            $0.sizes = PacketSizes(full: 1500, answered: [576, 1280], reportedMaximum: 1400)
        }
        #expect(world.diagnose().cause?.code == .securityFailed)
    }

    /// If both clocks agree, the certificate is at fault.
    @Test func aClockThatIsRightIsNotBlamed() {
        let now: Int64 = 1_800_000_000
        let world = World.changed {
            $0.exchange = .tlsFailed(World.tls(.certificateNotYetValid))
            $0.inspection = Inspection(validity: (now - 9)...(now + 9), serverTime: now, ownTime: now)
        }
        #expect(world.diagnose().cause?.code == .certificateNotYetValid)
    }

    /// A server that redirects every page to an encrypted login page with a host name is not a portal.
    @Test func aLoginElsewhereIsNoPortal() {
        let world = World.changed {
            $0.exchange = .answered(ExchangeAnswer(status: 302, location: "https://sso.example.net/login"))
            $0.plainPage = $0.exchange
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
