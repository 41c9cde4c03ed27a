public import StreamKit

/// A TCP port on loopback that refuses connections: it stays reserved, without a listener, while this object lives.
///
/// ```swift
/// let refused = try DeadEnd()
/// let stream = StreamPair(host: "127.0.0.1", port: refused.port)
/// ```
///
/// A port that is merely free may be taken by another program before the test connects to it.
public final class DeadEnd: Sendable {
    /// 127.0.0.1 and the port.
    public let address: SocketAddress

    /// The port on 127.0.0.1.
    public let port: UInt16

    // Bound but not listening.
    private let holder: Socket

    /// Reserves a free port.
    ///
    /// - Throws: `EADDRINUSE` if no port is free; `EMFILE` if no descriptor is free.
    public init() throws(StreamError) {
        holder = try Socket(boundTo: .ip(.v4(.loopback), port: 0), .stream)
        guard let address = holder.localAddress, let port = address.port else { throw .closed }
        self.address = address
        self.port = port
    }
}
