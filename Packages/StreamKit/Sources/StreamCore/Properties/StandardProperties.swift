public import HostResolver

extension StreamProperty where Value == Bool {
    /// Whether writing begins at the end of a file instead of truncating it. Default false.
    ///
    /// Replaces `kCFStreamPropertyAppendToFile`.
    public static var appendToFile: Self {
        .init(setting: "StreamKit.appendToFile", access: .beforeOpen, default: false)
    }

    /// Whether the stream closes its descriptor. Default: true for connections made here, false for adopted
    /// descriptors.
    ///
    /// Replaces `kCFStreamPropertyShouldCloseNativeSocket`.
    public static var closesDescriptor: Self { .init(setting: "StreamKit.closesDescriptor", access: .always) }

    /// Whether the URL requires TLS, on streams where the URL and not ``tls`` decides: HTTP requests. Nil on all
    /// others.
    ///
    /// If false, ``tls`` takes effect only after a redirect to an `https` URL; opening fails with `EINVAL` if ``tls`` is set
    /// and redirects are not followed.
    public static var urlDemandsTLS: Self { .init(setting: "StreamKit.urlDemandsTLS", access: .readOnly) }

    /// Whether small writes are sent at once (TCP_NODELAY). Default true.
    public static var sendsAtOnce: Self { .init(setting: "StreamKit.sendsAtOnce", access: .beforeOpen, default: true) }

    /// Whether the kernel probes an idle connection (SO_KEEPALIVE). Default false.
    public static var keepsAlive: Self { .init(setting: "StreamKit.keepsAlive", access: .beforeOpen, default: false) }
}

extension StreamProperty where Value == UInt64 {
    /// The offset of the next byte in a file; setting it seeks. Nil for streams that are not files.
    ///
    /// If set before opening, reading or writing begins at the offset. A file that is written then keeps the bytes
    /// before and after (without the property it is truncated). A file opened for appending has no offset, and setting
    /// one throws.
    ///
    /// Replaces `kCFStreamPropertyFileCurrentOffset`.
    public static var fileOffset: Self { .init(setting: "StreamKit.fileOffset", access: .always) }
}

extension StreamProperty where Value == [UInt8] {
    /// All bytes written to a growing memory stream so far, before and after close. A copy.
    ///
    /// Replaces `kCFStreamPropertyDataWritten`.
    public static var dataWritten: Self { .init(setting: "StreamKit.dataWritten", access: .readOnly) }
}

extension StreamProperty where Value == Int32 {
    /// The native descriptor, once there is one. It remains the stream's.
    ///
    /// Replaces `kCFStreamPropertySocketNativeHandle`.
    public static var nativeDescriptor: Self { .init(setting: "StreamKit.nativeDescriptor", access: .readOnly) }
}

extension StreamProperty where Value == String {
    /// The host name that the stream was made with or that a ``AddressFinder`` found; nil for streams made with an
    /// address or a descriptor.
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

    /// The local address, once connected. If set before opening, the connection is bound to it; remote addresses of
    /// another family are then not connected to.
    public static var localAddress: Self { .init(setting: "StreamKit.localAddress", access: .beforeOpen) }
}

extension StreamProperty where Value == (any Resolver) {
    /// The resolver that looks up the name. Default `HostResolver/SystemResolver/shared`.
    public static var resolver: Self { .init(setting: "StreamKit.resolver", access: .beforeOpen) }
}

extension StreamProperty where Value == Duration {
    /// The time limit for opening: name lookup, connecting, proxies and TLS together. Default 75 s; zero for no limit.
    public static var openTimeout: Self {
        .init(setting: "StreamKit.openTimeout", access: .beforeOpen, default: .seconds(75))
    }

    /// The longest time that a read waits for a first byte. Default nil; nil and zero mean no limit.
    ///
    /// A read that exceeds it consumes nothing, and the stream stays usable.
    public static var readTimeout: Self { .init(setting: "StreamKit.readTimeout", access: .always) }

    /// The longest time that a write waits for room. Default nil; nil and zero mean no limit. A write that exceeds it
    /// fails the stream.
    public static var writeTimeout: Self { .init(setting: "StreamKit.writeTimeout", access: .always) }

    /// The time to wait for one address before the next one is tried in parallel (RFC 8305 §5). Default 250 ms.
    public static var attemptDelay: Self {
        .init(setting: "StreamKit.attemptDelay", access: .beforeOpen, default: .milliseconds(250))
    }
}

extension StreamProperty where Value == NetworkServiceType {
    /// The purpose of the traffic, as a hint to the network in the DSCP field. Replaces `kCFStreamNetworkServiceType`.
    public static var serviceType: Self { .init(setting: "StreamKit.serviceType", access: .beforeOpen) }
}

extension StreamProperty where Value == ConnectionReport {
    /// The steps of opening, with times and outcomes; grows while the stream opens.
    public static var report: Self { .init(setting: "StreamKit.report", access: .readOnly) }
}

/// The purpose of a stream's traffic, as a hint to routers: the DSCP field of its packets (RFC 4594).
///
/// Networks may ignore the hint. Replaces `kCFStreamNetworkServiceType` and its values.
public enum NetworkServiceType: Sendable, Hashable, CaseIterable {
    /// Ordinary traffic.
    case standard
    /// Not urgent; yields to all other traffic (CS1).
    case background
    /// The audio of a call (EF).
    case voice
    /// The video of a call (AF41).
    case video
    /// Call setup (CS5).
    case callSignaling
    /// Data that a user is waiting for (AF21).
    case responsiveData
    /// Streamed media (AF31).
    case mediaStreaming
    /// Interactive media (CS4).
    case responsiveMedia

    /// The six bits of the DSCP: the upper part of the IPv4 TOS byte and the IPv6 traffic class byte.
    package var differentiatedServicesCodePoint: UInt8 {
        switch self {
        case .standard: 0
        case .background: 8
        case .voice: 46
        case .video: 34
        case .callSignaling: 40
        case .responsiveData: 18
        case .mediaStreaming: 26
        case .responsiveMedia: 32
        }
    }
}
