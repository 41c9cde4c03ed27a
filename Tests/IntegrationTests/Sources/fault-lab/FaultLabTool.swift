internal import FaultLab
internal import Foundation

/// Prints the table of faults and their diagnoses; fails if one of them is wrong.
///
///     fault-lab [WORDS]      only rows whose name contains WORDS, with the complete report
@main struct FaultLabTool {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst().joined(separator: " ")
        let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("diagnose-here").path
        let lab = try FaultLab(tool: tool)
        var wrong = 0
        for (title, all) in [
            ("one fault", LabFault.single), ("two faults, the lower is named", LabFault.pairs),
            ("no fault, odd habits", LabFault.healthy), ("without a packet", LabFault.passive),
        ] {
            let faults = words.isEmpty ? all : all.filter { $0.name.contains(words) }
            if faults.isEmpty { continue }
            print("\n\(title): \(faults.count)")
            for outcome in await lab.outcomes(of: faults) {
                let mark = outcome.isRight ? "✔" : "✘"
                let name = outcome.fault.name.padding(toLength: 60, withPad: " ", startingAt: 0)
                print(
                    "\(mark) \(name) \(outcome.verdict)\(outcome.isRight ? "" : "   expected: \(outcome.fault.verdict)")"
                )
                if !outcome.isRight { wrong += 1 }
                if !outcome.isRight || !words.isEmpty { print(outcome.report) }
            }
        }
        print("\n\(wrong) wrong")
        exit(wrong == 0 ? 0 : 1)
    }
}
