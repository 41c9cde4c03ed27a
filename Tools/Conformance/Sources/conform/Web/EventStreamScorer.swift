import HTTPMessage

@testable import HTTPStream

/// Runs the file of streams of server-sent events.
struct EventStreamScorer: Scorer {
    func runs(file: String) -> Bool { file == "eventsource-wpt.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let status = row.json["status"] as? Int else { throw CaseError("\(row.name): no status") }
        var response = try HTTPResponse(status: HTTPStatus(integerLiteral: status))
        try response.fields.set(row.text("content_type"), for: .contentType)
        let opens = (try? ServerSentEvents.check(response)) ?? false
        guard opens == row.flag("opens") else {
            return opens ? .laxer(detail: "opened") : .stricter(rule: "noEventStream")
        }
        if !opens { return .agreed }
        let bytes = try row.bytes("body_b64")
        for pieces in [[bytes], bytes.map { [$0] }] {
            var parser = ServerSentEventParser()
            var found: [String] = []
            for piece in pieces {
                parser.append(piece)
                while let event = try parser.next() {
                    found.append("\(event.event ?? "message") \(event.id ?? "") \(event.data)")
                }
            }
            let expected = (row.json["events"] as? [[String: Any]] ?? []).map { event in
                ["type", "id", "data"].map { event[$0] as? String ?? "" }.joined(separator: " ")
            }
            if found != expected { return .wrongFields(detail: found.joined(separator: " | ")) }
            if parser.lastEventID != row.text("last_event_id") ?? "" {
                return .wrongFields(detail: "id \(parser.lastEventID)")
            }
            let retry = (row.json["retry_ms"] as? Int).map { Duration.milliseconds($0) }
            if parser.reconnectionTime != retry {
                return .wrongFields(detail: "retry \(parser.reconnectionTime.map { "\($0)" } ?? "none")")
            }
        }
        return .agreed
    }
}
