import Foundation

/// What came of the rows of one file.
struct Scorecard {
    let file: String
    var outcomes: [(name: String, outcome: Outcome)] = []

    func count(_ kind: String) -> Int { outcomes.count { $0.outcome.kind == kind } }

    var hasLaxer: Bool { count("laxer") > 0 }

    static let columns = ["agreed", "stricter", "laxer", "wrong fields", "not comparable"]

    /// One line of the table.
    var line: String {
        let numbers = [outcomes.count] + Self.columns.map(count)
        return file.padding(toLength: 42, withPad: " ", startingAt: 0) + numbers.map(Self.cell).joined()
    }

    static var heading: String {
        "file".padding(toLength: 42, withPad: " ", startingAt: 0)
            + (["cases"] + columns).map { $0 == "laxer" ? "LAXER" : $0 }.map(cell).joined()
    }

    private static func cell(_ value: some CustomStringConvertible) -> String {
        let text = value.description
        return String(repeating: " ", count: max(1, 15 - text.count)) + text
    }

    var json: [String: Any] {
        var object: [String: Any] = ["file": file, "cases": outcomes.count]
        for column in Self.columns { object[column.replacingOccurrences(of: " ", with: "_")] = count(column) }
        object["rows"] = outcomes.filter { $0.outcome != .agreed }.map {
            ["name": $0.name, "outcome": $0.outcome.kind, "detail": $0.outcome.detail]
        }
        return object
    }
}
