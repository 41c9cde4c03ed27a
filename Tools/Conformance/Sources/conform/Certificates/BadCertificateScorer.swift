import Foundation

/// Servers with certificates that have one fault each; the rows name files.
struct BadCertificateScorer: Scorer {
    func runs(file: String) -> Bool { file == "tls-badcerts.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let expected = row.text("expected") else { throw CaseError("\(row.name): no verdict") }
        guard let chain = text(row, "chain_file"), let key = text(row, "key_file"),
            let root = text(row, "trust_anchor_file")
        else {
            return .notComparable(reason: "its files are not beside the case file (\(row.text("reason") ?? ""))")
        }
        let trial = HandshakeTrial(chain: [chain], key: key, roots: [root], peerName: row.text("host"))
        switch try trial.run() {
        case .accepted: return expected == "accept" ? .agreed : .laxer(detail: row.text("reason") ?? "accepted")
        case .refused(let error):
            if expected == "reject" { return .agreed }
            return .stricter(rule: Rules.name(of: error))
        case .notShown(let error): return .notComparable(reason: "TLS does not show it: \(error)")
        }
    }

    /// The text of a file that the row names: beside the case file, or in the folder above it.
    private func text(_ row: CaseRow, _ key: String) -> String? {
        guard let path = row.text(key) else { return nil }
        let places = [row.folder, row.folder.deletingLastPathComponent()]
        return places.lazy.compactMap { try? String(contentsOf: $0.appending(path: path), encoding: .utf8) }.first
    }
}
