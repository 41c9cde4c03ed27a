public import EventLoops
public import HostResolver

extension StreamListener {
    /// The settings of a listener. The default limits keep any client from shutting out the others.
    public struct Configuration: Sendable {
        /// TLS for every connection, made with `TLSConfiguration(server:)`. Default nil: no TLS.
        public var tls: TLSConfiguration?

        /// The longest time that a client may take for the handshake. Default 10 s; zero for no limit.
        public var handshakeLimit: Duration = .seconds(10)

        /// The most connections at once, including those whose handshake is in progress. Default 4096.
        ///
        /// Further clients wait in the kernel's queue until a connection ends. They also wait there while the process
        /// has no descriptors left.
        public var maximumConnections = 4096

        /// The most clients that wait in the kernel's queue; further clients are refused or must retry. Default: that
        /// of ``Socket``.
        public var backlog: Int32 = Socket.defaultBacklog

        /// Properties of every connection (``StreamKind/accepted``): time limits, keep-alive, delay, service type. The
        /// listener's initializer throws if such a connection does not honour one of them.
        ///
        /// ``StreamProperty/tls`` is used if ``tls`` is nil, and ``StreamProperty/openLimit`` replaces
        /// ``handshakeLimit``.
        public var properties = StreamProperties()

        /// The loops whose threads serve the clients, in turn. Must not be empty. Default: the shared loop.
        ///
        /// One thread serves thousands of clients. Further threads help handlers that compute, as TLS does.
        public var loops: [EventLoop] = [.shared]

        /// Called for each connection that fails before its handler runs, for example during the handshake, with the
        /// peer's address. Also called, with a nil address, when the process runs out of descriptors. Runs on a loop's
        /// thread.
        public var onFailure: (@Sendable (StreamError, SocketAddress?) -> Void)?

        /// Makes a configuration with the defaults stated at each property.
        public init() {}
    }
}

extension StreamListener.Configuration {
    /// The configuration with ``properties`` merged into the members that they replace.
    var settled: Self {
        var settled = self
        settled.tls = tls ?? properties[.tls]
        let limit = properties.value(named: StreamProperty<Duration>.openLimit.name) as? Duration
        settled.handshakeLimit = limit ?? handshakeLimit
        return settled
    }
}
