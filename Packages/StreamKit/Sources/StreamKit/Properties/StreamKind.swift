internal import EventLoops

/// What a stream is made of, and the properties that it therefore honours.
///
/// Setting a property that is neither in the kind's table nor a key of the caller's own (``StreamProperty/isNote``) throws an
/// error that names both. The page "Which stream honours which property" of NetKit shows the table of all kinds.
///
/// A ``StreamTransport`` that honours properties in ``StreamTransport/setProperty(_:named:)`` needs no kind; one that relies
/// on tables, as HTTP and FTP do, returns its own from ``StreamTransport/kind``.
public struct StreamKind: Sendable {
    /// The kind in words, for messages: `a file being read`.
    public let name: String

    /// The properties that streams of this kind honour.
    public let properties: StreamPropertyTable

    /// Makes a kind.
    ///
    /// - Parameters:
    ///   - name: what such a stream is, with its article, in the middle of a sentence.
    ///   - properties: what it honours.
    public init(_ name: String, _ properties: StreamPropertyTable) {
        self.name = name
        self.properties = properties
    }

    /// True if streams of this kind honour the property, so that it can be set.
    public func honours<Value>(_ property: StreamProperty<Value>) -> Bool { properties.honours(property.name) }

    /// Why the property cannot be set; nil if it can.
    public func refusal<Value>(of property: StreamProperty<Value>) -> StreamError? {
        refusal(of: property.key)
    }

    private func refusal(of key: StreamPropertyKey) -> StreamError? {
        if key.isReadOnly { return .readOnly(key.name) }
        return key.isNote || properties.honours(key.name) ? nil : .notHonoured(key.name, by: self)
    }

    /// Why the first of these properties that cannot be set cannot; nil if all can.
    func refusal(of settings: StreamProperties) -> StreamError? {
        var refusal: StreamError?
        settings.forEach { key, _ in
            refusal = refusal ?? self.refusal(of: key)
        }
        return refusal
    }
}

// MARK: - The table

extension StreamPropertyTable {
    /// What a connection to somewhere honours, and every stream that makes such connections below: HTTP, FTP.
    ///
    /// A property that is added here reaches the connections of all of them, and their pools.
    public static let connection = StreamPropertyTable()
        .connecting(.failsWhenAddressGoes)
        .connecting(.keepsAlive)
        .connecting(.localAddress)
        .connecting(.proxies)
        .connecting(.resolver, comparedBy: { ($0 as AnyObject) === ($1 as AnyObject) })
        .connecting(.sendsAtOnce)
        .connecting(.serviceType)
        .connecting(.socksProxy)
        .connecting(.tls)
        .using(.attemptDelay)
        .using(.openLimit)
        .using(.readLimit)
        .using(.writeLimit)
        .telling(.report)
        .telling(.tlsInformation)
        .logging

    /// What any stream with a socket of its own honours.
    fileprivate static let socket = StreamPropertyTable()
        .using(.closesDescriptor)
        .telling(.nativeDescriptor)
        .telling(.localAddress)
        .telling(.remoteAddress)
        .telling(.report)
        .including(secured)
        .logging

    /// What any stream honours on which TLS can be turned on before it is opened.
    fileprivate static let secured = StreamPropertyTable()
        .connecting(.tls)
        .using(.openLimit)
        .using(.readLimit)
        .using(.writeLimit)
        .telling(.exporterBinding)
        .telling(.serverEndPointBinding)
        .telling(.tlsInformation)

    fileprivate static let reading = StreamPropertyTable().using(.readLimit)
    fileprivate static let writing = StreamPropertyTable().using(.writeLimit)

    #if Logging
    fileprivate var logging: Self { using(.logger) }
    #else
    fileprivate var logging: Self { self }
    #endif
}

/// The kinds of StreamKit.
extension StreamKind {
    /// `ReadStream(path:)`.
    public static let readFile = StreamKind(
        "a file being read", .reading.using(.fileOffset).telling(.nativeDescriptor))

    /// `WriteStream(path:)`.
    public static let writtenFile = StreamKind(
        "a file being written", .writing.using(.appendToFile).using(.fileOffset).telling(.nativeDescriptor))

    /// `ReadStream(bytes:)`. It never waits, so it has no limits.
    public static let readMemory = StreamKind("memory being read", StreamPropertyTable())

    /// `WriteStream(toMemoryOfCapacity:)`. It never waits, so it has no limits.
    public static let writtenMemory = StreamKind(
        "memory being written", StreamPropertyTable().telling(.dataWritten))

    /// The input of `StreamPair.bound(bufferSize:)`.
    public static let boundInput = StreamKind("the input of a bound pair", .reading)

    /// The output of `StreamPair.bound(bufferSize:)`.
    public static let boundOutput = StreamKind("the output of a bound pair", .writing)

    /// `StreamPair(descriptor:ownership:)` on a pipe, a terminal, a device.
    public static let descriptor = StreamKind(
        "a descriptor that is no socket",
        StreamPropertyTable().using(.closesDescriptor).including(.reading).including(.writing)
            .telling(.nativeDescriptor))

    /// `StreamPair(descriptor:ownership:)` on a connected socket.
    public static let socket = StreamKind(
        "a connected socket", .socket.connecting(.failsWhenAddressGoes).telling(.remotePort))

    /// A connection that a ``StreamListener`` accepted.
    public static let accepted = StreamKind(
        "an accepted connection",
        .socket.connecting(.failsWhenAddressGoes).connecting(.keepsAlive).connecting(.sendsAtOnce)
            .connecting(.serviceType).telling(.remotePort))

    /// `StreamPair(host:port:)`.
    public static let host = StreamKind(
        "a connection to a host",
        .socket.including(.connection).telling(.proxyRoute).telling(.remoteHost).telling(.remoteHostName)
            .telling(.remotePort).telling(.socksBoundAddress))

    /// `StreamPair(address:)` and `StreamPair(addresses:name:)` with addresses of the internet.
    public static let address = StreamKind("a connection to an address", host.properties)

    /// `StreamPair(address:)` with the path of a Unix socket.
    public static let unixSocket = StreamKind("a connection to a Unix socket", .socket.connecting(.localAddress))

    /// `StreamPair(finder:)` and, in NetKit, `StreamPair(service:)`: connected to straight, not through proxies.
    public static let found = StreamKind(
        "a connection to a place that is found at open",
        host.properties.without(.proxies).without(.socksProxy).without(.resolver).without(.proxyRoute)
            .without(.remoteHost).without(.socksBoundAddress))

    /// `StreamPair(transport:)` over a transport of the caller's, which may honour further properties. TLS is layered on it.
    public static let transport = StreamKind("a transport of the caller's", .secured)

    /// `ReadStream(transport:)`: one way, so without TLS.
    public static let readTransport = StreamKind(
        "a transport of the caller's that is read only", .reading.using(.openLimit))

    /// `WriteStream(transport:)`: one way, so without TLS.
    public static let writtenTransport = StreamKind(
        "a transport of the caller's that is written only", .writing.using(.openLimit))

    /// `StreamPair(securing:with:peerName:)` and `StreamPair(afterTLSOf:)`: on top of a pair in use.
    public static let layer = StreamKind(
        "a layer on an open connection", .secured.without(.tls).using(.closesDescriptor))

    /// All kinds of this package.
    public static let ofStreamKit: [StreamKind] = ConnectionKind.allCases.compactMap(\.ownKind) + [transport, layer]
}

/// What a connection is made of: which kind it is, unless its transport says.
enum ConnectionKind: UInt8, Sendable, CaseIterable {
    case readFile, writtenFile, readMemory, writtenMemory, boundInput, boundOutput, descriptor, socket, accepted, host,
        address
    case unixSocket, found
    /// The kind is the transport's.
    case transport
    /// So it is, unless the transport has none of its own: it is used one way only.
    case readTransport, writtenTransport

    /// Nil for ``transport``.
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
            // A transport with a kind of its own knows which way it goes.
            if let kind = transport?.kind, kind.name != StreamKind.transport.name {
                kind
            } else {
                ownKind ?? .transport
            }
        default: ownKind ?? .transport
        }
    }
}

extension StreamError {
    static func readOnly(_ name: String) -> StreamError {
        .refused(name, "it is only told, never set.")
    }

    static func notHonoured(_ name: String, by kind: StreamKind) -> StreamError {
        StreamError(posix: 22, .propertyNotHonoured(name, kind.name))  // EINVAL
    }
}
