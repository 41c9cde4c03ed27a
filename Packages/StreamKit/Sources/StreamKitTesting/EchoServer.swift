public import StreamKit

/// A server on loopback that sends back what comes, on any number of connections, until it is let go.
///
/// ```swift
/// let server = try EchoServer()
/// let stream = StreamPair(host: "127.0.0.1", port: server.port)
/// ```
public final class EchoServer: Sendable {
    /// The port of 127.0.0.1 where it listens.
    public let port: UInt16

    private let listener: StreamListener

    /// Listens from here on.
    ///
    /// - Parameters:
    ///   - tls: has every connection begin with a handshake.
    ///   - closes: whether it closes a connection once it has sent something back.
    /// - Throws: `EADDRINUSE` if there is no free port, `EMFILE` without a free descriptor;
    ///   `TLSFailure.badConfiguration` if `tls` has no identity.
    public init(tls: TLSConfiguration? = nil, closes: Bool = false) throws(StreamError) {
        var configuration = StreamListener.Configuration()
        configuration.tls = tls
        listener = try StreamListener(address: .ip(.v4(.loopback), port: 0), configuration: configuration)
        guard let port = listener.port else { throw .closed }
        self.port = port
        Task { [listener] in
            try await listener.run { client in
                do {
                    for try await chunk in client.input.chunks() {
                        try await client.output.writeAll(chunk)
                        if closes { break }
                    }
                    try await client.output.finish()
                } catch {
                    // A client may leave whenever it likes.
                }
            }
        }
    }

    deinit { listener.stop(within: .zero) }
}
