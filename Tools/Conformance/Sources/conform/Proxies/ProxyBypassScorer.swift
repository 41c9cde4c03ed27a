import Foundation
import StreamKit

/// The file about hosts that are reached without a proxy. Stricter means through the proxy where the source goes directly;
/// laxer, directly where the source goes through the proxy.
struct ProxyBypassScorer: Scorer {
    func runs(file: String) -> Bool { file == "proxy-bypass.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let rules = row.text("rules"), let expected = row.flag("bypass") else {
            throw CaseError("\(row.name): no rules or no outcome")
        }
        let found: Bool
        switch row.text("kind") {
        case "no_proxy":
            found = ProxyBypassList(noProxy: rules).covers(host: row.text("host") ?? "")
        case "chromium-bypass-rules":
            // Chromium's grammar is that of an exceptions list: a bare name is that host alone.
            guard let url = row.text("url").flatMap({ URL(string: $0) }) else {
                throw CaseError("\(row.name): no URL")
            }
            let list = ProxyBypassList(exceptions: rules.components(separatedBy: ","))
            var settings = ProxySettings()
            settings.others = [ProxyServer(.http, host: "proxy.test")]
            settings.bypass = list
            found = settings.choices(for: url) == [.direct]
        default:
            return .notComparable(reason: "unknown kind \(row.text("kind") ?? "nil")")
        }
        if found == expected { return .agreed }
        return found ? .laxer(detail: "\(rules): directly") : .stricter(rule: "proxyBypass")
    }
}
