public import EventLoops
public import HostResolver

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
/// Nothing is looked up or connected before `open()`. Properties set through either half hold for both. The connection ends
/// when both halves are closed or dropped.
public struct StreamPair: Sendable {
    /// What the peer sends.
    public let input: ReadStream
    /// What is sent to the peer.
    public let output: WriteStream

    init(_ connection: Connection) {
        input = ReadStream(connection)
        output = WriteStream(connection)
    }

    /// A TCP connection to a host's port, by name or numeric address.
    ///
    /// The name is looked up at open; its addresses are tried as RFC 8305 says. Replaces
    /// `CFStreamCreatePairWithSocketToHost` and `Stream.getStreamsToHost`.
    public init(
        host: String, port: UInt16, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        self.init(Connection(to: .host(host, port: port), properties, loop: loop))
    }

    /// A connection to an address of any kind: TCP or a Unix socket.
    ///
    /// Replaces `CFStreamCreatePairWithPeerSocketSignature`.
    public init(
        address: SocketAddress, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        self.init(Connection(to: .addresses([address], name: nil), properties, loop: loop))
    }

    /// A TCP connection to a host whose addresses are known; `name` is for TLS and properties.
    public init(
        addresses: [SocketAddress], name: String?, properties: StreamProperties = StreamProperties(),
        loop: EventLoop = .shared
    ) {
        self.init(Connection(to: .addresses(addresses, name: name), properties, loop: loop))
    }

    /// Streams on a descriptor that is open already: a connected socket, a pipe, a terminal.
    ///
    /// - Parameters:
    ///   - descriptor: what to read and write. Its flags are not changed.
    ///   - ownership: `.borrowed` leaves it open at the end, and never shuts it down; `.owned` closes it. See
    ///     ``StreamProperty/closesDescriptor``.
    ///   - loop: who watches it.
    ///
    /// Replaces `CFStreamCreatePairWithSocket`.
    public init(descriptor: Int32, ownership: DescriptorOwnership, loop: EventLoop = .shared) {
        let kind: ConnectionKind = Syscalls.socketType(descriptor) == nil ? .descriptor : .socket
        self.init(Connection(adopting: descriptor, as: kind, ownership: ownership, loop: loop))
    }

    /// A transport of your own, both ways.
    public init(transport: any StreamTransport) {
        self.init(Connection(transport: transport, only: nil))
    }

    /// Two streams in this process: what is written to the one is read from the other, through a buffer of fixed size.
    ///
    /// A full buffer makes writes wait. Closing or finishing the writer gives the reader the end after what is buffered;
    /// closing the reader makes writes fail with `EPIPE`. Replaces `CFStreamCreateBoundPair`.
    public static func bound(bufferSize: Int = ReadStream.chunkSize, loop: EventLoop = .shared) -> StreamPair {
        let readingPoint = WaitPoint(loop: loop)
        let writingPoint = WaitPoint(loop: loop)
        let buffer = PipeTransport.Buffer(size: bufferSize, readingPoint: readingPoint, writingPoint: writingPoint)
        return StreamPair(
            input: ReadStream(
                Connection(.boundInput, point: readingPoint, only: .reader) { _ in
                    .opened(.other(PipeTransport(buffer, end: .reading)))
                }),
            output: WriteStream(
                Connection(.boundOutput, point: writingPoint, only: .writer) { _ in
                    .opened(.other(PipeTransport(buffer, end: .writing)))
                }))
    }

    init(input: ReadStream, output: WriteStream) {
        self.input = input
        self.output = output
    }

    /// Begins to open both halves, and returns at once.
    public func open() throws(StreamError) {
        try input.open()
        try output.open()
    }

    /// Closes both halves.
    public func close() {
        output.close()
        input.close()
    }

    /// The value of a property; nil if it has none, or none yet.
    @inlinable
    public subscript<Value>(property: StreamProperty<Value>) -> Value? {
        (value(named: property.name) as? Value) ?? property.defaultValue
    }

    /// Sets a property of the connection; of a bound pair, on the half that honours it.
    ///
    /// - Throws: as ``ReadStream/set(_:to:)``.
    @inlinable
    public func set<Value>(_ property: StreamProperty<Value>, to value: Value?) throws(StreamError) {
        try setValue(value, for: property.key)
    }

    @usableFromInline
    func value(named name: String) -> (any Sendable)? {
        let value = input.value(named: name)
        return value == nil && isOfTwo ? output.value(named: name) : value
    }

    @usableFromInline
    func setValue(_ value: (any Sendable)?, for key: StreamPropertyKey) throws(StreamError) {
        guard isOfTwo, !key.isNote, !input.kind.properties.honours(key.name) else {
            return try input.setValue(value, for: key)
        }
        try output.setValue(value, for: key)
    }

    /// The halves are connections of their own, as in a bound pair.
    private var isOfTwo: Bool { input.connection !== output.connection }

    /// What opening did, step by step.
    public var report: ConnectionReport { input.report }
}
