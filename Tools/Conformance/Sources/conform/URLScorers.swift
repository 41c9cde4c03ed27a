import Foundation
import HTTPMessage
import HostResolver
import NetKit
import StreamKit

/// Runs the file of URLs: the host and port to connect to, and the request target.
///
/// The sources follow WHATWG's URL Standard, which repairs URLs that are invalid by RFC 3986 and normalizes more than it. Rows in
/// which the standards differ are not comparable.
struct URLScorer: Scorer {
    func runs(file: String) -> Bool { file == "url-whatwg-http-ftp.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let input = row.text("input"), let verdict = row.verdict else { throw CaseError("\(row.name): no input") }
        let found: LoadedURL
        do throws(StreamError) {
            guard let loaded = try LoadedURL(input, base: row.text("base")) else { return refused(row) }
            found = loaded
        } catch {
            return refused(row)
        }
        let expected = row.object("expected") ?? [:]
        if verdict == "reject" {
            if found.host.contains("xn--") {
                return .notComparable(reason: "we look up A-labels without decoding them")
            }
            if found.host.contains("%") {
                return .notComparable(reason: "URL escapes a % in brackets as %25, which begins a zone (RFC 6874 §2)")
            }
            return .laxer(detail: "\(input.debugDescription) is accepted as \(found)")
        }
        let wanted = LoadedURL(whatwg: expected)
        if found == wanted { return .agreed }
        if let reason = difference(input, found, wanted) { return .notComparable(reason: reason) }
        return .wrongFields(detail: "\(input.debugDescription) is \(found) instead of \(wanted)")
    }

    private func refused(_ row: CaseRow) -> Outcome {
        row.verdict == "reject" ? .agreed : .stricter(rule: "noURL")
    }

    /// Returns why the results are not comparable, if RFC 3986 leaves the difference open or decides differently from WHATWG.
    private func difference(_ input: String, _ found: LoadedURL, _ wanted: LoadedURL) -> String? {
        if input.first == " " || input.last == " " { return "WHATWG strips spaces; RFC 3986 does not allow them" }
        guard found.hasSameServer(as: wanted) else { return nil }
        if found.target.contains("/.") || found.target.lowercased().contains("/%2e") {
            return "dot segments of an absolute URL are sent unchanged (RFC 3986 §6.2.2.3)"
        }
        let isEncoding = found.target.removingPercentEncoding == wanted.target.removingPercentEncoding
        return isEncoding ? "WHATWG and RFC 3986 escape different characters" : nil
    }
}

/// The parts of a URL that a load uses.
struct LoadedURL: Equatable, CustomStringConvertible {
    var scheme: String
    var host: String
    var port: UInt16
    var target: String

    /// Creates the parts as a load determines them. Nil if the text is not a URL that can be requested.
    init?(_ text: String, base: String?) throws(StreamError) {
        guard let url = URL(string: text, relativeTo: base.flatMap { URL(string: $0) })?.absoluteURL,
            let request = try? HTTPRequest(method: .get, url: url)
        else { return nil }
        let origin = try HTTPOrigin(url)
        (scheme, host, port) = (origin.scheme, origin.host, origin.port)
        target = String(decoding: request.target.bytes, as: UTF8.self)
    }

    /// Creates the parts that a row of the web platform tests expects.
    init(whatwg expected: [String: Any]) {
        func text(_ key: String) -> String { expected[key] as? String ?? "" }
        scheme = String(text("protocol").dropLast())
        host = text("hostname").trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        port = UInt16(text("port")) ?? (scheme == "https" ? 443 : scheme == "ftp" ? 21 : 80)
        target = text("pathname") + text("search")
    }

    /// Returns whether both have the same scheme, host and port. IP addresses are compared by value.
    func hasSameServer(as other: LoadedURL) -> Bool {
        let isSameHost = host == other.host || IPAddress(host).map { $0 == IPAddress(other.host) } ?? false
        return scheme == other.scheme && port == other.port && isSameHost
    }

    static func == (left: LoadedURL, right: LoadedURL) -> Bool {
        left.hasSameServer(as: right) && left.target == right.target
    }

    var description: String { "\(scheme)://\(host):\(port)\(target)" }
}

/// Runs the file of request targets and their parts.
struct TargetScorer: Scorer {
    func runs(file: String) -> Bool { file == "url-http-parser.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let text = String(decoding: try row.bytes("input_b64"), as: UTF8.self)
        let expected = row.object("fields") as? [String: String] ?? [:]
        let isConnect = row.flag("is_connect") ?? false
        // The source accepts fragments, which are never sent (RFC 9112 §3.2).
        let sent = String(text.prefix { $0 != "#" })
        guard let target = isConnect ? RequestTarget(authority: sent) : RequestTarget(sent),
            (try? HTTPRequest(method: isConnect ? .connect : .get, target: target)) != nil,
            let authority = authority(of: sent, isConnect)
        else { return row.verdict == "reject" ? .agreed : .stricter(rule: "invalidTarget") }
        if row.verdict == "reject" {
            return authority.host.contains("=")
                ? .notComparable(reason: "a registered name may contain = (RFC 3986 §3.2.2)")
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

/// Runs the file of rules for hosts that are reached without a proxy.
///
/// A row is stricter if we use the proxy and the source connects directly, and laxer in the opposite case.
struct ProxyBypassScorer: Scorer {
    func runs(file: String) -> Bool { file == "proxy-bypass.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let rules = row.text("rules"), let expected = row.flag("bypass") else {
            throw CaseError("\(row.name): no rules or no expected result")
        }
        let found: Bool
        switch row.text("kind") {
        case "no_proxy":
            found = ProxyBypassList(noProxy: rules).covers(host: row.text("host") ?? "")
        case "chromium-bypass-rules":
            // Chromium's grammar is that of an exceptions list: a plain name matches only that host.
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
        return found ? .laxer(detail: "\(rules): direct connection") : .stricter(rule: "proxyBypass")
    }
}
