public import FoundationEssentials
public import HTTPAuth
public import HTTPMessage
public import StreamKit

#if Tracing
public import Tracing
#endif

extension HTTPSession {
    /// The options of a session's loads.
    ///
    /// ```swift
    /// var configuration = HTTPSession.Configuration()
    /// configuration.totalTimeout = .seconds(30)
    /// configuration.tls.trust = .only(file: "ca.pem")
    /// configuration.proxies = .direct
    /// let session = HTTPSession(configuration)
    /// ```
    ///
    /// The defaults are those of a user agent. A stream made with `ReadStream(request:)` has CFNetwork's defaults instead: it follows
    /// no redirects, does not decode, and uses no proxies.
    public struct Configuration: Sendable {
        // MARK: Requests

        /// Whether redirects are followed, at most ``RedirectPolicy/limit``. Each hop has its own authentication. Default true.
        public var followsRedirects = true

        /// What a redirect sends to another origin. By default neither fields that may contain secrets nor a body, and neither
        /// the client's certificate nor relaxed checks of ``tls``.
        public var crossOrigin = CrossOriginPolicy()

        /// Decides about each redirect before it is followed.
        ///
        /// The closure returns the request to send next: that of the redirect, or another one, to which ``crossOrigin`` does not apply.
        /// If it returns nil, the redirect is not followed and its response is the result. Default nil: all redirects are followed.
        ///
        /// ```swift
        /// configuration.onRedirect = { redirect in
        ///     redirect.next.url?.host() == "downloads.example.org" ? redirect.next : nil
        /// }
        /// ```
        public var onRedirect: (@Sendable (HTTPRedirect) async -> HTTPRequest?)?

        /// The cookies. Default: each session has its own, in memory.
        public var cookies = Cookies.ofSession

        /// Whether coded bodies are requested and decoded: gzip, deflate, and br and zstd if their libraries are installed (`StreamProperty.httpDecodesContent`).
        /// Default true.
        public var decodesContent = true

        /// The rules by which requests are sent again after temporary failures. Default ``RetryPolicy/never``.
        public var retries = RetryPolicy.never

        // MARK: Connections

        /// The maximum number of connections that the session uses to one origin at once. Default 6.
        ///
        /// Further loads wait, in the order of their calls, until the body of another response has been read or its stream has been
        /// closed: a program that keeps more streams open, such as those of server-sent events, needs a larger number. The wait counts
        /// for the load's timeout. Connections of other sessions are not counted.
        public var maximumConnectionsPerOrigin = 6

        /// The TLS options. They apply to `https` URLs only.
        public var tls = TLSConfiguration()

        /// The proxies of the loads. Default: those of the environment.
        public var proxies = Proxies.environment

        /// The pool of idle connections that belong to no login.
        public var pool = HTTPConnectionPool.shared

        // MARK: Authentication

        /// The permitted schemes, and limits for the demands of servers.
        public var policy = AuthenticationPolicy()

        /// The policy for proxies; nil (default) for the same as for servers.
        public var proxyPolicy: AuthenticationPolicy?

        /// The stores that are searched for credentials. Those of origins and of proxies are separate.
        public var stores = CredentialStores()

        /// Asks the user, after URL and stores. If the closure or its answer is nil, the 401 or 407 is the response.
        ///
        /// The closure runs in a task of its own, which is cancelled when the load's time is over or the load is cancelled. The load
        /// then fails at once, and a later answer is dropped.
        public var prompt: (@Sendable (AuthenticationPrompt) async -> AuthenticationPrompt.Answer?)?

        /// The tokens of the scheme Bearer for an origin; nil (default) for none.
        public var bearerTokens: BearerTokens?

        /// The maximum number of prompts per load.
        public var promptLimit = 3

        // MARK: Limits

        /// The limits of heads, fields and framing of responses.
        public var limits = HTTPLimits.default

        /// The time limit of a load, from the first request to the end of the body, including redirects, logins and retries. Nil
        /// (default) for none.
        public var totalTimeout: Duration?

        /// The time limit of the wait for the response head, restarted whenever more of the request has been sent. Default 75 s.
        /// Connecting has its own limit, `StreamProperty.openTimeout`.
        public var responseTimeout: Duration = .seconds(75)

        /// The time limit for reading the body of an unneeded response (a challenge, or a redirect), in order to keep its
        /// connection. Default 5 s; then the connection is closed.
        public var discardTimeout: Duration = .seconds(5)

        /// The time limit of the wait for each piece of a body in ``HTTPSession/load(_:body:limit:within:progress:)``. Default 75 s. It does not
        /// limit the reads of a stream from ``HTTPSession/open(_:body:within:)``.
        public var readTimeout: Duration = .seconds(75)

        /// The time limit for a whole body in ``HTTPSession/load(_:body:limit:within:progress:)``. Default 10 minutes.
        public var bodyTimeout: Duration = .seconds(600)

        // MARK: Other properties

        /// Further properties of every stream, such as `StreamProperty.openTimeout` or `StreamProperty.logger`.
        ///
        /// Loads fail with `EINVAL` if it contains a property for which this structure has a member.
        public var properties = StreamProperties()

        /// Called with the stream of each request once it has been opened, including those that redirects and logins lead to. It
        /// observes the load: `stream.report` has the steps of a request that failed.
        public var onRequest: (@Sendable (ReadStream) -> Void)?

        #if Metrics
        /// The metrics of the loads; nil (default) for none.
        public var metrics: HTTPMetrics?
        #endif

        #if Tracing
        /// The tracer of the loads, each of which is a span with a child for each step of its report; nil (default) for that of the
        /// task or the process, `InstrumentationSystem.tracer`.
        public var tracer: (any Tracer)?
        #endif

        /// The clock, which tests replace.
        package var time: any SessionTime = MachineTime()

        /// Makes the default configuration.
        public init() {}

        /// ``totalTimeout``, or nil if that is not positive.
        var effectiveTimeout: Duration? { totalTimeout.flatMap { $0 > .zero ? $0 : nil } }

        /// The policy for servers or for proxies.
        func policy(for role: ProtectionSpace.Role) -> AuthenticationPolicy {
            role == .proxy ? proxyPolicy ?? policy : policy
        }
    }
}

extension HTTPSession.Configuration {
    /// The storage of a session's cookies.
    ///
    /// ```swift
    /// var configuration = HTTPSession.Configuration()
    /// configuration.cookies = .shared(HTTPCookies())
    /// ```
    public enum Cookies: Sendable {
        /// Cookies of the session alone, initially none. Sessions that are made with copies of one configuration share nothing, so
        /// that each user's session has the cookies of that user only.
        case ofSession
        /// Cookies that the application has, which other sessions may use as well.
        case shared(HTTPCookies)
        /// No cookies: those of responses are ignored, and none are sent but the request's own.
        case ignored

        /// - Parameter time: the clock of cookies that the session makes.
        func storage(_ time: any SessionTime) -> HTTPCookies? {
            switch self {
            case .ofSession: HTTPCookies(limits: .init(), suffixes: nil, time: time)
            case .shared(let cookies): cookies
            case .ignored: nil
            }
        }
    }

    /// The proxies of a session's loads.
    public enum Proxies: Sendable {
        /// No proxies.
        case direct
        /// Those of the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, read when the session is made
        /// (`ProxySettings.environment()`): another thread's `setenv` at that time is a data race. Loads fail with `EINVAL` if a
        /// variable is invalid.
        case environment
        /// The proxies that the settings, or their script, determine for each URL, including those of redirects.
        case settings(ProxySettings)
        /// The routes that the closure returns for each request, including those of redirects and logins. An empty array means a
        /// direct connection.
        case routes(@Sendable (URL) throws(StreamError) -> [ProxyRoute])

        /// The same route for every URL.
        ///
        /// ```swift
        /// configuration.proxies = .route(ProxyRoute(HTTPProxy(host: "proxy.example", port: 3128)))
        /// ```
        public static func route(_ route: ProxyRoute) -> Self {
            .routes { (_) throws(StreamError) in [route] }
        }

        /// The settings of the environment or of the application; nil if there are none.
        var settings: Result<ProxySettings, StreamError>? {
            switch self {
            case .direct, .routes: return nil
            case .settings(let settings): return .success(settings)
            case .environment:
                do throws(StreamError) {
                    let settings = try ProxySettings.environment()
                    return settings == ProxySettings() ? nil : .success(settings)
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    /// The members that determine a property, by the property's name.
    private static let members: [(property: String, member: String)] = [
        (StreamProperty<Bool>.httpFollowsRedirects.name, "followsRedirects"),
        (StreamProperty<CrossOriginPolicy>.httpCrossOriginPolicy.name, "crossOrigin"),
        (StreamProperty<Bool>.httpDecodesContent.name, "decodesContent"),
        (StreamProperty<TLSConfiguration>.tls.name, "tls"),
        (StreamProperty<[ProxyRoute]>.proxies.name, "proxies"),
        (StreamProperty<SOCKSProxy>.socksProxy.name, "proxies"),
        (StreamProperty<ProxySettings>.httpProxySettings.name, "proxies"),
        (StreamProperty<Bool>.httpKeepsConnection.name, "pool"),
        (StreamProperty<HTTPConnectionPool>.httpPool.name, "pool"),
        (StreamProperty<HTTPLimits>.httpLimits.name, "limits"),
        (StreamProperty<Duration>.httpTotalTimeout.name, "totalTimeout"),
        (StreamProperty<Duration>.httpResponseTimeout.name, "responseTimeout"),
        (StreamProperty<Duration>.httpDiscardTimeout.name, "discardTimeout"),
        (StreamProperty<Duration>.readTimeout.name, "readTimeout"),
    ]

    /// The options that are the same for each load. A session makes them once.
    var loadSettings: LoadSettings {
        var settings = LoadSettings(pool: pool)
        settings.decodesContent = decodesContent
        settings.set(limits, responseTimeout: responseTimeout, discardTimeout: discardTimeout)
        return settings
    }

    /// Sets the properties of a stream that depend on the URL that it loads; ``loadSettings`` are set already.
    ///
    /// - Parameters:
    ///   - settings: the session's proxy settings.
    ///   - standing: how the origin of the request relates to the one that the application named.
    /// - Throws: `EINVAL` for a property in ``properties`` that has a member; the error of the proxies.
    func apply(
        to stream: ReadStream, loading url: URL, _ settings: Result<ProxySettings, StreamError>?,
        at standing: OriginStanding
    ) throws(StreamError) {
        if !properties.isEmpty {
            for (property, member) in Self.members where properties.value(named: property) != nil {
                throw .sessionDecides(property, instead: member)
            }
            try stream.set(properties)
            if standing != .named, properties[.httpHost] != nil { try stream.set(.httpHost, to: nil) }
        }
        if url.scheme?.lowercased() == "https", tls != TLSConfiguration() {
            try stream.set(.tls, to: crossOrigin.tls(tls, at: standing))
        }
        if let settings { try stream.set(.httpProxySettings, to: settings.get()) }
        if case .routes(let choose) = proxies, case let routes = try choose(url), !routes.isEmpty {
            try stream.set(.proxies, to: routes)
        }
    }
}
