import Foundation
import HTTPMessage

/// Compares the messages of a row with the parsed messages.
///
/// Sources differ in what they preserve. The comparison ignores leading and trailing whitespace of values and reasons, which is
/// not part of them (RFC 9112 §4, §5.1). It also ignores the amount of whitespace in folded values: we replace each fold with a
/// space (§5.2), and sources keep the whitespace.
struct MessageComparison {
    let row: CaseRow

    init(_ row: CaseRow) {
        self.row = row
    }

    func compare(_ run: MessageRun) -> Outcome {
        guard let expected = row.json["messages"] as? [[String: Any]], !expected.isEmpty else { return .agreed }
        let finals = run.messages.filter { !$0.isInterim }
        let ours = expected.count == run.messages.count ? run.messages : finals
        guard expected.count == ours.count else {
            return .laxer(detail: "\(ours.count) messages instead of \(expected.count)")
        }
        for (want, have) in zip(expected, ours) {
            if let difference = framingDifference(want, have) { return .laxer(detail: difference) }
            if let difference = difference(want, have) { return .wrongFields(detail: difference) }
        }
        return .agreed
    }

    /// Returns the difference between the bodies, if any. Different bodies mean different ends of the message.
    private func framingDifference(_ want: [String: Any], _ have: MessageRun.Message) -> String? {
        if let text = want["body_b64"] as? String, let body = Data(base64Encoded: text).map({ Array($0) }),
            !sameBody(body, have)
        {
            return "a body of \(have.body.count) bytes instead of \(body.count)"
        }
        if let count = want["body_size_downloaded"] as? Int, count != have.body.count {
            return "a body of \(have.body.count) bytes instead of \(count)"
        }
        return nil
    }

    /// Rows of http-parser have an empty body in any case. Rows of llhttp lack the line endings of bodies, because its tests log
    /// them separately.
    private func sameBody(_ body: [UInt8], _ have: MessageRun.Message) -> Bool {
        if body == have.body || body.isEmpty && row.name.hasPrefix("http-parser/") { return true }
        let isText: (UInt8) -> Bool = { $0 != 13 && $0 != 10 }
        return row.name.hasPrefix("llhttp/") && body.elementsEqual(have.body.filter(isText))
    }

    private func difference(_ want: [String: Any], _ have: MessageRun.Message) -> String? {
        func differs(_ key: String, _ value: String?) -> String? {
            guard let expected = want[key] as? String else { return nil }
            return sameText(expected, value ?? "") ? nil : "\(key) \(value ?? "nil") instead of \(expected)"
        }
        let version = (have.request?.version ?? have.response?.version).map { "\($0.major).\($0.minor)" }
        if let found = differs("method", have.request?.method.name) ?? differs("version", version)
            ?? differs("target", have.request?.target.description) ?? differs("reason", have.response?.reason)
        {
            return found
        }
        if let status = want["status"] as? Int, let response = have.response, response.status.code != status {
            return "status \(response.status) instead of \(status)"
        }
        if let host = want["host"] as? String, let own = have.fields[.host], own != host { return "host \(own)" }
        if let headers = want["headers"] as? [[String]], let found = fieldsDiffer(headers, have.fields) { return found }
        if let headers = want["headers_canonical"] as? [String: [String]] {
            for (name, values) in headers {
                guard let name = HTTPFieldName(name), sameValues(values, have.fields.values(for: name)) else {
                    return "values of \(name)"
                }
            }
        }
        if let count = want["header_count"] as? Int, count != have.fields.count { return "\(have.fields.count) fields" }
        for key in ["trailer", "trailers"] {
            guard let trailers = want[key] as? [String: [String]] else { continue }
            for (name, values) in trailers {
                guard let name = HTTPFieldName(name), have.trailers.values(for: name) == values else {
                    return "trailer \(name)"
                }
            }
        }
        return nil
    }

    private func fieldsDiffer(_ want: [[String]], _ fields: HTTPFields) -> String? {
        // By default, gunicorn drops fields whose names contain an underscore.
        let drops = row.name.hasPrefix("gunicorn/") && !want.contains { $0[0].contains("_") }
        var have = fields.filter { !drops || !$0.name.name.contains("_") }
            .map { ($0.name.name, latin1($0.rawValue)) }[...]
        let ignoresCase = row.tags.contains("header-names-uppercased-by-source") || row.name.hasPrefix("jetty/")
        let isPartial = row.tags.contains("head-fields-partial")
        for pair in want {
            var found = false
            while let (name, value) = have.popFirst() {
                let wanted = pair[0].trimmingCharacters(in: .whitespaces)
                let sameName = ignoresCase ? name.lowercased() == wanted.lowercased() : name == wanted
                if sameName, sameText(pair[1], value) {
                    found = true
                    break
                }
                if !isPartial { return "\(name): \(value) instead of \(pair[0]): \(pair[1])" }
            }
            if !found { return "no \(pair[0]): \(pair[1])" }
        }
        return have.isEmpty || isPartial ? nil : "\(have.count) surplus fields"
    }

    private func sameValues(_ want: [String], _ have: [String]) -> Bool {
        want.count == have.count && zip(want, have).allSatisfy { sameText($0, $1) }
    }

    /// Returns whether the texts are equal as Latin-1 or UTF-8, or equal except for whitespace unless the mode is strict.
    private func sameText(_ want: String, _ have: String) -> Bool {
        let want = want.trimmingCharacters(in: .whitespaces)
        let have = have.trimmingCharacters(in: .whitespaces)
        if want == have || latin1(Array(have.utf8)) == want { return true }
        let blanks: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return row.mode != "strict" && want.split(whereSeparator: blanks) == have.split(whereSeparator: blanks)
    }

    private func latin1(_ bytes: [UInt8]) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
