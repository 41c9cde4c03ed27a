internal import EventLoops
public import FoundationEssentials
public import HTTPAuth
public import HTTPMessage
public import StreamKit

/// The cookies of one or several sessions (RFC 6265bis), in memory.
///
/// Each ``HTTPSession`` has its own unless ``HTTPSession/Configuration/cookies`` determines otherwise. An object can be used by
/// several sessions and threads, and without a session by other HTTP clients:
///
/// ```swift
/// let cookies = HTTPCookies()
/// cookies.store(response.fields, from: url)
/// try request.fields.set(cookies.field(for: url), for: .cookie)
/// ```
///
/// A cookie belongs to the host that set it, or to a domain of the host that the cookie names. It cannot belong to a public
/// suffix such as `co.uk`, by the system's list (`/usr/share/publicsuffix`, Debian's package `publicsuffix`). Without the list, any
/// domain may be one, and cookies that name a domain are refused unless it is the host itself: see ``knowsPublicSuffixes``.
///
/// Replaces `NSHTTPCookieStorage`.
public final class HTTPCookies: Sendable {
    /// The maximum numbers of cookies and bytes. If there are more, those that have expired are removed, then those that are not
    /// secure, and of these the ones that were used the longest time ago.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of cookies of each domain. Default 50.
        public var cookiesPerDomain = 50
        /// The maximum number of all cookies. Default 3000.
        public var cookieCount = 3000
        /// The maximum number of bytes of a request's `Cookie` field. Default 8192. The cookies that come first are sent.
        public var fieldLength = 8192

        /// Makes the default limits.
        public init() {}
    }

    private let store: Locked<CookieStore>
    private let suffixes: PublicSuffixes?
    private let time: any SessionTime

    /// Makes an empty object.
    ///
    /// - Parameter limits: The maximum numbers of cookies and bytes.
    public convenience init(limits: Limits = Limits()) {
        self.init(limits: limits, suffixes: nil)
    }

    /// Whether this system has a list of public suffixes, without which no cookie belongs to a whole domain. Reads the list, which takes
    /// milliseconds, unless it has been read.
    public static var knowsPublicSuffixes: Bool { PublicSuffixes.system.areKnown }

    /// - Parameter suffixes: the public suffixes; nil for the system's list.
    init(limits: Limits, suffixes: PublicSuffixes?, time: any SessionTime = SystemTime()) {
        self.suffixes = suffixes
        self.time = time
        store = Locked(CookieStore(limits))
    }

    // MARK: Cookies

    /// All cookies that have not expired, the oldest first.
    public var all: [HTTPCookie] {
        let now = self.now
        return store.withLock { $0.cookies(at: now) }
    }

    /// Stores a cookie; replaces the one of the same name, domain and path. One that has expired is removed.
    ///
    /// - Parameter cookie: The cookie, from the application or from an earlier session: it is not checked against a URL.
    public func set(_ cookie: HTTPCookie) {
        let now = self.now
        store.withLock { $0.insert(cookie, at: now) }
    }

    /// Removes cookies.
    ///
    /// ```swift
    /// HTTPCookies().removeAll { $0.expiry == nil }        // those that end with the session
    /// ```
    ///
    /// - Parameter isUnwanted: Whether to remove a cookie.
    public func removeAll(where isUnwanted: (HTTPCookie) -> Bool = { _ in true }) {
        let unwanted = Set(all.filter(isUnwanted))
        let now = self.now
        store.withLock { $0.removeAll { unwanted.contains($0) || $0.isExpired(at: now) } }
    }

    // MARK: Requests and responses

    /// Stores the cookies of a response; those that the URL's host may not set are ignored.
    ///
    /// The first cookie for a whole domain reads the system's list of public suffixes, which takes milliseconds. A session does so
    /// on another thread.
    ///
    /// - Parameters:
    ///   - fields: The fields of the response.
    ///   - url: The URL of the request. One of this machine counts as secure; leave it out if a proxy has carried the request.
    public func store(_ fields: HTTPFields, from url: URL) {
        guard let origin = try? HTTPOrigin(url) else { return }
        let parsed = SetCookie.all(in: fields)
        if !parsed.isEmpty {
            store(parsed, from: CookieURL(url, origin, isSecure: origin.isSecureWithoutProxy), at: now)
        }
    }

    /// The value of the `Cookie` field of a request that the application itself makes; nil if there are no cookies.
    ///
    /// - Parameter url: The URL of the request.
    public func field(for url: URL) -> String? {
        guard let origin = try? HTTPOrigin(url) else { return nil }
        let value = field(for: CookieURL(url, origin, isSecure: origin.isSecureWithoutProxy), at: now)
        return value.map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Files

    /// Makes an object with the cookies of a file in Netscape's format, which curl and browsers' exports use.
    ///
    /// ```swift
    /// let cookies = try HTTPCookies(netscapeFile: bytes) { print("cookies.txt, \($0)") }     // cookies.txt, line 3: …
    /// ```
    ///
    /// - Parameters:
    ///   - file: The contents of the file. Cookies that have expired are left out.
    ///   - limits: The maximum numbers of cookies and bytes.
    ///   - skipped: Called for each line that is not a cookie. The others are used.
    /// - Throws: `EINVAL` with the number of the first line that is not a cookie, if no line is one: the file is another one. A file
    ///   with comments and blank lines only, such as a jar whose cookies have all been removed, has no cookies and is no error.
    public convenience init(
        netscapeFile file: [UInt8], limits: Limits = Limits(), skipped: (SkippedLine) -> Void = { _ in }
    ) throws(StreamError) {
        self.init(limits: limits)
        let (cookies, lines) = CookieFile.cookies(in: file)
        if cookies.isEmpty, let line = lines.first { throw .invalidCookieLine(line.line) }
        for cookie in cookies { set(cookie) }
        lines.forEach(skipped)
    }

    /// The cookies as a file in Netscape's format, including those that end with the session.
    ///
    /// The file contains secrets: give it mode 0600. The format has no place for `SameSite`, and for names and paths with a tab,
    /// whose cookies are left out.
    public var netscapeFile: [UInt8] { CookieFile.contents(all) }
}

extension HTTPCookies {
    private var now: Int64 { time.secondsSinceEpoch }

    var isEmpty: Bool { store.withLock { $0.count == 0 } }

    /// The public suffixes. Reads the system's list unless it has been read.
    var knownSuffixes: PublicSuffixes { suffixes ?? .system }

    /// Reads the list of public suffixes on another thread.
    func readSuffixes() async {
        if suffixes == nil { await PublicSuffixes.readSystemList() }
    }

    /// - Parameter now: the time in seconds since 1970.
    func store(_ parsed: [SetCookie], from url: CookieURL, at now: Int64) {
        let suffixes = parsed.contains { !$0.domain.isEmpty } ? knownSuffixes : .unknown
        store.withLock { store in
            for cookie in parsed { store.store(cookie, from: url, at: now, suffixes) }
        }
    }

    /// - Parameter now: the time in seconds since 1970.
    func field(for url: CookieURL, at now: Int64, _ cause: CookieStore.Cause = .ownSite) -> [UInt8]? {
        store.withLock { $0.field(for: url, at: now, cause) }
    }
}

// MARK: - Sessions

extension HTTPCookies {
    /// Adds the cookies that belong to the URL of a session's request, unless the request has cookies of the caller.
    ///
    /// - Parameters:
    ///   - isSecure: whether the route of the request is secure: see `SessionAttempt.isRouteSecure`.
    ///   - namedHost: the host that the application named; another site causes a request if redirects of this host's site
    ///     lead to it.
    func add(
        to request: inout HTTPRequest, at url: URL, _ origin: HTTPOrigin, isSecure: Bool, causedBy namedHost: String
    ) async throws(StreamError) {
        if request.fields.contains(.cookie) { return }
        var cause = CookieStore.Cause.ownSite
        if origin.host != namedHost {
            await readSuffixes()
            let suffixes = knownSuffixes
            if suffixes.site(of: origin.host) != suffixes.site(of: namedHost) {
                cause = request.method.isSafe ? .otherSiteSafe : .otherSiteUnsafe
            }
        }
        guard let value = field(for: CookieURL(url, origin, isSecure: isSecure), at: now, cause) else { return }
        do throws(HTTPMessageError) {
            try request.fields.set(rawValue: value, for: .cookie)
        } catch {
            throw StreamError(error)
        }
    }

    /// Stores the cookies of a session's response, which must come from the origin.
    ///
    /// - Parameter isSecure: whether its route is secure.
    func store(_ response: HTTPResponse, from url: URL, _ origin: HTTPOrigin, isSecure: Bool) async {
        let parsed = SetCookie.all(in: response.fields)
        if parsed.contains(where: { !$0.domain.isEmpty }) { await readSuffixes() }
        store(parsed, from: CookieURL(url, origin, isSecure: isSecure), at: now)
    }
}
