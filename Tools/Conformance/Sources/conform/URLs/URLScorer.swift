import Foundation
import HTTPMessage
import HostResolver
import NetKit
import StreamKit

/// URLs, as a load takes them apart: who is asked, and for what.
///
/// The sources go by WHATWG's URL Standard, which mends much that RFC 3986 forbids, and does more to what it allows. What a
/// row has of that is not comparable: only where the two agree can we be wrong.
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
                return .notComparable(reason: "a name server is asked for A-labels that encode nothing")
            }
            if found.host.contains("%") {
                return .notComparable(reason: "URL writes a bare % in brackets as %25, which is a zone (RFC 6874 §2)")
            }
            return .laxer(detail: "\(input.debugDescription) is \(found)")
        }
        let wanted = LoadedURL(whatwg: expected)
        if found == wanted { return .agreed }
        if let reason = difference(input, found, wanted) { return .notComparable(reason: reason) }
        return .wrongFields(detail: "\(input.debugDescription) is \(found), not \(wanted)")
    }

    private func refused(_ row: CaseRow) -> Outcome {
        row.verdict == "reject" ? .agreed : .stricter(rule: "noURL")
    }

    /// What RFC 3986 leaves to us or decides otherwise; nil if the difference is our fault.
    private func difference(_ input: String, _ found: LoadedURL, _ wanted: LoadedURL) -> String? {
        if input.first == " " || input.last == " " { return "WHATWG strips spaces; RFC 3986 has none" }
        guard found.isSamePlace(as: wanted) else { return nil }
        if found.target.contains("/.") || found.target.lowercased().contains("/%2e") {
            return "dot segments of a whole URL are sent as they are (RFC 3986 §6.2.2.3)"
        }
        let isEncoding = found.target.removingPercentEncoding == wanted.target.removingPercentEncoding
        return isEncoding ? "which characters are escaped: RFC 3986 has them otherwise" : nil
    }
}

/// What a load makes of a URL.
struct LoadedURL: Equatable, CustomStringConvertible {
    var scheme: String
    var host: String
    var port: UInt16
    var target: String

    /// Nil for what is no URL, or none to be requested.
    init?(_ text: String, base: String?) throws(StreamError) {
        guard let url = URL(string: text, relativeTo: base.flatMap { URL(string: $0) })?.absoluteURL,
            let request = try? HTTPRequest(method: .get, url: url)
        else { return nil }
        let origin = try HTTPOrigin(url)
        (scheme, host, port) = (origin.scheme, origin.host, origin.port)
        target = String(decoding: request.target.bytes, as: UTF8.self)
    }

    /// What a row of the web platform's tests expects.
    init(whatwg expected: [String: Any]) {
        func text(_ key: String) -> String { expected[key] as? String ?? "" }
        scheme = String(text("protocol").dropLast())
        host = text("hostname").trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        port = UInt16(text("port")) ?? (scheme == "https" ? 443 : scheme == "ftp" ? 21 : 80)
        target = text("pathname") + text("search")
    }

    /// The same to connect to: addresses are compared as such.
    func isSamePlace(as other: LoadedURL) -> Bool {
        let isSameHost = host == other.host || IPAddress(host).map { $0 == IPAddress(other.host) } ?? false
        return scheme == other.scheme && port == other.port && isSameHost
    }

    static func == (left: LoadedURL, right: LoadedURL) -> Bool {
        left.isSamePlace(as: right) && left.target == right.target
    }

    var description: String { "\(scheme)://\(host):\(port)\(target)" }
}
