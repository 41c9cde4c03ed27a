internal import EventLoops
internal import HostResolver

/// An open connection is the transport of the layer above it: TLS, or the conversation with a proxy.
///
/// Every call enters and leaves the connection, so that its descriptor cannot be closed or reused during a call.
extension Connection: StreamTransport {
    /// That of both halves: after the end of one, callers still wait for the other.
    var waitPoint: WaitPoint { pointToWait(.reader) ?? pointToWait(.writer) ?? signalledPoint() }

    var loop: EventLoop { point.loop }

    func peek() throws(StreamError) -> Attempt { try StreamSide(self, .reader).poll() }

    func writability() throws(StreamError) -> Attempt { try StreamSide(self, .writer).poll() }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try ReadCall.tryOnce(self, into: &buffer)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { try WriteCall.tryOnce(self, bytes) }

    func tryFlush() throws(StreamError) -> Attempt { try WriteCall.tryFlush(self) }

    func tryFinish() throws(StreamError) -> Attempt {
        try enter(.writer)
        defer { leave(.writer) }
        return try HalfCall.tryFinish(self)
    }

    func close() {
        close(.writer)
        close(.reader)
    }

    /// The kind of the streams of a layer.
    var kind: StreamKind { .layer }

    /// The value of a property. A connection to a proxy returns only the properties of its descriptor: the others
    /// describe the proxy, not the target.
    func property(named name: String) -> (any Sendable)? {
        if leadsToProxy, !Connection.descriptorProperties.contains(name) { return nil }
        return value(named: name)
    }

    /// The descriptor belongs to the connection, so ``StreamProperty/closesDescriptor`` is set here.
    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        guard name == StreamProperty<Bool>.closesDescriptor.name else { return false }
        try setValue(value, for: StreamProperty<Bool>.closesDescriptor.key)
        return true
    }

    private static let descriptorProperties: Set<String> = [
        StreamProperty<Int32>.nativeDescriptor.name, StreamProperty<Bool>.closesDescriptor.name,
        StreamProperty<SocketAddress>.localAddress.name, StreamProperty<SocketAddress>.remoteAddress.name,
    ]

    /// Records that a layer uses the connection from now on, so that releasing its streams does not close it.
    func takeOver() {
        withDetails { $0.isTakenOver = true }
    }
}
