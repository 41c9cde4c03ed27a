import HTTPMessage

/// Runs the file of responses whose framing or status line browsers' tests examine, with the leniency of a client.
struct BrowserResponseScorer: Scorer {
    func runs(file: String) -> Bool { file == "http1-wpt.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let bytes = try row.bytes("input_b64")
        let whole = MessageRun(bytes, .response, .client, piece: max(1, bytes.count))
        guard whole == MessageRun(bytes, .response, .client, piece: 1) else {
            return .laxer(detail: "the result depends on the split")
        }
        switch (row.text("expected"), whole.verdict) {
        case ("accept", .accept), ("accept", .acceptAtEnd):
            let count = whole.messages.first?.body.count
            if let length = row.json["body_length"] as? Int, count != length {
                return .laxer(detail: "a body of \(count ?? 0) bytes")
            }
            return .agreed
        case ("accept", .reject(let code)): return .stricter(rule: code.rawValue)
        case ("accept", .incomplete): return .stricter(rule: "truncated")
        // The connection is closed after the bytes.
        case ("reject", .reject), ("reject", .incomplete), ("body-error", .reject), ("body-error", .incomplete):
            return .agreed
        case ("reject", _), ("body-error", _): return .laxer(detail: "accepted")
        default: throw CaseError("\(row.name): unknown expectation")
        }
    }
}
