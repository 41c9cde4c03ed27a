import Testing

@testable import NetDiag

/// The ladder of a diagnosis.
@Suite struct RungResultTests {
    @Test("Every needed rung works, with the addresses of name and connection") func healthy() throws {
        let ladder = World().run().diagnosis.ladder
        #expect(ladder.map(\.rung) == DiagnosisTarget.page.rungs)
        #expect(ladder.allSatisfy { $0.state == .works })
        for rung in [Rung.name, .connection] {
            let step = try #require(ladder.first { $0.rung == rung })
            #expect(step.address?.isEmpty == false && step.time != nil)
        }
        #expect(ladder.first { $0.rung == .answer }?.time != nil)
    }

    @Test("The cause is broken, and an unchecked rung has neither time nor address", arguments: LadderFault.all)
    func broken(_ fault: LadderFault) {
        let diagnosis = fault.world.diagnose(fault.target)
        let ladder = diagnosis.ladder
        #expect(ladder.first { $0.rung == diagnosis.brokenRung }?.state == .broken)
        #expect(ladder == ladder.sorted { $0.rung < $1.rung })
        for step in ladder where step.state == .unchecked { #expect(step.time == nil && step.address == nil) }
        #expect(ladder.filter { $0.state == .unchecked }.allSatisfy { diagnosis.unchecked.contains($0.rung) })
    }
}
