internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// The state of a load's proxies, and the rules that choose among them. Does no I/O, but starts the task that runs a proxy script.
///
/// A separate object, because most loads have none: fields of a load are moved and destroyed with each load.
final class ProxyProgress: @unchecked Sendable {
    // Unchecked: it belongs to one load and is used only through it, under that load's lock.

    /// The routes that are left to try for the origin; empty before the first connection, and without proxies.
    private var candidates: ArraySlice<HTTPRoute> = []
    /// The decision of a proxy script about the URL, once the script was started.
    private(set) var decision: ProxyDecision?
    /// The last proxy's response to the request for a tunnel.
    private(set) var response: HTTPResponse?
    /// The only proxy of the routes, if the caller has supplied credentials for it.
    private var owner: HTTPProxy?
    /// The proxy that sent the response or forwarded it, if one did.
    private(set) var answering: HTTPProxy?
    /// The channel binding of the TLS connection to that proxy.
    private(set) var binding: [UInt8]?
    /// The verdict on the login to the proxy that refused a tunnel.
    private(set) var verdict: AuthenticationVerdict?
    /// The request as sent to a proxy that takes requests, if the proxy's own account may log in.
    private var signed: HTTPRequest?
    /// The number of repetitions of the request to the current URL because a proxy required a login.
    private var logins = 0

    // MARK: Deciding

    /// Starts the proxy script for the URL, if a script decides. Returns whether it has still to decide.
    func awaitsDecision(
        on url: URL, to origin: HTTPOrigin, _ settings: borrowing LoadSettings, loop: EventLoop
    ) throws(StreamError) -> Bool {
        guard let known = settings.usedProxySettings else { return false }
        if decision == nil {
            guard settings.endpoint(of: origin) == nil, case .script? = known.choices(for: url).first else {
                return false
            }
            decision = ProxyDecision(known, for: url, loop: loop)
        }
        guard let decision else { return false }
        return try decision.routes() == nil
    }

    /// Returns how the request reaches its origin.
    ///
    /// - Parameter standing: how the origin relates to the one that the application named.
    func plan(
        of request: HTTPRequest, at url: URL, to origin: HTTPOrigin, _ standing: OriginStanding,
        _ settings: borrowing LoadSettings
    ) throws(StreamError) -> ConnectionPlan {
        var properties = try connectionProperties(of: request, at: url, to: origin, settings)
        if !origin.isSecure, !settings.options.followsRedirects, properties[.tls] != nil { throw .tlsNeverUsed }
        if standing != .named, let tls = properties[.tls] {
            properties[.tls] = settings.options.crossOrigin.tls(tls, at: standing)
        }
        if candidates.isEmpty, let routes = properties[.proxies], !routes.isEmpty {
            candidates = HTTPRoute.all(to: origin, through: routes, inTunnels: settings.offersSwitch)[...]
        }
        let route = candidates.first ?? HTTPRoute()
        if origin.isFTP, route.proxy == nil { throw .ftpNeedsProxy }
        return ConnectionPlan(properties: properties, route: route)
    }

    /// The properties of a connection for this URL: the caller's, with the routes of the proxy settings, and with the caller's
    /// credentials for a proxy, so that no other user's request finds the connection.
    private func connectionProperties(
        of request: HTTPRequest, at url: URL, to origin: HTTPOrigin, _ settings: borrowing LoadSettings
    ) throws(StreamError) -> StreamProperties {
        var properties = settings.options.connection
        if settings.endpoint(of: origin) != nil {
            properties[.proxies] = nil
            properties[.socksProxy] = nil
            return properties
        }
        var routes = properties[.proxies] ?? []
        if let known = settings.usedProxySettings {
            routes = if let decision { try decision.routes() ?? [] } else { try known.routes(for: url) }
        }
        if routes.isEmpty || routes == [.direct] { return properties }
        owner = HTTPRoute.owner(of: request, in: routes)
        let known = try HTTPRoute.routes(routes, for: request)
        let isSecure = origin.isSecure || settings.offersSwitch
        properties[.proxies] = settings.session?.logins.logins(in: known, toSecure: isSecure) ?? known
        properties[.socksProxy] = nil
        return properties
    }

    /// Changes to the next route, if the current one leads nowhere (HM-095). Returns false for another error, and without a next route.
    func takeNextRoute(after error: StreamError) -> Bool {
        let isUnreachable = [.posix, .netDB, .ssl].contains(error.domain) && error != .cancelled && error != .closed
        guard isUnreachable, candidates.count > 1 else { return false }
        candidates.removeFirst()
        return true
    }

    // MARK: Requests to proxies

    /// Returns the request in the form for its recipient; see ``HTTPRoute/form(_:of:for:owner:_:body:)``.
    ///
    /// - Parameter proxy: the proxy that receives the request; nil for the origin.
    func form(
        of request: HTTPRequest, at url: URL, for proxy: HTTPProxy?, hasBody: Bool, _ logins: ProxyLogins?
    ) throws(StreamError) -> HTTPRequest {
        let form = try HTTPRoute.form(
            request, of: url, for: proxy, owner: owner, logins, body: hasBody ? .unknown : .bytes(request.body))
        if proxy?.ownLogin != nil { signed = request.fields.contains(.proxyAuthorization) ? nil : form }
        return form
    }

    /// Begins another round of a login with the proxy's own account, in the same request sent again. Returns false if the proxy that received
    /// the request requires none, or the account cannot provide it: the response is final then.
    func beginLoginRound(after head: HTTPResponse, from proxy: HTTPProxy, canRepeat: Bool) -> Bool {
        guard let login = proxy.ownLogin, let signed else { return false }
        let isAnother = login.judge(head, to: signed, from: proxy.space)
        guard isAnother, canRepeat, logins < ProxyAccountLogin.maximumRounds else { return false }
        logins += 1
        return true
    }

    // MARK: Responses

    /// Keeps the proxy that sent or forwarded the response.
    func recordAnswer(on connection: HTTPConnection) {
        answering = connection.proxy
        if let proxy = answering, proxy.tls != nil { binding = connection.pair[.serverEndPointBinding] }
    }

    /// Keeps a proxy's response to the request for a tunnel, since the load is about to give up the connection.
    func recordTunnel(of pair: StreamPair) {
        if !candidates.isEmpty { response = pair[.httpProxyResponse] ?? response }
    }

    /// Keeps the refusal of a tunnel.
    func record(_ refusal: HTTPProxyRefusal) {
        response = refusal.response
        answering = refusal.source
        verdict = refusal.verdict
    }

    /// Resets the state of the last URL, since another one follows.
    func resetForNextURL() {
        candidates = []
        decision = nil
        answering = nil
        logins = 0
    }
}
