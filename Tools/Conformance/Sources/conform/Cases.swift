import Foundation

/// A row of a case file: a JSON object, with typed access to the members that the files share.
struct CaseRow {
    let json: [String: Any]
    /// The folder of the case file, for rows that refer to further files.
    let folder: URL

    init(line: Data, folder: URL) throws {
        guard let json = try JSONSerialization.jsonObject(with: line) as? [String: Any] else {
            throw CaseError("a row is not a JSON object")
        }
        self.json = json
        self.folder = folder
    }

    var name: String { text("name") ?? "?" }
    var verdict: String? { text("verdict") }
    var mode: String { text("mode") ?? "" }
    var tags: Set<String> { Set(json["tags"] as? [String] ?? []) }

    /// The source's error as text. Sources use different types for it.
    var errorText: String {
        if let error = json["error"] as? [String: Any] { return error.values.map { "\($0)" }.joined(separator: " ") }
        return text("error") ?? ""
    }

    func text(_ key: String) -> String? { json[key] as? String }

    func texts(_ key: String) -> [String] { json[key] as? [String] ?? [] }

    func object(_ key: String) -> [String: Any]? { json[key] as? [String: Any] }

    func flag(_ key: String) -> Bool? { json[key] as? Bool }

    /// Returns the bytes of a member that is encoded in base64.
    func bytes(_ key: String) throws -> [UInt8] {
        guard let text = text(key), let data = Data(base64Encoded: text) else {
            throw CaseError("\(name): \(key) is missing or not base64")
        }
        return Array(data)
    }
}

/// An invalid case file.
struct CaseError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The result of comparing our result for a row with the source's result.
enum Outcome: Hashable {
    /// The verdict is the same, and so are all values that the row states.
    case agreed
    /// We reject what the source accepts, because of this rule.
    case stricter(rule: String)
    /// We accept what the source rejects, or determine another end of a message. This must not happen.
    case laxer(detail: String)
    /// Both accept the row, but with different values.
    case wrongFields(detail: String)
    /// The result depends on something outside the bytes, such as a limit, list or option of the source.
    case notComparable(reason: String)

    var kind: String {
        switch self {
        case .agreed: "agreed"
        case .stricter: "stricter"
        case .laxer: "laxer"
        case .wrongFields: "wrong fields"
        case .notComparable: "not comparable"
        }
    }

    var detail: String {
        switch self {
        case .agreed: ""
        case .stricter(let text), .laxer(let text), .wrongFields(let text), .notComparable(let text): text
        }
    }
}

/// Runs the rows of some case files.
///
/// To add a scorer, declare it in the file of its topic and add it to ``scorers``.
protocol Scorer: Sendable {
    /// Returns whether this scorer runs the file with this name.
    func runs(file: String) -> Bool

    /// Runs one row.
    func score(_ row: CaseRow, file: String) throws -> Outcome
}

/// All scorers. The first that accepts a file runs it.
let scorers: [any Scorer] = [
    ListingScorer(),
    ControlScorer(),
    ChunkedBodyScorer(),
    BrowserResponseScorer(),
    SemanticsScorer(),
    MessageScorer(),
    TXTRecordScorer(),
    CookieScorer(),
    CookieDateScorer(),
    PublicSuffixScorer(),
    RedirectScorer(),
    EventStreamScorer(),
    WebSocketScorer(),
    ChallengeScorer(),
    DigestScorer(),
    NTLMScorer(),
    SPNEGOScorer(),
    ProxyBypassScorer(),
    ChainScorer(),
    BadCertificateScorer(),
    URLScorer(),
    TargetScorer(),
    HPACKScorer(),
    HuffmanScorer(),
    FrameScorer(),
    FieldListScorer(),
    ScenarioScorer(),
]

/// The outcomes of the rows of one file.
struct Scorecard {
    let file: String
    var outcomes: [(name: String, outcome: Outcome)] = []

    func count(_ kind: String) -> Int { outcomes.count { $0.outcome.kind == kind } }

    var hasLaxer: Bool { count("laxer") > 0 }

    static let columns = ["agreed", "stricter", "laxer", "wrong fields", "not comparable"]

    /// The line of the file in the table.
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
