import Foundation
import HTTPMessage

/// The file about what a response's fields mean, read as a client does.
struct SemanticsScorer: Scorer {
    func runs(file: String) -> Bool { file == "http1-semantics.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        var parser = HeadParser(.response, leniency: .client)
        let bytes = try row.bytes("input_b64")
        let response: HTTPResponse
        do throws(HTTPMessageError) {
            guard case .complete = try parser.parse(bytes.span.bytes) else { return refused(row, "truncated") }
            response = try parser.makeResponse(from: bytes.span.bytes)
        } catch {
            return refused(row, error.code.rawValue)
        }
        switch row.text("property") {
        case "content_length":
            let expected = row.json["expected"] as? Int
            do throws(HTTPMessageError) {
                let framing = try BodyFraming.of(response, to: .get, leniency: .client)
                let length = if case .length(let count) = framing { Int(count) } else { -1 }
                if length == expected { return .agreed }
                return framing == .chunked
                    ? .stricter(rule: "transferEncodingWins") : .laxer(detail: "length \(length)")
            } catch {
                return expected == -1 ? .agreed : .stricter(rule: error.code.rawValue)
            }
        case "keep_alive":
            let expected = row.flag("expected") ?? false
            if response.isPersistent == expected { return .agreed }
            if response.isPersistent { return .laxer(detail: "kept open") }
            let says = response.fields.connectionOptions.contains("close")
            return .stricter(rule: says ? "closeWins" : "proxyConnectionIgnored")
        case "redirect_location":
            let found = response.redirectLocation
            return found == row.text("expected") ? .agreed : .wrongFields(detail: "location \(found ?? "nil")")
        case "strong_validators":
            let found = response.hasStrongValidators
            return found == row.flag("expected") ? .agreed : .wrongFields(detail: "strong validators \(found)")
        default:
            return .notComparable(reason: "unknown property \(row.text("property") ?? "nil")")
        }
    }

    /// A head we refuse has no length, is not kept open, leads nowhere and validates nothing.
    private func refused(_ row: CaseRow, _ rule: String) -> Outcome {
        switch row.json["expected"] {
        case let number as Int where number == -1 || number == 0: .agreed
        case is NSNull: .agreed
        default: .stricter(rule: rule)
        }
    }
}
