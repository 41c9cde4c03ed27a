import Foundation
import HTTPAuth

/// Runs the file of challenges.
struct ChallengeScorer: Scorer {
    func runs(file: String) -> Bool { file == "www-authenticate.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let values = row.json["values"] as? [String] else { throw CaseError("\(row.name): no values") }
        var response = try HTTPResponse(status: .unauthorized)
        for value in values {
            // The values are Latin-1.
            try response.fields.append(
                rawValue: Array(value.unicodeScalars.map { UInt8($0.value & 0xFF) }), for: .wwwAuthenticate)
        }
        let found = ChallengeParser().parse(response)
        if row.text("scope") == "digest-fields" { return try digest(row, response) }
        if row.verdict == "reject" {
            // A challenge with parameters that its scheme rejects counts as dropped.
            let isUsable = HTTPAuthentication(response: response)?.isValid == true
            let isDropped = found.challenges.isEmpty || row.tags.contains("params-invalid") && !isUsable
            return isDropped ? .agreed : .laxer(detail: "\(found.challenges)")
        }
        let expected = row.json["challenges"] as? [[String: Any]] ?? []
        let names = expected.map { ($0["scheme"] as? String ?? "").lowercased() }
        guard found.challenges.map({ $0.scheme.lowercased() }) == names else {
            let detail = "\(found.challenges.map(\.scheme)) instead of \(names)"
            return found.challenges.count < names.count ? .stricter(rule: "malformedChallenge") : .laxer(detail: detail)
        }
        for (challenge, want) in zip(found.challenges, expected) {
            if let detail = difference(challenge, want, in: row) { return .wrongFields(detail: detail) }
        }
        return .agreed
    }

    private func difference(_ challenge: Challenge, _ want: [String: Any], in row: CaseRow) -> String? {
        if !row.tags.contains("scheme-lowercased-by-source"), challenge.scheme != want["scheme"] as? String {
            return "scheme \(challenge.scheme)"
        }
        if challenge.token != want["token68"] as? String { return "token \(challenge.token ?? "nil")" }
        let pairs = (want["params"] as? [[String]] ?? []).filter { $0.count == 2 }
        let isPartial = want["partial"] as? Bool == true
        if !isPartial, pairs.count != challenge.parameters.count { return "\(challenge.parameters.count) parameters" }
        for pair in pairs where challenge[pair[0]] != pair[1] { return "\(pair[0]) is \(challenge[pair[0]] ?? "nil")" }
        return nil
    }

    /// Runs Chromium's cases for Digest: our authentication must be able to use the challenges that Chromium accepts.
    private func digest(_ row: CaseRow, _ response: HTTPResponse) throws -> Outcome {
        guard let authentication = HTTPAuthentication(response: response) else { throw CaseError(row.name) }
        if row.verdict == "reject" {
            return authentication.isValid ? .laxer(detail: "\(authentication.explain())") : .agreed
        }
        if let error = authentication.error { return .stricter(rule: error.code.rawValue) }
        return authentication.method == .digest ? .agreed : .wrongFields(detail: "\(authentication.explain())")
    }
}
