import Testing

@_spi(Packages) @testable import NetDiag

@Suite struct RepairGuideTests {
    private let dead = World.changed {
        $0.connection = World.timedOut
        $0.neighbors = [Neighbor(World.gateway, interfaceIndex: 2, state: .failed)]
    }.diagnose()
    private let refused = World.changed { $0.connection = World.refused }.diagnose()
    private let fine = World().diagnose()

    private func step(_ next: RepairGuide.Next) -> RepairGuide.Step? {
        if case .step(let step) = next { step } else { nil }
    }

    @Test func oneStepAfterTheOther() {
        var guide = RepairGuide()
        let steps = FindingCode.gatewaySilent.steps
        #expect(steps.count > 1)
        for (index, text) in steps.enumerated() {
            let next = step(guide.next(after: dead))
            #expect(next?.text == text)
            #expect(next?.number == index + 1 && next?.count == steps.count)
            #expect(next?.isProgress == false)
        }
        #expect(guide.next(after: dead) == .exhausted(dead.cause!))
    }

    @Test func aRepairLeadsToTheNextFault() {
        var guide = RepairGuide()
        _ = guide.next(after: dead)
        let next = step(guide.next(after: refused))
        #expect(next?.finding.code == .portRefused && next?.number == 1 && next?.isProgress == true)
        #expect(guide.next(after: fine) == .works(isRepaired: true))
    }

    /// A step that breaks the network again is not progress, and steps already given are not repeated.
    @Test func aReturningFaultContinuesItsSteps() {
        var guide = RepairGuide()
        _ = guide.next(after: dead)
        _ = guide.next(after: refused)
        let next = step(guide.next(after: dead))
        #expect(next?.number == 2 && next?.isProgress == false)
    }

    @Test func nothingToDo() {
        var guide = RepairGuide()
        #expect(guide.next(after: fine) == .works(isRepaired: false))
    }

    @Test(arguments: FindingCode.allCases)
    func everyFindingHasSteps(_ code: FindingCode) {
        #expect(!code.steps.isEmpty)
        #expect(Set(code.steps.map(\.key)).count == code.steps.count)
        for step in code.steps { #expect(step.description.hasSuffix(".")) }
    }
}
