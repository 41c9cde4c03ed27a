public import HTTPAuth
public import StreamKit

extension HTTPSession {
    /// How the loads of a session are made.
    public struct Configuration: Sendable {
        /// The schemes that may be used, and how much a server may demand.
        public var policy = AuthenticationPolicy()

        /// The same for proxies; nil (default) for what holds for servers.
        public var proxyPolicy: AuthenticationPolicy?

        /// Where credentials are looked for, those of origins and of proxies apart.
        public var stores = CredentialStores()

        /// Asks the user, after URL and stores. Nil, or the answer nil, lets the 401 or 407 be the answer.
        public var prompt: (@Sendable (AuthenticationPrompt) async -> AuthenticationPrompt.Answer?)?

        /// How often the user is asked for one load.
        public var promptLimit = 3

        /// Whether redirects are followed, at most ``RedirectPolicy/limit``. Each has its own authentication.
        public var followsRedirects = false

        /// What a redirect takes along to another origin. By default neither fields that may hold secrets nor a body, nor the client's
        /// certificate and relaxed checks that `prepare` sets.
        public var crossOrigin = CrossOriginPolicy()

        /// The longest wait for the head of an answer, counted anew whenever more of the request has gone out. Default 75 s. Connecting
        /// has a limit of its own, `StreamProperty.openLimit`.
        public var responseLimit: Duration = .seconds(75)

        /// The longest time spent on the body of an answer that is not wanted (of a challenge, or of a redirect), to use its
        /// connection again. Default 5 s; then the connection is closed.
        public var discardLimit: Duration = .seconds(5)

        /// The longest wait for a further piece of a body in ``HTTPSession/load(_:body:limit:)``. Default 75 s. Waits of a stream from
        /// ``HTTPSession/open(_:body:)`` are the caller's own, and are not limited by this.
        public var readLimit: Duration = .seconds(75)

        /// The longest that a whole body may take in ``HTTPSession/load(_:body:limit:)``. Default 10 minutes.
        public var bodyLimit: Duration = .seconds(600)

        /// Where idle connections are kept that are nobody's own.
        public var pool = HTTPConnectionPool.shared

        /// Sets properties of every stream before it is opened: TLS, limits, decoding. Loads fail with `EINVAL` if it sets one that
        /// the session decides: `httpCrossOriginPolicy`, `httpFollowsRedirects`, `httpKeepsConnection` or `httpPool`; and if it sets
        /// `tls` for an `http` URL (`urlDemandsTLS` is false) while ``followsRedirects`` is false, since TLS is never used then.
        public var prepare: @Sendable (ReadStream) throws(StreamError) -> Void = { (_) throws(StreamError) in }

        /// Makes the default configuration.
        public init() {}

        /// What holds for a server or a proxy.
        func policy(for role: ProtectionSpace.Role) -> AuthenticationPolicy {
            role == .proxy ? proxyPolicy ?? policy : policy
        }
    }
}
