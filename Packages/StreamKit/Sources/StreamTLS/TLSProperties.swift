@_spi(Packages) internal import StreamCore

extension StreamProperty where Value == TLSConfiguration {
    /// TLS on the connection, from the start. Default nil: no TLS.
    ///
    /// On a custom transport, TLS is added once the transport is open. The peer's name is that of the configuration,
    /// otherwise the transport's ``remoteHostName``. HTTP streams use it only for `https` URLs. On FTP streams it
    /// requires TLS, even for `ftp` URLs. Streams that cannot use TLS (files, memory, bound pairs, pipes, terminals,
    /// streams of one direction) refuse the property.
    ///
    /// Replaces `kCFStreamPropertySSLSettings` and `kCFStreamPropertySocketSecurityLevel`.
    public static var tls: Self { .init(setting: "StreamKit.tls", access: .beforeOpen) }
}

extension StreamProperty where Value == TLSInformation {
    /// The result of the handshake: version, cipher, ALPN, the peer's certificates. Nil before it and without TLS.
    ///
    /// Replaces `kCFStreamPropertySSLPeerCertificates` and `kCFStreamPropertySSLPeerTrust`.
    public static var tlsInformation: Self { .init(setting: "StreamKit.tlsInformation", access: .readOnly) }
}

extension StreamProperty where Value == [UInt8] {
    /// The channel binding `tls-server-end-point` (RFC 5929 §4), available once TLS is open: a hash of the server's
    /// certificate.
    public static var serverEndPointBinding: Self {
        .init(setting: "StreamKit.serverEndPointBinding", access: .readOnly)
    }

    /// The channel binding `tls-exporter` (RFC 9266), available once TLS is open: a value that only the two ends know.
    public static var exporterBinding: Self { .init(setting: "StreamKit.exporterBinding", access: .readOnly) }
}

// MARK: - The kind of a custom transport

extension StreamPropertyTable {
    /// The properties of any stream on which TLS can be enabled before it opens.
    package static let secured = StreamPropertyTable()
        .connecting(.tls)
        .using(.openTimeout)
        .using(.readTimeout)
        .using(.writeTimeout)
        .telling(.exporterBinding)
        .telling(.serverEndPointBinding)
        .telling(.tlsInformation)
}

extension StreamKind {
    /// `StreamPair(transport:)` over a custom transport, which may honour further properties. TLS can be added on top.
    public static let transport = StreamKind("a custom transport", .secured)
}

extension StreamTransport {
    /// The kind of a custom transport.
    public var kind: StreamKind { .transport }
}
