internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// The current request of a load, and the rules by which a response leads to the next one. No I/O.
///
/// A stream and a session load in the same way: a request leads to *hops* (redirects), and a hop may need several *rounds* (the same
/// request again, with a login or without its expectation). The fetch keeps what outlives a connection: the request, its body and
/// its history.
struct Fetch: ~Copyable, Sendable {
    /// The next request of a load.
    struct NextRequest: Sendable {
        var request: HTTPRequest
        var url: URL
        var origin: HTTPOrigin
        var keepsBody: Bool
        /// The response that leads to the hop by a redirect; nil for the same request again.
        var redirect: HTTPResponse?
    }

    /// The most bytes of an unneeded response that are read in order to keep its connection.
    static let discardLimit: Int64 = 64 * 1024

    /// The current request: the caller's, or that of the last redirect.
    private(set) var request: HTTPRequest
    /// The method of the request.
    private(set) var method: HTTPMethod
    /// Whether the request has no fields, as most have none.
    private(set) var isBare: Bool
    /// The URL of the request.
    var url: URL? { request.url }
    /// The origin of the current request, once ``ensureOrigin()`` has made it.
    var origin: HTTPOrigin?
    private(set) var body: HTTPBody?
    /// Whether there is a ``body``, which is large: comparing it with nil would copy it.
    var hasBody: Bool { if case nil = body { false } else { true } }
    /// Whether a body that can be read only once has been used.
    var hasSpentBody = false
    /// Whether such a body has been used, also for the request that this carrier sends.
    func isBodySpent(by carrier: any HTTPCarrier) -> Bool {
        hasSpentBody || hasBody && body?.isRepeatable == false && carrier.hasBegunRequestBody
    }
    /// Whether the request may be sent twice (RFC 9110 §9.2.2), and can be.
    var mayRepeat: Bool { method.isIdempotent && body?.isRepeatable != false }
    /// Nil until a response leads to another request.
    private var history: History?

    /// The hops of a load. A separate object, because a load is moved with each of its fields, and few loads have any.
    private final class History: @unchecked Sendable {
        // Unchecked: only the load refers to it, one step at a time.

        /// The origin that the application named; nil before the first hop.
        var namedOrigin: HTTPOrigin?
        var policy = RedirectPolicy()
        /// The responses that redirected the load.
        var redirects: [HTTPResponse] = []
    }

    init(_ request: consuming HTTPRequest, body: consuming HTTPBody?) {
        method = request.method
        isBare = request.fields.isEmpty
        self.request = request
        self.body = body
    }

    /// Returns the origin of the current request. It is made of the URL on first use, because a request on a kept connection does not
    /// need it.
    ///
    /// - Throws: an error of domain HTTP with code -3 for a URL without a valid origin.
    mutating func ensureOrigin() throws(StreamError) -> HTTPOrigin {
        if let origin { return origin }
        guard let url else { throw .badURL("the request has none.") }
        let made = try HTTPOrigin(loading: url)
        origin = made
        return made
    }

    /// Returns the current request in the form for its recipient; nil if it has that form already, as most requests do.
    ///
    /// - Parameters:
    ///   - proxy: the proxy that receives it; nil for the origin.
    ///   - logins: the session's logins for proxies.
    func form(
        through proxy: @autoclosure () -> HTTPProxy?, _ proxies: ProxyProgress?,
        _ logins: @autoclosure () -> ProxyLogins?
    ) throws(StreamError) -> HTTPRequest? {
        if isBare, proxies == nil { return nil }
        guard let url else { throw .badURL("the request has none.") }
        guard let proxies else { return try HTTPRoute.form(request, of: url, for: nil) }
        return try proxies.form(of: request, at: url, for: proxy(), hasBody: hasBody, logins())
    }

    /// Whether the request goes to the origin that the application named.
    var isAtNamedOrigin: Bool { standing == .named }

    /// How the origin of the request relates to the one that the application named.
    var standing: OriginStanding {
        guard let named = history?.namedOrigin, let origin, origin != named else { return .named }
        return origin.isSecure && !named.isSecure && origin.host == named.host ? .upgraded : .other
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
        let origin = try ensureOrigin()
        guard
            var hop = try pastHops().policy.next(
                after: head, to: request, at: url, of: origin, hasBody: hasBody, crossOrigin,
                opensWebSocket: opensWebSocket)
        else { return nil }
        if hop.keepsBody { try checkBody(head.status) }
        hop.redirect = head
        return hop
    }

    /// Returns the same request again, possibly with other fields.
    ///
    /// - Throws: an error for a body that can be read only once and has been used.
    mutating func round(_ request: HTTPRequest, after status: HTTPStatus) throws(StreamError) -> NextRequest? {
        guard let url else { return nil }
        try checkBody(status)
        return NextRequest(request: request, url: url, origin: try ensureOrigin(), keepsBody: true)
    }

    /// - Throws: an error if the body cannot be sent again.
    func checkBody(_ status: HTTPStatus) throws(StreamError) {
        if hasSpentBody { throw .bodyNotRepeatable(status.code) }
    }

    /// Makes a hop the current request.
    mutating func follow(_ hop: NextRequest) {
        let history = pastHops()
        if history.namedOrigin == nil { history.namedOrigin = origin }
        if let response = hop.redirect { history.redirects.append(response) }
        request = hop.request
        method = hop.request.method
        isBare = hop.request.fields.isEmpty
        origin = hop.origin
        if !hop.keepsBody { (body, hasSpentBody) = (nil, false) }
    }

    private mutating func pastHops() -> History {
        if let history { return history }
        let made = History()
        history = made
        return made
    }
}

/// How the origin of a request relates to the one that the application named.
enum OriginStanding: Sendable {
    case named
    /// It is an https origin at the host that the application named with http.
    case upgraded
    case other
}
