internal import COpenSSL
@_spi(Packages) internal import EventLoops

/// TLS over any other transport: TCP, a tunnel through a proxy, a pair in memory, TLS.
///
/// A thin lock around ``TLSEndpoint``: reading and writing may happen on two threads, and OpenSSL allows one at a time.
///
/// A write may be accepted as a whole although the lower transport takes only a part of it. The next call of any kind,
/// or ``tryFlush()``, sends the rest of the encrypted record.
package final class TLSTransport: StreamTransport {
    package let lower: any StreamTransport
    private let endpoint: Locked<TLSEndpoint>

    /// Prepares a connection; ``tryOpen()`` performs the handshake. `lower` must be open by then.
    ///
    /// - Parameters:
    ///   - peerName: the name or address that the stream was made with, used if the configuration has none.
    ///   - port: with the name and the route, determines which sessions can be resumed.
    ///   - route: the proxies of the connection.
    ///   - context: the context of the configuration.
    /// - Throws: ``TLSFailure/badConfiguration`` for a configuration that cannot work with any peer.
    package convenience init(
        _ configuration: borrowing TLSConfiguration, peerName: String?, port: UInt16? = nil,
        through route: String? = nil, over lower: any StreamTransport, context: TLSContext
    ) throws(StreamError) {
        let peer = try TLSPeer(configuration, streamName: peerName, port: port, through: route)
        try self.init(configuration, peer, over: lower, context: context)
    }

    /// Prepares a connection to a peer that is known.
    package init(
        _ configuration: borrowing TLSConfiguration, _ peer: TLSPeer, over lower: any StreamTransport,
        context: TLSContext
    ) throws(StreamError) {
        self.lower = lower
        endpoint = Locked(try TLSEndpoint(configuration, context, peer, over: lower))
    }

    package var waitPoint: WaitPoint { lower.waitPoint }

    // Calls that use the layer below delay those of clients that are called at once: such a client may use this transport.

    package func tryOpen() throws(StreamError) -> OpenAttempt {
        try endpoint.withLockDelayingCalls { (endpoint) throws(StreamError) in try endpoint.handshake() }
    }

    package func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try endpoint.withLockDelayingCalls { (endpoint) throws(StreamError) in try endpoint.read(into: &buffer) }
    }

    package func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try endpoint.withLockDelayingCalls { (endpoint) throws(StreamError) in try endpoint.write(bytes) }
    }

    package func peek() throws(StreamError) -> Attempt {
        try endpoint.withLockDelayingCalls { (endpoint) throws(StreamError) in try endpoint.peek() }
    }

    package func writability() throws(StreamError) -> Attempt {
        try endpoint.withLockDelayingCalls { (endpoint) throws(StreamError) in try endpoint.writability() }
    }

    /// Sends the rest of earlier writes, here and in the lower transport. Returns `.ended` when nothing remains.
    package func tryFlush() throws(StreamError) -> Attempt {
        let interest = try endpoint.withLockDelayingCalls { (endpoint) throws(StreamError) in try endpoint.flush() }
        if let interest { return .wouldBlock(interest) }
        return try lower.tryFlush()
    }

    package func tryFinish() throws(StreamError) -> Attempt {
        try endpoint.withLockDelayingCalls { (endpoint) throws(StreamError) in try endpoint.finish() }
    }

    /// Throws unless TLS has ended in both directions, so that the following bytes of the lower transport are not TLS.
    package func checkEnded() throws(StreamError) {
        try endpoint.withLockDelayingCalls { (endpoint) throws(StreamError) in try endpoint.checkEnded() }
    }

    package func close() {
        endpoint.withLockDelayingCalls { $0.close() }
        lower.close()
    }

    /// The result of the handshake; nil before it is complete.
    var information: TLSInformation? { endpoint.withLock { $0.information } }

    /// The result of the handshake in a few words, for reports.
    package var summary: String { endpoint.withLock { $0.summary } }

    /// The kind of the lower transport: TLS removes no property, and is in use already.
    package var kind: StreamKind { lower.kind }

    package func property(named name: String) -> (any Sendable)? {
        switch name {
        case StreamProperty<TLSInformation>.tlsInformation.name:
            information
        case StreamProperty<[UInt8]>.serverEndPointBinding.name:
            endpoint.withLock { $0.serverEndPointBinding }
        case StreamProperty<[UInt8]>.exporterBinding.name:
            endpoint.withLock { $0.exporterBinding }
        default:
            lower.property(named: name)
        }
    }

    package func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try lower.setProperty(value, named: name)
    }
}

extension TLSEndpoint {
    /// Computed once: the hash of a certificate costs as much as a small request.
    fileprivate var serverEndPointBinding: [UInt8]? {
        if information != nil, cachedServerEndPoint == nil {
            cachedServerEndPoint = .some(
                ChannelBinding.serverEndPoint(ssl, isServer: context.configuration.role == .server))
        }
        return cachedServerEndPoint ?? nil
    }

    fileprivate var exporterBinding: [UInt8]? {
        information.flatMap { _ in ChannelBinding.exporter(ssl) }
    }
}

/// Values that tie an authentication to its TLS connection, so that it cannot be forwarded over another one.
private enum ChannelBinding {
    /// `tls-server-end-point` (RFC 5929 §4): the server's certificate, hashed with the hash function of its signature,
    /// or with SHA-256 in place of MD5 and SHA-1. Nil for a signature without a separate hash function, such as
    /// Ed25519.
    static func serverEndPoint(_ ssl: OpaquePointer, isServer: Bool) -> [UInt8]? {
        guard let certificate = isServer ? SSL_get_certificate(ssl) : SSL_get0_peer_certificate(ssl) else { return nil }
        var function: CInt = 0
        guard X509_get_signature_info(certificate, &function, nil, nil, nil) == 1, function != NID_undef else {
            return nil
        }
        if function == NID_md5 || function == NID_sha1 || function == NID_md5_sha1 { function = NID_sha256 }
        let digest = OBJ_nid2sn(function).flatMap { EVP_get_digestbyname($0) }
        let hash = X509Text.digest(X509Handle.der(of: certificate), digest)
        return hash.isEmpty ? nil : hash
    }

    /// `tls-exporter` (RFC 9266 §4). Nil for a TLS 1.2 connection without protection against the triple handshake
    /// attack.
    static func exporter(_ ssl: OpaquePointer) -> [UInt8]? {
        guard SSL_version(ssl) >= CInt(TLSVersion.tls13.rawValue) || netkit_SSL_get_extms_support(ssl) == 1 else {
            return nil
        }
        let label = "EXPORTER-Channel-Binding"
        var value = [UInt8](repeating: 0, count: 32)
        let context: [UInt8] = []
        let isDone = SSL_export_keying_material(ssl, &value, value.count, label, label.utf8.count, context, 0, 1)
        if isDone == 1 { return value }
        ERR_clear_error()
        return nil
    }
}
