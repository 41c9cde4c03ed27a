import Foundation

/// Runs case files that were collected from other projects against our packages, and prints a scorecard.
@main
enum Conform {
    static let usage = """
        usage: conform DIR [--json] [--all]

        Runs the known case files (*.jsonl) in DIR. For each file, prints how many rows agree with their source, are
        rejected only by our packages (stricter), are accepted only by our packages (LAXER), or differ in a value.
        Stricter rows are grouped by rule.

        --json  prints the scorecard as JSON, with all rows that do not agree
        --all   also lists each stricter row

        Exit status: 0; 1 if a row is laxer; 2 if a file cannot be read.
        """

    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.contains("--help") || arguments.contains("-h") {
            print(usage)
            exit(0)
        }
        let asJSON = arguments.contains("--json")
        let all = arguments.contains("--all")
        arguments.removeAll { $0 == "--json" || $0 == "--all" }
        guard arguments.count == 1, let folder = arguments.first, !folder.hasPrefix("-") else {
            FileHandle.standardError.write(Data((usage + "\n").utf8))
            exit(2)
        }
        do {
            exit(try run(URL(fileURLWithPath: folder), asJSON: asJSON, all: all) ? 0 : 1)
        } catch {
            FileHandle.standardError.write(Data("conform: \(error)\n".utf8))
            exit(2)
        }
    }

    /// Runs all case files in a folder. Returns true if no row is laxer.
    static func run(_ folder: URL, asJSON: Bool, all: Bool) throws -> Bool {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "jsonl" }.sorted { $0.lastPathComponent < $1.lastPathComponent }
        guard !files.isEmpty else { throw CaseError("no case files (*.jsonl) in \(folder.path)") }
        var cards: [Scorecard] = []
        var unknown: [String] = []
        for file in files {
            let name = file.lastPathComponent
            guard let scorer = scorers.first(where: { $0.runs(file: name) }) else {
                unknown.append(name)
                continue
            }
            var card = Scorecard(file: name)
            for line in try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")) {
                let row = try CaseRow(line: Data(line), folder: folder)
                card.outcomes.append((row.name, score(row, file: name, with: scorer)))
            }
            cards.append(card)
        }
        if asJSON {
            let object: [String: Any] = ["files": cards.map(\.json), "not_run": unknown, "rules": Rules.sentences]
            let data = try JSONSerialization.data(withJSONObject: object, options: [.prettyPrinted, .sortedKeys])
            print(String(decoding: data, as: UTF8.self))
        } else {
            report(cards, unknown, all: all)
        }
        return !cards.contains(where: \.hasLaxer)
    }

    /// Scores one row. A row of a shape that the scorer does not know is not comparable.
    private static func score(_ row: CaseRow, file: String, with scorer: any Scorer) -> Outcome {
        do {
            return try scorer.score(row, file: file)
        } catch {
            return .notComparable(reason: "unknown shape: \(error)")
        }
    }

    /// Prints the scorecard as text.
    private static func report(_ cards: [Scorecard], _ unknown: [String], all: Bool) {
        print(Scorecard.heading)
        cards.forEach { print($0.line) }
        var total = Scorecard(file: "total")
        total.outcomes = cards.flatMap(\.outcomes)
        print(total.line)
        let stricter = total.outcomes.filter { $0.outcome.kind == "stricter" }
        if !stricter.isEmpty { print("\nStricter than the source, by rule:") }
        for (rule, rows) in Dictionary(grouping: stricter, by: \.outcome.detail).sorted(by: { $0.key < $1.key }) {
            print("  \(rows.count) × \(rule): \(Rules.sentences[rule] ?? "undocumented rule")")
        }
        for kind in ["laxer", "wrong fields", "not comparable"] {
            let rows = total.outcomes.filter { $0.outcome.kind == kind }
            if !rows.isEmpty { print("\n\(kind.capitalized):") }
            rows.forEach { print("  \($0.name): \($0.outcome.detail)") }
        }
        if all {
            print("\nStricter rows:")
            stricter.forEach { print("  \($0.name): \($0.outcome.detail)") }
        }
        if !unknown.isEmpty { print("\nNot run (no scorer): \(unknown.joined(separator: ", "))") }
    }
}
