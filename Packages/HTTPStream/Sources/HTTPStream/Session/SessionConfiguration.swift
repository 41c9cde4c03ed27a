public import FoundationEssentials
public import HTTPAuth
public import HTTPMessage
public import StreamKit

#if Tracing
public import Tracing
#endif

extension HTTPSession {
    /// What a session does for its loads: the options of each of them, and logins, cookies, retries and proxies.
    ///
    /// ```swift
    /// var configuration = HTTPSession.Configuration()
    /// configuration.options.totalTimeout = .seconds(30)
    /// configuration.options.tls.trust = .only(file: "ca.pem")
    /// configuration.proxies = .direct
    /// let session = HTTPSession(configuration)
    /// ```
    public struct Configuration: Sendable {
        // MARK: Requests

        /// The options of each load. Default ``HTTPOptions/userAgent``.
        ///
        /// The session follows redirects itself, so that each hop has its own authentication. Loads fail with `EINVAL` if
        /// ``HTTPOptions/proxySettings`` is set, or if ``HTTPOptions/connection`` contains `StreamProperty.proxies`,
        /// `StreamProperty.socksProxy` or `StreamProperty.readTimeout`: ``proxies`` and ``readTimeout`` determine these.
        public var options = HTTPOptions.userAgent

        /// Decides about each redirect before it is followed.
        ///
        /// The closure returns the request to send next: that of the redirect, or another one, to which ``HTTPOptions/crossOrigin`` does not apply.
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

        /// The rules by which requests are sent again after temporary failures. Default ``RetryPolicy/never``.
        public var retries = RetryPolicy.never

        // MARK: Connections

        /// The maximum number of connections that the session uses to one origin at once. Default 6.
        ///
        /// Further loads wait, in the order of their calls, until the body of another response has been read or its stream has been
        /// closed: a program that keeps more streams open, such as those of server-sent events, needs a larger number. The wait counts
        /// for the load's timeout. Connections of other sessions are not counted. A load that has a stream of an HTTP/2 connection no longer
        /// counts: loads share the connection, and those beyond the server's limit of concurrent streams wait.
        public var maximumConnectionsPerOrigin = 6

        /// The proxies of the loads. Default: those of the environment.
        public var proxies = Proxies.environment

        // MARK: Authentication

        /// The permitted schemes, and limits for the demands of servers.
        public var policy = AuthenticationPolicy()

        /// The policy for proxies; nil (default) for the same as for servers.
        public var proxyPolicy: AuthenticationPolicy?

        /// The stores that are searched for credentials. Those of origins and of proxies are separate.
        public var stores = CredentialSearchList()

        /// Asks the user, after URL and stores. If the closure or its answer is nil, the 401 or 407 is the response.
        ///
        /// The closure runs in a task of its own, which is cancelled when the load's time is over or the load is cancelled. The load
        /// then fails at once, and a later answer is dropped.
        public var prompt: (@Sendable (AuthenticationPrompt) async -> AuthenticationPrompt.Answer?)?

        /// The tokens of the scheme Bearer for an origin; nil (default) for none.
        public var bearerTokens: BearerTokens?

        /// The maximum number of prompts per load.
        public var maximumPrompts = 3

        // MARK: Time limits of whole responses

        /// The time limit of the wait for each piece of a body in ``HTTPSession/load(_:body:limit:within:progress:)``. Default 75 s. It does not
        /// limit the reads of a stream from ``HTTPSession/open(_:body:within:)``.
        public var readTimeout: Duration = .seconds(75)

        /// The time limit for a whole body in ``HTTPSession/load(_:body:limit:within:progress:)``. Default 10 minutes.
        public var bodyTimeout: Duration = .seconds(600)

        // MARK: Observation

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
        package var time: any SessionTime = SystemTime()

        /// Makes the default configuration.
        public init() {}

        /// ``HTTPOptions/totalTimeout``, or nil if that is not positive.
        var effectiveTimeout: Duration? { options.totalTimeout.flatMap { $0 > .zero ? $0 : nil } }

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

    /// The members that determine a property of the connections, by the property's name.
    private static let members: [(property: String, member: String)] = [
        (StreamProperty<[ProxyRoute]>.proxies.name, "HTTPSession.Configuration.proxies"),
        (StreamProperty<SOCKSProxy>.socksProxy.name, "HTTPSession.Configuration.proxies"),
        (StreamProperty<Duration>.readTimeout.name, "HTTPSession.Configuration.readTimeout"),
    ]

    /// Returns the options of one request of a load.
    ///
    /// - Parameters:
    ///   - url: the URL of the request.
    ///   - settings: the session's proxy settings.
    ///   - standing: how the origin of the request relates to the one that the application named.
    /// - Throws: `EINVAL` for an option that another member determines; the error of the proxies.
    func options(
        loading url: URL, _ settings: Result<ProxySettings, StreamError>?, at standing: OriginStanding
    ) throws(StreamError) -> HTTPOptions {
        var options = options
        if case .some = options.proxySettings {
            throw .misplaced("HTTPOptions.proxySettings", instead: "HTTPSession.Configuration.proxies")
        }
        for (property, member) in Self.members where options.connection.value(named: property) != nil {
            throw .misplaced(property, instead: member)
        }
        options.followsRedirects = false
        if standing != .named { options.host = nil }
        if url.scheme?.lowercased() != "https" {
            options.connection[.tls] = nil
        } else if standing != .named, let tls = options.connection[.tls] {
            options.connection[.tls] = options.crossOrigin.tls(tls, at: standing)
        }
        if let settings { options.proxySettings = try settings.get() }
        if case .routes(let choose) = proxies, case let routes = try choose(url), !routes.isEmpty {
            options.connection[.proxies] = routes
        }
        return options
    }
}
