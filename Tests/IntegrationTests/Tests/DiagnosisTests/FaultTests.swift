import FaultLab
import Foundation
import Testing

/// Networks with real faults in namespaces: the diagnosis names each fault and no other, the lower one of two faults, and does not
/// report an unusual network as broken.
@Suite(.serialized) struct FaultTests {
    /// SwiftPM puts executables next to the test bundle.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("diagnose-here").path

    // Parity: ND-001, ND-012 (Linux)
    @Test(.timeLimit(.minutes(4)), arguments: [LabFault.single, LabFault.pairs, LabFault.healthy, LabFault.passive])
    func onlyTheFaultIsDiagnosed(_ faults: [LabFault]) async throws {
        let lab = try FaultLab(tool: Self.tool)
        for outcome in await lab.outcomes(of: faults) {
            #expect(outcome.isRight, "\(outcome.fault.name)\n\(outcome.report)")
        }
    }

    /// The diagnosis has only the stream, which failed before the diagnosis began.
    // Parity: ND-002 (Linux)
    @Test(.timeLimit(.minutes(2))) func aStreamThatFailsAtEachRung() async throws {
        let lab = try FaultLab(tool: Self.tool, byStream: true)
        #expect(LabFault.rungs.count == 11, "a row of the table has another name now")
        for outcome in await lab.outcomes(of: LabFault.rungs) {
            #expect(outcome.isRight, "\(outcome.fault.name): \(outcome.verdict)\n\(outcome.report)")
        }
    }

    @Test func theTableIsLargeEnough() {
        #expect(LabFault.single.count >= 25)
        let names = (LabFault.single + LabFault.pairs + LabFault.healthy + LabFault.passive).map(\.name)
        #expect(Set(names).count == names.count)
    }
}
