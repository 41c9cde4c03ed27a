public import EventLoops
public import HostResolver

extension StreamListener {
    /// How a listener treats its clients. Every limit has a default that lets no client keep others out.
    public struct Configuration: Sendable {
        /// TLS on every connection; made with `TLSConfiguration(server:)`. Nil (default) for none.
        public var tls: TLSConfiguration?

        /// The longest that a client may take for the handshake. Default 10 s; zero for no limit.
        public var handshakeLimit: Duration = .seconds(10)

        /// Most connections at once, those that shake hands among them. Default 4096.
        ///
        /// Further clients wait in the kernel's queue until one goes; so they do while the process has no descriptor left.
        public var maximumConnections = 4096

        /// How many clients may wait in the kernel's queue; the rest is refused or must try again. Default: that of ``Socket``.
        public var backlog: Int32 = Socket.defaultBacklog

        /// Properties of every connection (``StreamKind/accepted``): limits for reading and writing, keep-alive, delay,
        /// service type. One that such a connection does not honour makes the listener throw.
        ///
        /// ``StreamProperty/tls`` is used without ``tls``, and ``StreamProperty/openLimit`` in place of ``handshakeLimit``.
        public var properties = StreamProperties()

        /// The loops whose threads serve the clients, one after the other; not empty. Default: the shared one.
        ///
        /// One thread serves thousands of clients. More of them pay where handlers compute, as TLS does.
        public var loops: [EventLoop] = [.shared]

        /// Told of connections that came to nothing, with their peer: a failed handshake, say; and of a lack of descriptors,
        /// without one. Called on a loop's thread.
        public var onFailure: (@Sendable (StreamError, SocketAddress?) -> Void)?

        /// The defaults stated at each property.
        public init() {}
    }
}

extension StreamListener.Configuration {
    /// With what is said by a property instead of a member.
    var settled: Self {
        var settled = self
        settled.tls = tls ?? properties[.tls]
        let limit = properties.value(named: StreamProperty<Duration>.openLimit.name) as? Duration
        settled.handshakeLimit = limit ?? handshakeLimit
        return settled
    }
}
