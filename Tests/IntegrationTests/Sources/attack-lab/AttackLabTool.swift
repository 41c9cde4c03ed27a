internal import AttackLab
internal import Foundation
internal import Peers

/// Prints the table of attacks and their effects on the victims; see `Scripts/attacklab --help`.
@main struct AttackLabTool {
    static func main() async {
        var options: AttackLabOptions
        do {
            options = try AttackLabOptions(CommandLine.arguments.dropFirst())
        } catch {
            FileHandle.standardError.write(Data("attacklab: \(error)\n".utf8))
            exit(EX_USAGE)
        }
        switch options.verb {
        case .help: print(AttackLabOptions.help)
        case .list: for attack in options.attacks { print("\(padded(attack.name, 30)) \(attack.summary)") }
        case .measure: await measure(options)
        case .run: await run(options)
        }
    }

    /// Measures one run in this process, for the lab that started it.
    private static func measure(_ options: AttackLabOptions) async {
        do {
            let run = AttackRun(options.attacks[0], seconds: options.seconds, bytes: options.bytes)
            let measurement = try await run.measured()
            FileHandle.standardOutput.write(try JSONEncoder().encode(measurement))
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(EX_SOFTWARE)
        }
    }

    private static func run(_ options: AttackLabOptions) async {
        let lab = AttackLab(tool: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path)
        write(options.isMarkdown ? AttackTable.markdownHead : AttackTable.head)
        var missed = 0
        for attack in options.attacks {
            let outcome = await lab.outcome(of: attack, seconds: options.seconds, runs: options.runs)
            write(options.isMarkdown ? AttackTable.markdownRow(outcome) : AttackTable.row(outcome))
            if outcome.missed.isEmpty { continue }
            missed += 1
            FileHandle.standardError.write(Data((outcome.details + "\n").utf8))
        }
        if !options.isMarkdown { write("\n\(options.attacks.count) attacks, \(missed) beyond a bar") }
        exit(missed == 0 ? 0 : 1)
    }

    /// Writes a line immediately, even to a pipe: a row takes half a minute.
    private static func write(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

/// The lines of the table.
enum AttackTable {
    private static let titles = ["lateness", "growth", "slowest", "honest load"]

    static var head: String { "  " + padded("attack", 30) + titles.map { padded($0, 12) }.joined() }

    static func row(_ outcome: AttackOutcome) -> String {
        let mark = outcome.missed.isEmpty ? "✔" : "✘"
        let cells = figures(outcome).map { padded($0, 12) }.joined()
        return "\(mark) " + padded(outcome.attack.name, 30) + cells + outcome.missed.joined(separator: ", ")
    }

    static let markdownHead = """
        | attack | what the peer does | known as | worst lateness | growth | slowest | honest load |
        |---|---|---|--:|--:|--:|---|
        """

    static func markdownRow(_ outcome: AttackOutcome) -> String {
        let attack = outcome.attack
        let breaches = outcome.breaches.isEmpty ? "" : ", **\(outcome.breaches.joined(separator: "; "))**"
        let cells = ["`\(attack.name)`", attack.summary, attack.origin] + figures(outcome)
        return "| " + cells.joined(separator: " | ") + breaches + " |"
    }

    private static func figures(_ outcome: AttackOutcome) -> [String] {
        if outcome.runs.isEmpty { return ["-", "-", "-", "-"] }
        return [
            "\(outcome.lateness.tenths) ms", "\(outcome.growth.mebibytes) MiB", "\(outcome.slowest.tenths) s",
            outcome.honestLoadFinished ? "finished" : "failed",
        ]
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
