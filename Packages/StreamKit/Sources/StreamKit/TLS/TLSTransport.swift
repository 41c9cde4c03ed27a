internal import EventLoops

/// TLS over any other transport: TCP, a tunnel through a proxy, a pair in memory, TLS.
///
/// A thin lock around ``TLSEndpoint``: reading and writing may happen on two threads, and OpenSSL allows one at a time.
///
/// A write may be accepted as a whole although the lower transport takes only a part of it. The next call of any kind,
/// or ``tryFlush()``, sends the rest of the encrypted record.
final class TLSTransport: StreamTransport {
    let lower: Engine
    private let endpoint: Locked<TLSEndpoint>

    /// Prepares a connection; ``tryOpen()`` performs the handshake. `lower` must be open by then.
    ///
    /// - Parameters:
    ///   - peerName: the name or address that the stream was made with, used if the configuration has none.
    ///   - port: with the name and the route, determines which sessions can be resumed.
    ///   - route: the proxies of the connection.
    /// - Throws: ``TLSFailure/badConfiguration`` for a configuration that cannot work with any peer.
    init(
        _ configuration: borrowing TLSConfiguration, peerName: String?, port: UInt16? = nil,
        through route: String? = nil, over lower: Engine, contexts: TLSContextCache = .shared
    ) throws(StreamError) {
        let peer = try TLSPeer(configuration, streamName: peerName, port: port, through: route)
        let context = try contexts.context(for: configuration)
        self.lower = lower
        endpoint = Locked(try TLSEndpoint(configuration, context, peer, over: lower))
    }

    var waitPoint: WaitPoint { lower.waitPoint }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        try endpoint.withLock { (endpoint) throws(StreamError) in try endpoint.handshake() }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try endpoint.withLock { (endpoint) throws(StreamError) in try endpoint.read(into: &buffer) }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try endpoint.withLock { (endpoint) throws(StreamError) in try endpoint.write(bytes) }
    }

    func peek() throws(StreamError) -> Attempt {
        try endpoint.withLock { (endpoint) throws(StreamError) in try endpoint.peek() }
    }

    func writability() throws(StreamError) -> Attempt {
        try endpoint.withLock { (endpoint) throws(StreamError) in try endpoint.writability() }
    }

    /// Sends the rest of earlier writes. Returns `.ended` when nothing remains.
    func tryFlush() throws(StreamError) -> Attempt {
        let interest = try endpoint.withLock { (endpoint) throws(StreamError) in try endpoint.flush() }
        return interest.map(Attempt.wouldBlock) ?? .ended
    }

    func tryFinish() throws(StreamError) -> Attempt {
        try endpoint.withLock { (endpoint) throws(StreamError) in try endpoint.finish() }
    }

    /// Throws unless TLS has ended in both directions, so that the following bytes of the lower transport are not TLS.
    func checkEnded() throws(StreamError) {
        try endpoint.withLock { (endpoint) throws(StreamError) in try endpoint.checkEnded() }
    }

    func close() {
        endpoint.withLock { $0.close() }
        lower.close()
    }

    /// The result of the handshake; nil before it is complete.
    var information: TLSInformation? { endpoint.withLock { $0.information } }

    /// The result of the handshake in a few words, for reports.
    var summary: String { endpoint.withLock { $0.summary } }

    /// The kind of the lower transport: TLS removes no property, and is in use already.
    var kind: StreamKind { lower.transport.kind }

    func property(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<TLSInformation>.tlsInformation.name:
            information
        case StreamProperty<[UInt8]>.serverEndPointBinding.name:
            endpoint.withLock { $0.serverEndPointBinding }
        case StreamProperty<[UInt8]>.exporterBinding.name:
            endpoint.withLock { $0.exporterBinding }
        default:
            lower.transport.property(named: name)
        }
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try lower.transport.setProperty(value, named: name)
    }
}

extension TLSEndpoint {
    fileprivate var serverEndPointBinding: [UInt8]? {
        information.flatMap { _ in ChannelBinding.serverEndPoint(ssl, isServer: context.configuration.role == .server) }
    }

    fileprivate var exporterBinding: [UInt8]? {
        information.flatMap { _ in ChannelBinding.exporter(ssl) }
    }
}
