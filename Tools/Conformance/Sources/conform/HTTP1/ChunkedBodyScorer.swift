import Foundation
import HTTPMessage

/// Files of chunked bodies, and of lines before a chunk.
struct ChunkedBodyScorer: Scorer {
    func runs(file: String) -> Bool {
        file == "http1-chunked-bodies.jsonl" || file == "http1-chunk-size-line.jsonl"
    }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let input = try row.bytes("input_b64")
        var splits = [[input], input.map { [$0] }]
        if let segments = row.json["segments_b64"] as? [String] {
            splits.append(segments.compactMap { Data(base64Encoded: $0).map { Array($0) } })
        }
        let results = splits.map { decode($0, row) }
        guard Set(results.map(\.verdict)).count == 1, Set(results.map(\.payload)).count == 1 else {
            return .laxer(detail: "another result for another split")
        }
        let result = results[0]
        switch (row.verdict, result.verdict) {
        case ("accept", "accept"):
            if let decoded = row.text("decoded_b64"), Array(Data(base64Encoded: decoded) ?? Data()) != result.payload {
                return .laxer(detail: "another payload")
            }
            if let left = row.json["leftover_bytes"] as? Int, left != result.leftover {
                return .laxer(detail: "\(result.leftover) bytes left instead of \(left)")
            }
            return .agreed
        case ("accept", "incomplete"): return .laxer(detail: "we wait for more")
        case ("accept", let code),
            ("incomplete", let code) where code != "incomplete" && code != "accept":
            return .stricter(rule: code)
        case ("reject", "accept"), ("hostile", "accept"), ("incomplete", "accept"):
            return .laxer(detail: "accepted")
        default: return .agreed
        }
    }

    private struct Result {
        var verdict = "incomplete"
        var payload: [UInt8] = []
        var leftover = 0
    }

    private func decode(_ pieces: [[UInt8]], _ row: CaseRow) -> Result {
        let endsBeforeTrailers = row.flag("consume_trailer") == false
        let isLine = row.json["decoded_b64"] == nil
        var decoder = BodyDecoder(.chunked)
        var result = Result()
        do throws(HTTPMessageError) {
            for piece in pieces {
                var position = 0
                reading: while true {
                    switch try decoder.next(in: piece.span.bytes, at: &position) {
                    case .payload(let range): result.payload += piece[range]
                    case .needMore, .end: break reading
                    }
                }
                result.leftover += piece.count - position
            }
            let isLineComplete = isLine && (decoder.payloadAhead > 0 || decoder.isPayloadComplete)
            if decoder.isComplete || isLineComplete || endsBeforeTrailers && decoder.isPayloadComplete {
                result.verdict = "accept"
            }
        } catch {
            result.verdict = error.code.rawValue
        }
        return result
    }
}
