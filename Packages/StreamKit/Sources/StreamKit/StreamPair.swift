public import EventLoops
public import HostResolver
@_spi(Packages) internal import StreamCore

/// The two halves of one connection.
///
/// ```swift
/// let pair = StreamPair(host: "localhost", port: 7)
/// try pair.open()
/// try await pair.output.writeAll(Array("hello".utf8))
/// let echo = try await pair.input.read(upTo: 100)
/// pair.close()
/// ```
///
/// No name lookup or connection begins before `open()`. Properties set through either half apply to both. The
/// connection ends when both halves are closed or released.
public struct StreamPair: Sendable {
    /// The bytes from the peer.
    public let input: ReadStream
    /// The bytes to the peer.
    public let output: WriteStream

    init(_ connection: Connection) {
        input = ReadStream(connection)
        output = WriteStream(connection)
    }

    /// Makes a TCP connection to a port of a host, by name or numeric address.
    ///
    /// The name is looked up when the stream opens; its addresses are tried as RFC 8305 describes. Replaces
    /// `CFStreamCreatePairWithSocketToHost` and `Stream.getStreamsToHost`.
    public init(
        host: String, port: UInt16, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        self.init(Connection(to: .host(host, port: port), properties, loop: loop))
    }

    /// Makes a connection to an address: TCP or a Unix socket.
    ///
    /// Replaces `CFStreamCreatePairWithPeerSocketSignature`.
    public init(
        address: SocketAddress, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        self.init(Connection(to: .addresses([address], name: nil), properties, loop: loop))
    }

    /// Makes a TCP connection to a host with known addresses; `name` is for TLS and properties.
    public init(
        addresses: [SocketAddress], name: String?, properties: StreamProperties = StreamProperties(),
        loop: EventLoop = .shared
    ) {
        self.init(Connection(to: .addresses(addresses, name: name), properties, loop: loop))
    }

    /// Makes streams on a descriptor that is already open: a connected socket, a pipe, a terminal.
    ///
    /// - Parameters:
    ///   - descriptor: the descriptor to read and write. Its flags are not changed.
    ///   - ownership: `.owned` closes it at the end; `.borrowed` leaves it open and never shuts it down. See
    ///     ``StreamProperty/closesDescriptor``.
    ///   - loop: the loop that watches it.
    ///
    /// Replaces `CFStreamCreatePairWithSocket`.
    public init(descriptor: Int32, ownership: DescriptorOwnership, loop: EventLoop = .shared) {
        let kind: ConnectionKind = Syscalls.socketType(descriptor) == nil ? .descriptor : .socket
        self.init(Connection(adopting: descriptor, as: kind, ownership: ownership, loop: loop))
    }

    /// Makes streams over a custom transport, in both directions.
    public init(transport: any StreamTransport) {
        self.init(Connection(transport: transport, only: nil))
    }

    /// Makes two connected streams within this process: bytes written to the output are read from the input, through a
    /// buffer of fixed size.
    ///
    /// Writes wait while the buffer is full. After the writer is closed or finished, the reader receives the buffered
    /// bytes and then the end. After the reader is closed, writes fail with `EPIPE`. Replaces
    /// `CFStreamCreateBoundPair`.
    public static func bound(bufferSize: Int = ReadStream.chunkSize, loop: EventLoop = .shared) -> StreamPair {
        let readingPoint = WaitPoint(loop: loop)
        let writingPoint = WaitPoint(loop: loop)
        let buffer = PipeTransport.Buffer(size: bufferSize, readingPoint: readingPoint, writingPoint: writingPoint)
        return StreamPair(
            input: ReadStream(
                Connection(.boundInput, point: readingPoint, only: .reader) { _ in
                    .opened(PipeTransport(buffer, end: .reading))
                }),
            output: WriteStream(
                Connection(.boundOutput, point: writingPoint, only: .writer) { _ in
                    .opened(PipeTransport(buffer, end: .writing))
                }))
    }

    /// Makes the two ends of a connection within this process: bytes written at one end are read at the other, through a buffer of
    /// fixed size for each direction.
    ///
    /// Writes wait while the buffer is full. After one end has finished its output or is closed, the other end reads the buffered bytes
    /// and then the end. After one end is closed, writes at the other end fail with `EPIPE`. An end is closed when both its streams are.
    @_spi(Packages) public static func connected(
        bufferSize: Int = ReadStream.chunkSize, loop: EventLoop = .shared
    ) -> (StreamPair, StreamPair) {
        let (first, second) = DuplexPipe.pair(size: bufferSize, loop: loop)
        return (StreamPair(transport: first), StreamPair(transport: second))
    }

    init(input: ReadStream, output: WriteStream) {
        self.input = input
        self.output = output
    }

    /// Begins to open both halves and returns at once.
    public func open() throws(StreamError) {
        try input.open()
        try output.open()
    }

    /// Whether both halves are open, and neither has reached its end.
    public var isOpen: Bool {
        input.connection.isUsable(.reader) && output.connection.isUsable(.writer)
    }

    /// Whether both halves are open, and the peer has sent nothing that is still to be read, not even the end. Never waits.
    ///
    /// A connection that is not idle between two requests cannot carry another one.
    public var isIdle: Bool { output.connection.isUsable(.writer) && input.side.isIdle }

    /// Closes both halves.
    public func close() {
        output.close()
        input.close()
    }

    /// The value of a property; nil if it has none, or none yet.
    @inlinable
    public subscript<Value>(property: StreamProperty<Value>) -> Value? {
        guard let value = value(named: property.name) else { return property.defaultValue }
        return StreamProperty.typed(value) ?? property.defaultValue
    }

    /// Sets a property of the connection; on a bound pair, of the half that honours it.
    ///
    /// - Throws: as ``StreamHalf/set(_:to:)``.
    @inlinable
    public func set<Value>(_ property: StreamProperty<Value>, to value: Value?) throws(StreamError) {
        try setValue(value, for: property.key)
    }

    @usableFromInline
    func value(named name: String) -> (any Sendable)? {
        let value = input.value(named: name)
        return value == nil && hasTwoConnections ? output.value(named: name) : value
    }

    @usableFromInline
    func setValue(_ value: (any Sendable)?, for key: StreamPropertyKey) throws(StreamError) {
        guard hasTwoConnections, !key.isNote, !input.kind.properties.honours(key.name) else {
            return try input.setValue(value, for: key)
        }
        try output.setValue(value, for: key)
    }

    /// True if the halves are separate connections, as in a bound pair.
    private var hasTwoConnections: Bool { input.connection !== output.connection }

    /// The steps of opening the connection.
    public var report: ConnectionReport { input.report }
}

extension StreamPair {
    /// Makes a TCP connection to a port of a host: to its addresses if they have been looked up, otherwise by name.
    ///
    /// The host's present state is kept as ``StreamProperty/remoteHost``; later changes to the host have no effect.
    /// Replaces `CFStreamCreatePairWithSocketToCFHost`.
    public init(
        host: HostLookup, port: UInt16, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        let host = host.copy()
        let name = host.names.value?.first
        if let addresses = host.addresses.value, !addresses.isEmpty || name == nil {
            let targets = addresses.compactMap(\.ipAddress).map { SocketAddress.ip($0, port: port) }
            self.init(addresses: targets, name: name, properties: properties, loop: loop)
        } else {
            self.init(host: name ?? "", port: port, properties: properties, loop: loop)
        }
        input.connection.withDetails { $0.properties[.remoteHost] = host }
    }
}

extension StreamProperty where Value == HostLookup {
    /// The host that the pair was made with, in its state at that time; nil if the pair was made otherwise.
    ///
    /// Replaces `kCFStreamPropertySocketRemoteHost`.
    public static var remoteHost: Self { .init(setting: "StreamKit.remoteHost", access: .readOnly) }
}

extension Socket {
    /// Converts the connected socket to a pair of streams, which must still be opened. The socket object is invalid
    /// afterwards.
    ///
    /// ```swift
    /// for try await client in listener.accepted {
    ///     let pair = try client.makeStreams()
    ///     try pair.open()
    ///     try await pair.output.writeAll("hello\n")
    ///     pair.close()
    /// }
    /// ```
    ///
    /// The streams close the descriptor if this socket would have. Replaces `CFStreamCreatePairWithSocket` on an
    /// accepted descriptor.
    ///
    /// - Throws: `EINVAL` unless this is a connected stream socket; ``StreamError/busy`` while a call is in progress.
    ///   The socket is unchanged then.
    public func makeStreams() throws(StreamError) -> StreamPair {
        let (descriptor, ownership) = try release()
        return StreamPair(descriptor: descriptor, ownership: ownership, loop: point.loop)
    }
}
