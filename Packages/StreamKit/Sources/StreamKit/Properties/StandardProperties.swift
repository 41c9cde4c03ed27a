public import HostResolver

extension StreamProperty where Value == Bool {
    /// Continue at the end of a file instead of emptying it at open. Default false.
    ///
    /// Replaces `kCFStreamPropertyAppendToFile`.
    public static var appendToFile: Self {
        .init(setting: "StreamKit.appendToFile", access: .beforeOpen, default: false)
    }

    /// Close the descriptor at the end. Default: true for connections made here, false for adopted descriptors.
    ///
    /// Replaces `kCFStreamPropertyShouldCloseNativeSocket`.
    public static var closesDescriptor: Self { .init(setting: "StreamKit.closesDescriptor", access: .always) }

    /// Whether the URL demands TLS, on streams where the URL decides about it and not ``tls``: HTTP requests. Nil on all others.
    ///
    /// Where it is false, ``tls`` takes effect only after a redirect to an `https` URL; opening fails with `EINVAL` if ``tls`` is set
    /// and redirects are not followed.
    public static var urlDemandsTLS: Self { .init(setting: "StreamKit.urlDemandsTLS", access: .readOnly) }

    /// Send small writes at once (TCP_NODELAY). Default true.
    public static var sendsAtOnce: Self { .init(setting: "StreamKit.sendsAtOnce", access: .beforeOpen, default: true) }

    /// Have the kernel probe an idle connection (SO_KEEPALIVE). Default false.
    public static var keepsAlive: Self { .init(setting: "StreamKit.keepsAlive", access: .beforeOpen, default: false) }
}

extension StreamProperty where Value == UInt64 {
    /// The offset of the next byte in a file; setting it seeks. Nil on what is no file.
    ///
    /// Set before opening, a file is read or written from there; one that is written keeps what it has before and behind that
    /// (without the property it is emptied). A file that is appended to has no offset: setting one throws.
    ///
    /// Replaces `kCFStreamPropertyFileCurrentOffset`.
    public static var fileOffset: Self { .init(setting: "StreamKit.fileOffset", access: .always) }
}

extension StreamProperty where Value == [UInt8] {
    /// Everything written so far to a growing memory stream, before and after close. A copy.
    ///
    /// Replaces `kCFStreamPropertyDataWritten`.
    public static var dataWritten: Self { .init(setting: "StreamKit.dataWritten", access: .readOnly) }
}

extension StreamProperty where Value == Int32 {
    /// The native descriptor, once there is one. It stays the stream's.
    ///
    /// Replaces `kCFStreamPropertySocketNativeHandle`.
    public static var nativeDescriptor: Self { .init(setting: "StreamKit.nativeDescriptor", access: .readOnly) }
}

extension StreamProperty where Value == String {
    /// The name the stream was made with, or that was found for it at open (``PlaceFinder``); nil if it was made with an address or a
    /// descriptor.
    ///
    /// Replaces `kCFStreamPropertySocketRemoteHostName`.
    public static var remoteHostName: Self { .init(setting: "StreamKit.remoteHostName", access: .readOnly) }
}

extension StreamProperty where Value == UInt16 {
    /// The port of the peer. Replaces `kCFStreamPropertySocketRemotePortNumber`.
    public static var remotePort: Self { .init(setting: "StreamKit.remotePort", access: .readOnly) }
}

extension StreamProperty where Value == SocketAddress {
    /// The address of the peer, once connected.
    public static var remoteAddress: Self { .init(setting: "StreamKit.remoteAddress", access: .readOnly) }

    /// The own address, once connected. Setting it before open binds the connection to that address; addresses of another
    /// family are then not connected to.
    public static var localAddress: Self { .init(setting: "StreamKit.localAddress", access: .beforeOpen) }
}

extension StreamProperty where Value == (any Resolver) {
    /// Who looks up the name. Default `HostResolver/SystemResolver/shared`.
    public static var resolver: Self { .init(setting: "StreamKit.resolver", access: .beforeOpen) }
}

extension StreamProperty where Value == Duration {
    /// The longest that opening may take in all: look-up, connecting, proxies, TLS. Default 75 s; zero for no limit.
    public static var openLimit: Self {
        .init(setting: "StreamKit.openLimit", access: .beforeOpen, default: .seconds(75))
    }

    /// The longest that one read waits for a first byte. Default none; zero for none.
    ///
    /// A read that ran into it took nothing, and the stream stays usable.
    public static var readLimit: Self { .init(setting: "StreamKit.readLimit", access: .always) }

    /// The longest that one write waits for room. Default none; zero for none. A write that ran into it fails the stream.
    public static var writeLimit: Self { .init(setting: "StreamKit.writeLimit", access: .always) }

    /// How long to wait for one address before trying the next beside it (RFC 8305 §5). Default 250 ms.
    public static var attemptDelay: Self {
        .init(setting: "StreamKit.attemptDelay", access: .beforeOpen, default: .milliseconds(250))
    }
}

extension StreamProperty where Value == NetworkServiceType {
    /// What the traffic is for, told to the network in the DSCP field. Replaces `kCFStreamNetworkServiceType`.
    public static var serviceType: Self { .init(setting: "StreamKit.serviceType", access: .beforeOpen) }
}

extension StreamProperty where Value == TLSConfiguration {
    /// TLS on the connection, from the start. Nil (default) for none.
    ///
    /// On a transport of the caller's, TLS is layered once it is open; the peer's name is that of the configuration, else
    /// the transport's ``remoteHostName``. HTTP streams use it for `https` only, the URL deciding. On FTP streams it demands
    /// TLS, also for `ftp`. What cannot carry TLS (files, memory, bound pairs, pipes, terminals, streams of one direction)
    /// refuses it.
    ///
    /// Replaces `kCFStreamPropertySSLSettings` and `kCFStreamPropertySocketSecurityLevel`.
    public static var tls: Self { .init(setting: "StreamKit.tls", access: .beforeOpen) }
}

extension StreamProperty where Value == TLSInformation {
    /// What the handshake agreed on: version, cipher, ALPN, the peer's certificates. Nil before it and without TLS.
    ///
    /// Replaces `kCFStreamPropertySSLPeerCertificates` and `kCFStreamPropertySSLPeerTrust`.
    public static var tlsInformation: Self { .init(setting: "StreamKit.tlsInformation", access: .readOnly) }
}

extension StreamProperty where Value == ConnectionReport {
    /// What opening did, step by step, with times and outcomes; grows while it runs.
    public static var report: Self { .init(setting: "StreamKit.report", access: .readOnly) }
}
