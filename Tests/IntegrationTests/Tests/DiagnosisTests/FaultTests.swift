import FaultLab
import Foundation
import Testing

/// Networks with real faults in namespaces: the diagnosis names each fault and no other, the lower one of two faults, and does not
/// report an unusual network as broken.
@Suite(.serialized) struct FaultTests {
    /// SwiftPM puts executables next to the test bundle.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("diagnose-here").path

    // Parity: ND-001, ND-012, ND-013 (Linux)
    @Test(.timeLimit(.minutes(5)), arguments: [LabFault.single, LabFault.pairs, LabFault.healthy, LabFault.passive])
    func onlyTheFaultIsDiagnosed(_ faults: [LabFault]) async throws {
        let lab = try FaultLab(tool: Self.tool)
        for outcome in await lab.outcomes(of: faults) {
            #expect(outcome.isRight, "\(outcome.fault.name)\n\(outcome.report)")
            let sentence = Self.sentences[outcome.fault.name]
            if sentence != nil { #expect(Self.sentence(in: outcome.report) == sentence) }
        }
    }

    /// A snapshot of the sentences, by the name of the fault.
    private static let sentences: [String: String] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Sentences.tsv")
        let lines = ((try? String(contentsOf: file, encoding: .utf8)) ?? "").split(separator: "\n")
        return Dictionary(
            lines.filter { !$0.hasPrefix("#") }.map { line in
                let fields = line.split(separator: "\t", maxSplits: 1).map(String.init)
                return (fields[0], fields.last ?? "")
            }, uniquingKeysWith: { $1 })
    }()

    /// The sentence of the cause in a report, without the values that differ in each run: times, hashes, and the message of a script's
    /// engine.
    private static func sentence(in report: String) -> String {
        let lines = report.split(separator: "\n")
        let line = lines.count > 1 ? String(lines[1]) : ""
        let date = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/
        return line.replacing(date, with: "…").replacing(/[0-9a-f]{64}|\d+\.\d+ seconds/, with: "…")
            .replacing(/(JSERROR|ReferenceError): .*/, with: "…")
    }

    @Test func everyFaultHasASentence() {
        #expect(Set(Self.sentences.keys) == Set(LabFault.single.map(\.name)))
        #expect(Self.sentences.values.allSatisfy { !$0.isEmpty })
    }

    /// The diagnosis has only the stream, which failed before the diagnosis began.
    // Parity: ND-002 (Linux)
    @Test(.timeLimit(.minutes(5))) func aStreamThatFailsAtEachRung() async throws {
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
