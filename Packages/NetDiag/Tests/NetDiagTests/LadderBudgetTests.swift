import Glibc
import Testing

@testable import NetDiag

/// How long a diagnosis takes, by a clock that the tests control: in round trips if nothing is broken, in limits otherwise.
@Suite struct LadderBudgetTests {
    /// The round trips of the fetch itself: a name, a connection, TLS 1.3, a request.
    private static let fetch = 4

    @Test func aHealthyPageTakesHardlyLongerThanTheFetch() {
        let roundTrip = Duration.milliseconds(100)
        let run = World().run(roundTrip: roundTrip)
        #expect(run.diagnosis.cause == nil)
        #expect(run.time <= roundTrip * LadderBudgetTests.fetch + roundTrip * 3 / 2)
        // A slow line is not a reason for further probes.
        let slow = World().run(roundTrip: .milliseconds(300))
        #expect(slow.probes.count == run.probes.count)
    }

    /// Both families, and all name servers, are probed at the same time.
    @Test func independentProbesRunAtOnce() {
        let world = World.changed {
            $0.environment.network.interfaces[1].addresses.append(World.address6)
            $0.lookup = .success([World.host6, World.host])
            $0.environment.nameServers = [World.server, World.otherServer]
            $0.answers[World.otherServer] = .addresses([World.host])
        }
        #expect(world.run(roundTrip: .milliseconds(100)).time <= .milliseconds(550))
    }

    /// A diagnosis never takes longer than the longest single limit.
    @Test(arguments: LadderFault.all)
    func aFaultTakesNoLongerThanTheLongestLimit(_ fault: LadderFault) {
        let limits = LadderLimits()
        #expect(fault.world.run(fault.target, limits: limits).time <= limits.total)
    }

    @Test func everythingDeadAtOnce() {
        let world = World.changed {
            $0.environment.nameServers = [World.server, World.otherServer]
            $0.answers = [World.server: .silent, World.otherServer: .silent]
            $0.lookup = .failure(World.temporary)
            $0.connection = World.timedOut
            $0.service = .unanswered(World.timedOut)
        }
        let limits = LadderLimits()
        let run = world.run(limits: limits)
        #expect(run.time == limits.lookup)
        // A lookup that barely succeeds and a connection that never does are limited by the whole.
        var short = limits
        short.connection = limits.total
        let late = World.changed { $0.connection = World.timedOut }
        #expect(late.run(limits: short, roundTrip: .seconds(4)).time <= limits.total)
    }

    /// A missing answer is investigated before its limit has passed.
    @Test func aSilentHostIsInvestigatedMeanwhile() {
        let world = World.changed {
            $0.connection = World.timedOut
            $0.path = PathOutcome(routers: [World.gateway], isReached: true)
        }
        let run = world.run()
        #expect(run.time < LadderLimits().connection + .milliseconds(200))
        #expect(run.probes.contains(.path(World.host)))
        let narrow = World.changed {
            $0.service = .tlsFailed(World.timedOut)
            $0.sizes = PacketSizes(full: 1500, answered: [1280])
        }
        #expect(narrow.run().diagnosis.cause?.code == .packetsTooLarge)
        #expect(narrow.run().time <= LadderLimits().total)
    }

    /// A host that answers on no port: the alternatives are tried while its own port may still answer.
    @Test func aDeadHostTakesLittleLongerThanOneConnection() {
        let world = World.changed {
            $0.connection = World.timedOut
            $0.plainPage = .unanswered(World.timedOut)
        }
        let limits = LadderLimits()
        let run = world.run()
        #expect(run.diagnosis.cause?.code == .noAnswer && run.probes.contains(.plainPage(World.host)))
        #expect(run.time <= limits.connection + limits.slowAfter + .milliseconds(200) && run.time < limits.total)
    }

    @Test func everyProbeHasADeadlineWithinTheWhole() {
        let start = ContinuousClock.now
        let limits = LadderLimits()
        var machine = LadderMachine(.page, limits: limits, randomLabel: "q", now: start)
        let probes = machine.next(now: start)
        #expect(!probes.isEmpty && probes.allSatisfy { $0.deadline <= start + limits.total })
        machine.receive(.environment(World().environment), of: .environment)
        let late = start + limits.total - .milliseconds(10)
        #expect(machine.next(now: late).allSatisfy { $0.deadline <= start + limits.total })
        // A probe without time left is not started.
        var over = LadderMachine(.page, limits: limits, randomLabel: "q", now: start)
        #expect(over.next(now: start + limits.total).map(\.probe) == [.environment])
    }
}
