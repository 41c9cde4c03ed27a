internal import FoundationEssentials
@_spi(Packages) internal import HTTPMessage
internal import StreamKit

/// The current request of a load, and the rules by which a response leads to the next one. No I/O.
///
/// A stream and a session load in the same way: a request leads to *hops* (redirects), and a hop may need several *rounds* (the same
/// request again, with a login or without its expectation). The fetch keeps what outlives a connection: the request, its body and
/// its history.
struct Fetch: ~Copyable, Sendable {
    /// The current request: the caller's, or that of the last redirect.
    private(set) var request: HTTPRequest
    private var upload: Upload
    /// Nil until a response leads to another request.
    private var history: History?

    /// The body of the request.
    private enum Upload: Sendable {
        case none
        case ready(HTTPBody)
        /// It can be read only once, and has been used.
        case spent(HTTPBody)
    }

    /// The hops of a load. A separate object, because a load is moved with each of its fields, and few loads have any.
    private final class History: @unchecked Sendable {
        // Unchecked: only the load refers to it, one step at a time.

        /// The origin that the application named, and that of the current request; nil before the first redirect.
        var origins: (named: HTTPOrigin, current: HTTPOrigin)?
        var policy = RedirectPolicy()
        /// The responses that redirected the load.
        var redirects: [HTTPResponse] = []
    }

    init(_ request: consuming HTTPRequest, body: consuming HTTPBody?) {
        self.request = request
        upload = if let body { .ready(body) } else { .none }
    }

    /// The URL of the request.
    var url: URL? { request.url }

    /// The method of the request.
    var method: HTTPMethod { request.method }

    /// Returns the origin of the current request. A request on a kept connection does not need it.
    ///
    /// - Throws: an error of domain HTTP with code -3 for a URL without a valid origin.
    func origin() throws(StreamError) -> HTTPOrigin {
        if let known = history?.origins?.current { return known }
        guard let url else { throw .badURL("the request has none.") }
        return try HTTPOrigin(loading: url)
    }

    // MARK: The body

    var body: HTTPBody? {
        switch upload {
        case .none: nil
        case .ready(let body), .spent(let body): body
        }
    }

    /// Whether there is a ``body``, which is large: comparing it with nil would copy it.
    var hasBody: Bool { if case .none = upload { false } else { true } }

    /// Whether a body that can be read only once has been used.
    var hasSpentBody: Bool { if case .spent = upload { true } else { false } }

    /// Notes that the body has been used. Has no effect on one that can be read again.
    mutating func spendBody() {
        if case .ready(let body) = upload, !body.isRepeatable { upload = .spent(body) }
    }

    /// Notes that the body has been used if a carrier of the request has begun to read it.
    mutating func spendBody(by carrier: any HTTPCarrier) {
        if case .ready = upload, carrier.hasBegunRequestBody { spendBody() }
    }

    /// Whether the request may be sent twice (RFC 9110 §9.2.2), and can be.
    var mayRepeat: Bool {
        switch upload {
        case .none: method.isIdempotent
        case .ready(let body): body.isRepeatable && method.isIdempotent
        case .spent: false
        }
    }

    // MARK: Forms

    /// Returns the current request in the form for its recipient; nil if it has that form already, as most requests do.
    ///
    /// - Parameters:
    ///   - connection: the connection to the recipient.
    ///   - proxies: the state of the proxies; nil for a load without proxies.
    func form(
        over connection: HTTPConnection, _ proxies: ProxyProgress?, _ settings: borrowing LoadSettings
    ) throws(StreamError) -> HTTPRequest? {
        if !request.hasFields, proxies == nil { return nil }
        guard let url else { throw .badURL("the request has none.") }
        guard let proxies else { return try HTTPRoute.form(request, of: url, for: nil) }
        return try proxies.form(
            of: request, at: url, for: connection.proxy, hasBody: hasBody, settings.session?.logins)
    }

    /// Whether the request goes to the origin that the application named.
    var isAtNamedOrigin: Bool { standing == .named }

    /// How the origin of the request relates to the one that the application named.
    var standing: OriginStanding {
        guard let (named, current) = history?.origins, current != named else { return .named }
        return current.isSecure && !named.isSecure && current.host == named.host ? .upgraded : .other
    }

    /// The responses that redirected the load, in order.
    var redirects: [HTTPResponse] { history?.redirects ?? [] }

    /// Sets the redirects that led to a request before this fetch began.
    mutating func inherit(_ redirects: [HTTPResponse]) {
        if !redirects.isEmpty { pastHops().redirects = redirects }
    }

    /// Returns the hop to which a redirect leads; nil for any other response.
    ///
    /// - Throws: as ``RedirectPolicy``; an error for a body that is needed again and can be read only once.
    mutating func redirect(
        after head: HTTPResponse, _ crossOrigin: CrossOriginPolicy, opensWebSocket: Bool = false
    ) throws(StreamError) -> NextRequest? {
        guard head.redirectLocation != nil, let url else { return nil }
        let origin = try origin()
        let history = pastHops()
        history.origins = history.origins ?? (named: origin, current: origin)
        guard
            var hop = try history.policy.next(
                after: head, to: request, at: url, of: origin, hasBody: hasBody, crossOrigin,
                opensWebSocket: opensWebSocket)
        else { return nil }
        if hop.keepsBody { try checkBody(head.status) }
        hop.redirect = head
        return hop
    }

    /// Returns the request to which a response leads: a redirect, or the same one again for a proxy's login or without its expectation. Nil
    /// for the result of the load.
    mutating func next(
        after carrier: any HTTPCarrier, _ verdict: HeadVerdict, _ proxies: ProxyProgress?,
        _ settings: borrowing LoadSettings
    ) throws(StreamError) -> NextRequest? {
        guard var head = carrier.response else { return nil }
        head.setURL(of: request)
        if let proxies, let proxy = carrier.connection?.proxy,
            proxies.beginLoginRound(after: head, from: proxy, canRepeat: !hasSpentBody)
        {
            return try round(request, after: head.status)
        }
        if verdict == .refusesExpectation {
            return try round(RequestPreparation.withoutExpectation(request), after: head.status)
        }
        return settings.options.followsRedirects ? try redirect(after: head, settings.options.crossOrigin) : nil
    }

    /// Returns the same request again, possibly with other fields.
    ///
    /// - Throws: an error for a body that can be read only once and has been used.
    func round(_ request: HTTPRequest, after status: HTTPStatus) throws(StreamError) -> NextRequest? {
        guard let url else { return nil }
        try checkBody(status)
        return NextRequest(request: request, url: url, origin: try origin(), keepsBody: true)
    }

    /// - Throws: an error if the body cannot be sent again.
    func checkBody(_ status: HTTPStatus) throws(StreamError) {
        if hasSpentBody { throw .bodyNotRepeatable(status.code) }
    }

    /// Makes a hop the current request.
    mutating func follow(_ hop: NextRequest) {
        let history = pastHops()
        history.origins?.current = hop.origin
        if let response = hop.redirect { history.redirects.append(response) }
        request = hop.request
        if !hop.keepsBody { upload = .none }
    }

    private mutating func pastHops() -> History {
        if let history { return history }
        let made = History()
        history = made
        return made
    }
}
