import Foundation
import HTTPMessage
import HostResolver

/// The targets of request lines, and their parts.
struct TargetScorer: Scorer {
    func runs(file: String) -> Bool { file == "url-http-parser.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let text = String(decoding: try row.bytes("input_b64"), as: UTF8.self)
        let expected = row.object("fields") as? [String: String] ?? [:]
        let isConnect = row.flag("is_connect") ?? false
        // The source takes fragments, which are never sent (RFC 9112 §3.2).
        let sent = String(text.prefix { $0 != "#" })
        guard let target = isConnect ? RequestTarget(authority: sent) : RequestTarget(sent),
            (try? HTTPRequest(method: isConnect ? .connect : .get, target: target)) != nil,
            let authority = authority(of: sent, isConnect)
        else { return row.verdict == "reject" ? .agreed : .stricter(rule: "invalidTarget") }
        if row.verdict == "reject" {
            return authority.host.contains("=")
                ? .notComparable(reason: "a registered name may have = (RFC 3986 §3.2.2)")
                : .laxer(detail: text.debugDescription)
        }
        let path = isConnect ? "" : (target.path ?? "") + (target.query.map { "?\($0)" } ?? "")
        let wantedPath = (expected["path"] ?? "") + (expected["query"].map { "?\($0)" } ?? "")
        guard authority.host == expected["host"] ?? "", authority.port == expected["port"].flatMap({ Int($0) }),
            path == wantedPath
        else { return .wrongFields(detail: "\(text.debugDescription): \(authority), path \(path)") }
        return .agreed
    }

    private func authority(of target: String, _ isConnect: Bool) -> URLAuthority? {
        try? URLAuthority(of: isConnect ? "connect://\(target)" : target)
    }
}
