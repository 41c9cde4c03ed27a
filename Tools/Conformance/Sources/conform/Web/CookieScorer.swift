import Foundation

@testable import HTTPStream

/// Runs the files of cookies (`cookies-*.jsonl`): some fields that a server sets, and the cookies that the next request carries.
struct CookieScorer: Scorer {
    func runs(file: String) -> Bool { file.hasPrefix("cookies-") }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let from = try Self.url(row, "url")
        let to = try Self.url(row, "next_url")
        guard let now = row.text("now").flatMap({ try? Date($0, strategy: .iso8601) }) else {
            throw CaseError("\(row.name): now is no date")
        }
        let seconds = Int64(now.timeIntervalSince1970)
        var store = CookieStore(HTTPCookies.Limits())
        for text in row.texts("set_cookie_b64") {
            guard let field = Data(base64Encoded: text) else { throw CaseError("\(row.name): not base64") }
            guard let cookie = SetCookie(Array(field)) else { continue }
            store.store(cookie, from: from, at: seconds, PublicSuffixes.system)
        }
        let sent = store.field(for: to, at: seconds)
        // RFC 6265bis decides where it differs from the older document of the source.
        let key = row.verdict == "differs-from-6265bis" ? "rfc6265bis_cookie_b64" : "expected_cookie_b64"
        let expected = row.text(key) == nil ? nil : try row.bytes(key)
        if sent == expected || row.verdict == "either" { return .agreed }
        let shown = sent.map { String(decoding: $0.prefix(100), as: UTF8.self) } ?? "none"
        if expected == nil { return .laxer(detail: "sends \(shown)") }
        return sent == nil ? .stricter(rule: "cookieNotSent") : .wrongFields(detail: "sends \(shown)")
    }

    private static func url(_ row: CaseRow, _ key: String) throws -> CookieURL {
        guard let url = row.text(key).flatMap({ URL(string: $0) }) else { throw CaseError("\(row.name): no \(key)") }
        let origin = try HTTPOrigin(url)
        return CookieURL(url, origin, isSecure: origin.isSecureWithoutProxy)
    }
}

/// Runs the file of cookies' dates.
struct CookieDateScorer: Scorer {
    func runs(file: String) -> Bool { file == "cookie-dates.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard let input = row.text("input") else { throw CaseError("\(row.name): no input") }
        let key = row.verdict == "differs-from-6265bis" ? "rfc6265bis_seconds" : "expected_seconds"
        let expected = (row.json[key] as? NSNumber)?.int64Value
        let found = CookieDate.seconds(input.utf8)
        if found == expected { return .agreed }
        if found == nil { return .stricter(rule: "cookieDate") }
        return .wrongFields(detail: found.map { "\($0)" } ?? "no date")
    }
}

/// Runs the file of public suffixes against the list of this system.
struct PublicSuffixScorer: Scorer {
    func runs(file: String) -> Bool { file == "public-suffix.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        guard PublicSuffixes.system.areKnown else { return .notComparable(reason: "this system has no list") }
        guard let domain = row.text("domain") else { throw CaseError("\(row.name): no domain") }
        let expected = try row.text("expected_registrable").map(Self.ascii)
        // What is not a host name has no registrable domain.
        let found = (try? Self.ascii(domain)).flatMap { name in
            PublicSuffixes.system.contains(name) ? nil : PublicSuffixes.system.site(of: name)
        }
        if found == expected { return .agreed }
        // The list is data, and of another date than that of the source.
        if domain.hasSuffix(".kobe.jp") { return .notComparable(reason: "this system's list has \(found ?? "none")") }
        return .wrongFields(detail: found ?? "none")
    }

    private static func ascii(_ name: String) throws -> String {
        try HTTPOrigin(URL(string: "http://\(name)/") ?? URL(fileURLWithPath: "/")).host
    }
}
