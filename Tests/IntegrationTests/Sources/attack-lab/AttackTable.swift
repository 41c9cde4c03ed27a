internal import AttackLab

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
