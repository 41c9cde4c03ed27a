internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// What proxies mean for a load.
extension HTTPLoad {
    /// Fields by which a client keeps something for the origin that sent them.
    private static let statefulFields: [HTTPFieldName] = [
        .setCookie, "Set-Cookie2", "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data", "Public-Key-Pins", "NEL",
        "Report-To", "Reporting-Endpoints", "Expect-CT", "Accept-CH",
    ]

    /// What the last proxy said when it was asked for a tunnel.
    var tunnelResponse: HTTPResponse? { connection?.pair[.httpProxyResponse] ?? proxies?.response }

    /// Where to keep what becomes known of proxies.
    private mutating func progress() -> ProxyProgress {
        let progress = proxies ?? ProxyProgress()
        proxies = progress
        return progress
    }

    /// Keeps what the connection's proxy said; the connection goes its way.
    mutating func rememberProxy() {
        guard let proxies, !proxies.approaches.isEmpty, let connection else { return }
        proxies.response = connection.pair[.httpProxyResponse] ?? proxies.response
    }

    /// Keeps whose word the answer is.
    mutating func noteAnsweringProxy() {
        guard let connection, let proxy = connection.proxy else {
            proxies?.answering = nil
            return
        }
        let progress = progress()
        progress.answering = proxy
        if proxy.tls != nil { progress.binding = connection.pair[.serverEndPointBinding] }
    }

    /// What a connection for this URL is made with: the caller's properties, with the ways that the settings tell, and the
    /// caller's credentials for a proxy, so that no other user's request finds the connection.
    mutating func connectionProperties(for url: URL) throws(StreamError) -> StreamProperties {
        if settings.namesNoProxy { return settings.properties }
        var routes = settings.properties[.proxies] ?? []
        if let known = settingsInUse {
            routes =
                if let decision = proxies?.decision { try decision.routes() ?? [] } else { try known.routes(for: url) }
        }
        if routes.isEmpty || routes == [.direct] { return settings.properties }
        var properties = settings.properties
        progress().owner = HTTPApproach.owner(of: request, in: routes)
        let known = try HTTPApproach.routes(routes, for: request)
        let isSecure = url.scheme?.lowercased() == "https"
        properties[.proxies] = settings.proxyLogins?.logins(in: known, toSecure: isSecure) ?? known
        properties[.socksProxy] = nil
        return properties
    }

    /// The settings that tell the ways; nil if the caller has named them.
    private var settingsInUse: ProxySettings? {
        guard let known = settings.proxies, settings.properties[.proxies]?.isEmpty != false,
            settings.properties[.socksProxy] == nil
        else { return nil }
        return known
    }

    /// Has a script decide about the URL, if it is up to one; what to wait for until it has.
    mutating func awaitDecision() throws(StreamError) -> Interest? {
        if settings.namesNoProxy { return nil }
        guard let url, let known = settingsInUse else { return nil }
        if proxies?.decision == nil {
            guard case .script? = known.choices(for: url).first else { return nil }
            progress().decision = ProxyDecision(known, for: url, loop: loop)
        }
        guard let decision = proxies?.decision, try decision.routes() == nil else { return nil }
        return waiting(.decision)
    }

    /// The approach to try now.
    mutating func takeApproach(to origin: HTTPOrigin, _ properties: StreamProperties) -> HTTPApproach {
        if let first = proxies?.approaches.first { return first }
        guard !properties.isEmpty, let routes = properties[.proxies], !routes.isEmpty else { return HTTPApproach() }
        let approaches = HTTPApproach.all(to: origin, through: routes)[...]
        progress().approaches = approaches
        return approaches.first ?? HTTPApproach()
    }

    /// The same request once more, if the proxy that took it asks for a login that its own account can give. Nil for
    /// anything else: then the answer counts.
    mutating func hopWithLogin(after head: HTTPResponse) -> RedirectPolicy.Hop? {
        guard let proxies, let proxy = connection?.proxy, let login = proxy.ownLogin, let signed = proxies.signed
        else { return nil }
        let isAnother = login.judge(head, to: signed, from: proxy.space)
        guard isAnother, !hasSpentBody, proxies.logins < ProxyAccountLogin.mostRounds, let url, let origin else {
            return nil
        }
        proxies.logins += 1
        proxies.repeats = true
        return RedirectPolicy.Hop(request: request, url: url, origin: origin, keepsBody: true)
    }

    /// Goes on to the next approach if the present one led nowhere (HM-095); false if there is none, or if somebody on
    /// the way has decided.
    mutating func takeNextApproach(after error: StreamError) -> Bool {
        let isUnreachable = [.posix, .netDB, .ssl].contains(error.domain) && error != .cancelled && error != .closed
        guard let proxies, proxies.approaches.count > 1, isUnreachable, connection?.isReused == false, !hasReceived,
            !hasSpentBody,
            sender?.hasBegun != true
        else { return false }
        proxies.approaches.removeFirst()
        log.tell(.triesNextProxy)
        stopSending()
        dropConnection()
        phase = .idle
        return true
    }

    /// A proxy that wants to know who asks is heard like a server that does (HM-094): its 407 is the answer, without the
    /// body, which is the proxy's word about itself and not the origin's. Everything else it says is a failure.
    ///
    /// The answer has neither the origin's URL nor a field that would keep something for the origin: the origin was never
    /// reached, and whoever sits at the proxy could set its cookies.
    mutating func answerForProxy(_ error: StreamError) throws(StreamError) -> Bool {
        guard let refusal = error.underlying as? HTTPProxyRefusal else { return false }
        let progress = progress()
        progress.response = refusal.response
        progress.answering = refusal.source
        progress.verdict = refusal.verdict
        guard refusal.response.status.code == 407 else { return false }
        var head = refusal.response
        head.body = nil
        head.url = nil
        for name in HTTPLoad.statefulFields { head.fields.remove(name) }
        log.answered(head)
        response = head
        isReusable = false
        decoder = BodyDecoder(.none)
        stopSending()
        phase = .receivingBody
        letGo()
        return true
    }
}
