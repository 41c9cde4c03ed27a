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

        /// Where idle connections are kept that are nobody's own.
        public var pool = HTTPConnectionPool.shared

        /// Sets properties of every stream before it is opened: TLS, limits, decoding.
        public var prepare: @Sendable (ReadStream) throws(StreamError) -> Void = { (_) throws(StreamError) in }

        /// Makes the default configuration.
        public init() {}

        /// What holds for a server or a proxy.
        func policy(for role: ProtectionSpace.Role) -> AuthenticationPolicy {
            role == .proxy ? proxyPolicy ?? policy : policy
        }
    }
}
