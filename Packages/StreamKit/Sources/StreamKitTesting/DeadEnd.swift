public import StreamKit

/// A TCP port of loopback where nobody listens, and nobody can as long as this is kept: what connects to it is refused.
///
/// ```swift
/// let nobody = try DeadEnd()
/// let stream = StreamPair(host: "127.0.0.1", port: nobody.port)
/// ```
///
/// A port that was merely free a moment ago may be given to another program before the test gets to it.
public final class DeadEnd: Sendable {
    /// 127.0.0.1 and the port.
    public let address: SocketAddress

    /// The port of 127.0.0.1.
    public let port: UInt16

    // Bound, and nothing more.
    private let holder: Socket

    /// Takes a free port.
    ///
    /// - Throws: `EADDRINUSE` if there is none, `EMFILE` without a free descriptor.
    public init() throws(StreamError) {
        holder = try Socket(boundTo: .ip(.v4(.loopback), port: 0), .stream)
        guard let address = holder.localAddress, let port = address.port else { throw .closed }
        self.address = address
        self.port = port
    }
}
