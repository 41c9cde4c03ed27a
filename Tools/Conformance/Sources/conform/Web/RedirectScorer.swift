import Foundation
import HTTPMessage

@testable import HTTPStream

/// Runs the file of redirects as browsers follow them.
struct RedirectScorer: Scorer {
    func runs(file: String) -> Bool { file == "redirects-wpt.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let url = URL(string: "http://example.org/fetch/redirect.py"), let status = row.json["status"] as? Int
        else {
            throw CaseError("\(row.name): no status")
        }
        switch row.text("kind") {
        case "redirect": return try one(row, status, at: url)
        case "redirect-count": return try many(row, status, at: url)
        default: throw CaseError("\(row.name): unknown kind")
        }
    }

    private func one(_ row: CaseRow, _ status: Int, at url: URL) throws -> Outcome {
        guard let method = row.text("method").flatMap(HTTPMethod.init) else {
            throw CaseError("\(row.name): no method")
        }
        var request = try HTTPRequest(method: method, url: url)
        let fields = row.json["request_headers"] as? [[String]] ?? []
        for field in fields where field.count == 2 {
            guard let name = HTTPFieldName(field[0]) else { throw CaseError("\(row.name): \(field[0])") }
            try request.fields.append(field[1], for: name)
        }
        let hop: NextRequest?
        do {
            hop = try next(status, row.text("location"), request, at: url, hasBody: row.text("body") != nil)
        } catch {
            return row.text("expected") == "error" ? .agreed : .wrongFields(detail: "\(error)")
        }
        guard let expected = row.object("expected") else { return .laxer(detail: "the redirect is followed") }
        guard let hop else {
            let isResult = expected["final_status"] as? Int == status
            return isResult ? .agreed : .wrongFields(detail: "the redirect is not followed")
        }
        if expected["final_status"] as? Int == status { return .laxer(detail: "the redirect is followed") }
        if let method = expected["method"] as? String, method != "\(hop.request.method)" {
            return .wrongFields(detail: "method \(hop.request.method)")
        }
        let names = fields.compactMap { HTTPFieldName($0[0]) }
        if let kept = expected["body_headers_kept"] as? Bool,
            !names.allSatisfy({ hop.request.fields.contains($0) == kept })
        {
            return .wrongFields(detail: "fields \(hop.request.fields.map(\.name))")
        }
        return .agreed
    }

    private func many(_ row: CaseRow, _ status: Int, at url: URL) throws -> Outcome {
        guard let count = row.json["count"] as? Int else { throw CaseError("\(row.name): no count") }
        var policy = RedirectPolicy()
        var follows = true
        for _ in 0..<count where follows {
            follows =
                (try? next(status, "redirect.py", HTTPRequest(method: .get, url: url), at: url, policy: &policy)) != nil
        }
        return follows == (row.text("expected") == "follows")
            ? .agreed : .wrongFields(detail: follows ? "followed" : "not followed")
    }

    private func next(
        _ status: Int, _ location: String?, _ request: HTTPRequest, at url: URL, hasBody: Bool = false
    ) throws -> NextRequest? {
        var policy = RedirectPolicy()
        return try next(status, location, request, at: url, hasBody: hasBody, policy: &policy)
    }

    private func next(
        _ status: Int, _ location: String?, _ request: HTTPRequest, at url: URL, hasBody: Bool = false,
        policy: inout RedirectPolicy
    ) throws -> NextRequest? {
        var response = try HTTPResponse(status: HTTPStatus(integerLiteral: status))
        try response.fields.set(location, for: .location)
        return try policy.next(
            after: response, to: request, at: url, of: HTTPOrigin(url), hasBody: hasBody, CrossOriginPolicy())
    }
}
