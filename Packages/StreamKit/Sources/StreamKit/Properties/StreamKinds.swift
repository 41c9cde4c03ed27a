internal import EventLoops
@_spi(Packages) internal import StreamTLS

extension StreamPropertyTable {
    /// The properties of network connections, and of all streams that make such connections below them: HTTP, FTP.
    ///
    /// A property that is added here applies to all these connections, and to the pools that share them.
    @_spi(Packages) public static let connection = StreamPropertyTable()
        .connecting(.failsWhenAddressIsRemoved)
        .connecting(.keepsAlive)
        .connecting(.localAddress)
        .connecting(.proxies)
        .connecting(.resolver, comparedBy: { ($0 as AnyObject) === ($1 as AnyObject) })
        .connecting(.sendsAtOnce)
        .connecting(.serviceType)
        .connecting(.socksProxy)
        .connecting(.tls)
        .using(.attemptDelay)
        .using(.openTimeout)
        .using(.readTimeout)
        .using(.writeTimeout)
        .telling(.report)
        .telling(.tlsInformation)
        .logging

    /// The properties of any stream with its own socket.
    fileprivate static let socket = StreamPropertyTable()
        .using(.closesDescriptor)
        .telling(.nativeDescriptor)
        .telling(.localAddress)
        .telling(.remoteAddress)
        .telling(.report)
        .including(secured)
        .logging

    fileprivate static let reading = StreamPropertyTable().using(.readTimeout)
    fileprivate static let writing = StreamPropertyTable().using(.writeTimeout)

    #if Logging
    fileprivate var logging: Self { using(.logger) }
    #else
    fileprivate var logging: Self { self }
    #endif
}

/// The kinds of StreamKit.
extension StreamKind {
    /// `ReadStream(path:)`.
    @_spi(Packages) public static let readFile = StreamKind(
        "a file being read", .reading.using(.fileOffset).telling(.nativeDescriptor))

    /// `WriteStream(path:)`.
    @_spi(Packages) public static let writtenFile = StreamKind(
        "a file being written", .writing.using(.appendToFile).using(.fileOffset).telling(.nativeDescriptor))

    /// `ReadStream(bytes:)`. It never waits, so it has no time limits.
    @_spi(Packages) public static let readMemory = StreamKind("memory being read", StreamPropertyTable())

    /// `WriteStream(toMemoryOfCapacity:)`. It never waits, so it has no time limits.
    @_spi(Packages) public static let writtenMemory = StreamKind(
        "memory being written", StreamPropertyTable().telling(.dataWritten))

    /// The input of `StreamPair.bound(bufferSize:)`.
    @_spi(Packages) public static let boundInput = StreamKind("the input of a bound pair", .reading)

    /// The output of `StreamPair.bound(bufferSize:)`.
    @_spi(Packages) public static let boundOutput = StreamKind("the output of a bound pair", .writing)

    /// `StreamPair(descriptor:ownership:)` on a pipe, a terminal or a device.
    @_spi(Packages) public static let descriptor = StreamKind(
        "a descriptor that is not a socket",
        StreamPropertyTable().using(.closesDescriptor).including(.reading).including(.writing)
            .telling(.nativeDescriptor))

    /// `StreamPair(descriptor:ownership:)` on a connected socket.
    @_spi(Packages) public static let socket = StreamKind(
        "a connected socket", .socket.connecting(.failsWhenAddressIsRemoved).telling(.remotePort))

    /// A connection that a ``StreamListener`` accepted.
    @_spi(Packages) public static let accepted = StreamKind(
        "an accepted connection",
        .socket.connecting(.failsWhenAddressIsRemoved).connecting(.keepsAlive).connecting(.sendsAtOnce)
            .connecting(.serviceType).telling(.remotePort))

    /// `StreamPair(host:port:)`.
    @_spi(Packages) public static let host = StreamKind(
        "a connection to a host",
        .socket.including(.connection).telling(.proxyRoute).telling(.remoteHost).telling(.remoteHostName)
            .telling(.remotePort).telling(.socksBoundAddress))

    /// `StreamPair(address:)` and `StreamPair(addresses:name:)` with IP addresses.
    @_spi(Packages) public static let address = StreamKind("a connection to an address", host.properties)

    /// `StreamPair(address:)` with the path of a Unix socket.
    @_spi(Packages) public static let unixSocket = StreamKind(
        "a connection to a Unix socket", .socket.connecting(.localAddress))

    /// `StreamPair(finder:)` and, in NetKit, `StreamPair(service:)`: direct connections, without proxies.
    @_spi(Packages) public static let found = StreamKind(
        "a connection whose address is found at open",
        host.properties.without(.proxies).without(.socksProxy).without(.resolver).without(.proxyRoute)
            .without(.remoteHost).without(.socksBoundAddress))

    /// `ReadStream(transport:)`: one direction, so without TLS.
    @_spi(Packages) public static let readTransport = StreamKind(
        "a custom transport for reading", .reading.using(.openTimeout))

    /// `WriteStream(transport:)`: one direction, so without TLS.
    @_spi(Packages) public static let writtenTransport = StreamKind(
        "a custom transport for writing", .writing.using(.openTimeout))

    /// `StreamPair(securing:with:peerName:)` and `StreamPair(afterTLSOf:)`: a layer on top of an open pair.
    @_spi(Packages) public static let layer = StreamKind(
        "a layer on an open connection", .secured.without(.tls).using(.closesDescriptor))

    /// All kinds of this package.
    @_spi(Packages) public static let ofStreamKit: [StreamKind] =
        ConnectionKind.allCases.compactMap(\.ownKind) + [transport]
}

/// The kind of a connection. A transport may replace it with its own ``StreamKind``.
enum ConnectionKind: UInt8, Sendable, CaseIterable {
    case readFile, writtenFile, readMemory, writtenMemory, boundInput, boundOutput, descriptor, socket, accepted, host,
        address
    case unixSocket, found, layer
    /// The transport's kind.
    case transport
    /// The transport's own kind, if it has one; otherwise the kind of a custom transport in one direction.
    case readTransport, writtenTransport

    /// The kind; nil for ``transport``.
    var ownKind: StreamKind? {
        switch self {
        case .readFile: .readFile
        case .writtenFile: .writtenFile
        case .readMemory: .readMemory
        case .writtenMemory: .writtenMemory
        case .boundInput: .boundInput
        case .boundOutput: .boundOutput
        case .descriptor: .descriptor
        case .socket: .socket
        case .accepted: .accepted
        case .host: .host
        case .address: .address
        case .unixSocket: .unixSocket
        case .found: .found
        case .layer: .layer
        case .transport: nil
        case .readTransport: .readTransport
        case .writtenTransport: .writtenTransport
        }
    }

    /// The kind of a stream over this transport.
    func kind(over transport: (any StreamTransport)?) -> StreamKind {
        switch self {
        case .transport: transport?.kind ?? .transport
        case .readTransport, .writtenTransport:
            // A transport with its own kind knows its direction.
            if let kind = transport?.kind, kind.name != StreamKind.transport.name {
                kind
            } else {
                ownKind ?? .transport
            }
        default: ownKind ?? .transport
        }
    }
}
