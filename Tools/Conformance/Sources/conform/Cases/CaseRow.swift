import Foundation

/// One row of a case file: a JSON object with typed access to the members the files share.
struct CaseRow {
    let json: [String: Any]
    /// Where the case file is, for rows that name further files.
    let folder: URL

    init(line: Data, folder: URL) throws {
        guard let json = try JSONSerialization.jsonObject(with: line) as? [String: Any] else {
            throw CaseError("a row is not an object")
        }
        self.json = json
        self.folder = folder
    }

    var name: String { text("name") ?? "?" }
    var verdict: String? { text("verdict") }
    var mode: String { text("mode") ?? "" }
    var tags: Set<String> { Set(json["tags"] as? [String] ?? []) }

    /// What the source said, as text; sources say it in different shapes.
    var errorText: String {
        if let error = json["error"] as? [String: Any] { return error.values.map { "\($0)" }.joined(separator: " ") }
        return text("error") ?? ""
    }

    func text(_ key: String) -> String? { json[key] as? String }

    func texts(_ key: String) -> [String] { json[key] as? [String] ?? [] }

    func object(_ key: String) -> [String: Any]? { json[key] as? [String: Any] }

    func flag(_ key: String) -> Bool? { json[key] as? Bool }

    /// The bytes of a member in base64.
    func bytes(_ key: String) throws -> [UInt8] {
        guard let text = text(key), let data = Data(base64Encoded: text) else {
            throw CaseError("\(name): \(key) is not base64")
        }
        return Array(data)
    }
}

/// A case file that is not what it should be.
struct CaseError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
