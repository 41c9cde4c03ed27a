internal import Glibc

/// A TCP port on 127.0.0.1 that neither accepts nor refuses connections, so that connecting never ends.
///
/// Its accept queue is full, so the kernel drops every further SYN. To a client it looks like a host behind a firewall that drops
/// packets.
///
/// ```swift
/// let silent = try UnansweredPort()
/// // connecting to 127.0.0.1, silent.port must give up by its own deadline
/// ```
public final class UnansweredPort: Sendable {
    /// The port.
    public let port: Int
    private let descriptors: [OwnedDescriptor]

    /// Creates a port and fills its queue.
    ///
    /// - Throws: ``PeerError/Code/noPort``.
    public init() throws(PeerError) {
        let (listener, port) = try ScriptedServer.bound(SOCK_STREAM, .v4, nil)
        // A backlog of 0 still accepts one connection.
        guard listen(listener.number, 0) == 0 else {
            throw PeerError(.noPort, "cannot listen: \(String(cString: strerror(errno)))")
        }
        let clients = (0..<2).map { _ in
            let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
            let client = OwnedDescriptor(socket(AF_INET, Int32(type), 0))
            _ = LoopbackAddress.v4.withSockAddr(port: port) { connect(client.number, $0, $1) }
            return client
        }
        self.port = port
        descriptors = [listener] + clients
    }
}
