internal import EventLoops
internal import HostResolver

/// An open connection as the transport below a layer.
///
/// Every call enters and leaves the connection, so that its descriptor cannot be closed or reused during a call.
final class ConnectionTransport: StreamTransport {
    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    var waitPoint: WaitPoint { connection.placeForLayers(.reader) }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard let count = try connection.tryRead(into: &buffer) else { return .wouldBlock(.readable) }
        return count == 0 ? .ended : .moved(count)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard let count = try connection.tryWrite(bytes) else { return .wouldBlock(.writable) }
        return count == 0 ? .ended : .moved(count)
    }

    func peek() throws(StreamError) -> Attempt { try connection.poll(.reader) }

    func writability() throws(StreamError) -> Attempt { try connection.poll(.writer) }

    func tryFlush() throws(StreamError) -> Attempt { try connection.tryFlush() ? .ended : .wouldBlock(.writable) }

    func tryFinish() throws(StreamError) -> Attempt { try connection.tryFinish() ? .ended : .wouldBlock(.writable) }

    func close() {
        connection.close(.writer)
        connection.close(.reader)
    }

    /// Only what describes the descriptor holds above it. The connection's other properties describe the proxy.
    func property(named name: String) -> (any Sendable)? {
        ConnectionTransport.forwardedProperties.contains(name) ? connection.value(named: name) : nil
    }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        guard name == StreamProperty<Bool>.closesDescriptor.name else { return false }
        try connection.setValue(value, for: StreamProperty<Bool>.closesDescriptor.key)
        return true
    }

    private static let forwardedProperties: Set<String> = [
        StreamProperty<Int32>.nativeDescriptor.name, StreamProperty<Bool>.closesDescriptor.name,
        StreamProperty<SocketAddress>.localAddress.name, StreamProperty<SocketAddress>.remoteAddress.name,
    ]
}
