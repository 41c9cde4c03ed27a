internal import FoundationEssentials
internal import HTTPMessage
internal import HostResolver
internal import StreamKit

/// The parts of a URL that determine its cookies.
struct CookieURL {
    /// The host in lower-case ASCII.
    let host: String
    let path: String
    /// Whether `Secure` cookies may be set and sent: a property of the route, which is encrypted or does not leave this machine.
    let isSecure: Bool
    let isAddress: Bool

    init(_ url: URL, _ origin: HTTPOrigin, isSecure: Bool) {
        self.init(host: origin.host, path: url.path(percentEncoded: true), isSecure: isSecure)
    }

    init(host: String, path: String, isSecure: Bool) {
        self.host = host
        self.path = path.utf8.first == UInt8(ascii: "/") ? path : "/"
        self.isSecure = isSecure
        isAddress = IPAddress(host) != nil
    }

    /// The path of a cookie without the attribute (RFC 6265bis §5.1.4).
    var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Whether the host belongs to a domain (RFC 6265bis §5.1.3).
    func isIn(_ domain: String) -> Bool {
        host == domain || (!isAddress && CookieURL.isSubdomain(host, of: domain))
    }

    static func isSubdomain(_ host: String, of domain: String) -> Bool {
        host.utf8.count > domain.utf8.count && host.hasSuffix(domain)
            && host.utf8.dropLast(domain.utf8.count).last == UInt8(ascii: ".")
    }

    /// Whether a path belongs to the path of a cookie (RFC 6265bis §5.1.4).
    static func isPath(_ path: String, in cookiePath: String) -> Bool {
        let (path, prefix) = (path.utf8, cookiePath.utf8)
        guard path.starts(with: prefix) else { return false }
        return path.count == prefix.count || prefix.last == UInt8(ascii: "/")
            || path.dropFirst(prefix.count).first == UInt8(ascii: "/")
    }
}

/// The storage model of cookies (RFC 6265bis §5.7, §5.8). No I/O: bytes, URL and time are passed in.
struct CookieStore: Sendable {
    /// Whether another site has caused a request, and whether its method is safe.
    enum Cause { case ownSite, otherSiteSafe, otherSiteUnsafe }

    private struct Entry {
        var cookie: HTTPCookie
        /// The order in which cookies were created.
        var creation: UInt64
        /// The order in which cookies were last sent or set.
        var use: UInt64
    }

    private let limits: HTTPCookies.Limits
    /// The cookies by domain.
    private var domains: [String: [Entry]] = [:]
    private var clock: UInt64 = 0
    private(set) var count = 0

    init(_ limits: HTTPCookies.Limits) { self.limits = limits }

    // MARK: Setting

    /// Stores the cookie of a response, if its URL may set it; one that has expired is removed.
    ///
    /// - Parameters:
    ///   - now: the time in seconds since 1970.
    ///   - suffixes: the public suffixes; used only for a cookie that names a domain.
    mutating func store(_ parsed: SetCookie, from url: CookieURL, at now: Int64, _ suffixes: PublicSuffixes) {
        guard let cookie = CookieStore.cookie(parsed, from: url, at: now, suffixes),
            // An insecure response leaves secure cookies alone.
            cookie.isSecure || url.isSecure || !hidesSecureCookie(cookie, at: now)
        else { return }
        insert(cookie, at: now)
    }

    /// The cookie that a response may set, or nil (RFC 6265bis §5.7, steps 5 to 21).
    private static func cookie(
        _ parsed: SetCookie, from url: CookieURL, at now: Int64, _ suffixes: PublicSuffixes
    ) -> HTTPCookie? {
        var isHostOnly = true
        if !parsed.domain.isEmpty, parsed.domain != url.host {
            // A final dot, or an empty label, would make a public suffix look like another domain.
            guard url.isIn(parsed.domain), !parsed.domain.hasSuffix("."), !parsed.domain.hasPrefix("."),
                !suffixes.contains(parsed.domain)
            else { return nil }
            isHostOnly = false
        } else if !parsed.domain.isEmpty, !url.isAddress {
            isHostOnly = suffixes.contains(url.host)
        }
        if parsed.isSecure, !url.isSecure { return nil }
        if parsed.sameSite == HTTPCookie.SameSite.none, !parsed.isSecure { return nil }
        // A cookie without a name is sent as its value, which must not look like a name with a prefix.
        let start = String(decoding: (parsed.name.isEmpty ? parsed.value : parsed.name).prefix(12), as: UTF8.self)
            .lowercased().utf8
        let isForHost = start.starts(with: "__host-".utf8)
        let isForHTTP = start.starts(with: "__http-".utf8) || start.starts(with: "__host-http-".utf8)
        let isForSecure = isForHost || isForHTTP || start.starts(with: "__secure-".utf8)
        if parsed.name.isEmpty, isForSecure { return nil }
        if isForSecure, !parsed.isSecure { return nil }
        if isForHTTP, !parsed.isHTTPOnly { return nil }
        if isForHost, !(isHostOnly && parsed.domain.isEmpty && parsed.path == "/") { return nil }
        let cookie = HTTPCookie(
            rawName: parsed.name, rawValue: parsed.value, domain: isHostOnly ? url.host : parsed.domain,
            isHostOnly: isHostOnly, path: parsed.path ?? url.defaultPath, expiry: expiry(of: parsed, at: now),
            isSecure: parsed.isSecure, isHTTPOnly: parsed.isHTTPOnly, sameSite: parsed.sameSite)
        // A value that is sent as if it were a name and a value, or a path that is too long, such as that of the URL.
        return cookie.isValid ? cookie : nil
    }

    /// The maximum age of a cookie in seconds: 400 days (RFC 6265bis §5.5).
    static let maximumAge: Int64 = 400 * 86_400

    private static func expiry(of parsed: SetCookie, at now: Int64) -> HTTPDate? {
        let end: Int64
        if let age = parsed.maximumAge {
            end = age <= 0 ? .min : now + age
        } else if let expires = parsed.expires {
            end = expires
        } else {
            return nil
        }
        return HTTPDate(secondsSinceEpoch: min(end, now + maximumAge))
    }

    /// Whether a secure cookie of the same name would be hidden or replaced by a cookie from an insecure response.
    private func hidesSecureCookie(_ cookie: HTTPCookie, at now: Int64) -> Bool {
        domains.contains { domain, entries in
            guard
                domain == cookie.domain || CookieURL.isSubdomain(domain, of: cookie.domain)
                    || CookieURL.isSubdomain(cookie.domain, of: domain)
            else { return false }
            return entries.contains {
                $0.cookie.isSecure && !$0.cookie.isExpired(at: now) && $0.cookie.rawName == cookie.rawName
                    && CookieURL.isPath(cookie.path, in: $0.cookie.path)
            }
        }
    }

    /// Inserts a cookie; replaces the one of the same name, domain and path.
    mutating func insert(_ cookie: HTTPCookie, at now: Int64) {
        clock += 1
        var entry = Entry(cookie: cookie, creation: clock, use: clock)
        var entries = domains[cookie.domain] ?? []
        count -= entries.count
        if let index = entries.firstIndex(where: {
            $0.cookie.rawName == cookie.rawName && $0.cookie.path == cookie.path
                && $0.cookie.isHostOnly == cookie.isHostOnly
        }) {
            entry.creation = entries.remove(at: index).creation
        }
        if !cookie.isExpired(at: now) { entries.append(entry) }
        if entries.count > limits.cookiesPerDomain {
            entries.removeAll { $0.cookie.isExpired(at: now) }
            if entries.count > limits.cookiesPerDomain, let index = CookieStore.leastUseful(entries) {
                entries.remove(at: index)
            }
        }
        count += entries.count
        domains[cookie.domain] = entries.isEmpty ? nil : entries
        if count > limits.cookieCount { evict(at: now) }
    }

    private mutating func evict(at now: Int64) {
        removeAll { $0.isExpired(at: now) }
        guard count > limits.cookieCount else { return }
        let candidates = domains.compactMap { domain, entries in
            CookieStore.leastUseful(entries).map { (domain, $0, entries[$0]) }
        }
        let first = candidates.min { CookieStore.goesBefore($0.2, $1.2) }
        guard let (domain, index, _) = first else { return }
        domains[domain]?.remove(at: index)
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
        count -= 1
    }

    /// The cookie that is removed first: one that is not secure, used the longest time ago.
    private static func leastUseful(_ entries: [Entry]) -> Int? {
        entries.indices.min { goesBefore(entries[$0], entries[$1]) }
    }

    private static func goesBefore(_ a: Entry, _ b: Entry) -> Bool {
        a.cookie.isSecure == b.cookie.isSecure ? a.use < b.use : !a.cookie.isSecure
    }

    mutating func removeAll(where isUnwanted: (HTTPCookie) -> Bool) {
        count = 0
        for domain in domains.keys {
            domains[domain]?.removeAll { isUnwanted($0.cookie) }
            if domains[domain]?.isEmpty == true { domains[domain] = nil }
            count += domains[domain]?.count ?? 0
        }
    }

    // MARK: Sending

    /// All cookies that exist at a time, the oldest first.
    func cookies(at now: Int64) -> [HTTPCookie] {
        domains.values.joined().filter { !$0.cookie.isExpired(at: now) }.sorted { $0.creation < $1.creation }
            .map(\.cookie)
    }

    /// The cookies of a request in the order in which they are sent: longer paths first, then older cookies.
    mutating func cookies(for url: CookieURL, at now: Int64, _ cause: Cause = .ownSite) -> [HTTPCookie] {
        if count == 0 { return [] }
        clock += 1
        var found: [Entry] = []
        var domain = url.host[...]
        while true {
            let key = String(domain)
            if var entries = domains[key] {
                for index in entries.indices where CookieStore.isSent(entries[index].cookie, url, now, cause) {
                    entries[index].use = clock
                    found.append(entries[index])
                }
                domains[key] = entries
            }
            guard !url.isAddress, let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { break }
            domain = domain[domain.utf8.index(after: dot)...]
        }
        return
            found.sorted {
                let (a, b) = ($0.cookie.path.utf8.count, $1.cookie.path.utf8.count)
                return a == b ? $0.creation < $1.creation : a > b
            }
            .map(\.cookie)
    }

    private static func isSent(_ cookie: HTTPCookie, _ url: CookieURL, _ now: Int64, _ cause: Cause) -> Bool {
        guard cookie.isHostOnly ? url.host == cookie.domain : url.isIn(cookie.domain), !cookie.isExpired(at: now),
            CookieURL.isPath(url.path, in: cookie.path), url.isSecure || !cookie.isSecure
        else { return false }
        switch cause {
        case .ownSite: return true
        case .otherSiteSafe: return cookie.sameSite != .strict
        case .otherSiteUnsafe: return cookie.sameSite != .strict && cookie.sameSite != .lax
        }
    }

    /// The value of the `Cookie` field of a request; nil if there are no cookies. Cookies beyond the limit are left out.
    mutating func field(for url: CookieURL, at now: Int64, _ cause: Cause = .ownSite) -> [UInt8]? {
        var value: [UInt8] = []
        for cookie in cookies(for: url, at: now, cause) {
            let pair = cookie.pair
            guard value.count + 2 + pair.count <= limits.fieldLength else { break }
            if !value.isEmpty { value += [UInt8(ascii: ";"), 0x20] }
            value += pair
        }
        return value.isEmpty ? nil : value
    }
}
