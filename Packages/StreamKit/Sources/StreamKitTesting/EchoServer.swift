public import StreamKit

/// A server on loopback that sends back what it receives, on any number of connections, until it is released.
///
/// ```swift
/// let server = try EchoServer()
/// let stream = StreamPair(host: "127.0.0.1", port: server.port)
/// ```
public final class EchoServer: Sendable {
    /// The port on 127.0.0.1 where the server listens.
    public let port: UInt16

    private let listener: StreamListener

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - tls: TLS for every connection; nil for none.
    ///   - closes: whether the server closes a connection after the first bytes it has sent back.
    /// - Throws: `EADDRINUSE` if no port is free; `EMFILE` if no descriptor is free; `TLSFailure.badConfiguration` if
    ///   `tls` has no identity.
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
                    // A client may disconnect at any time.
                }
            }
        }
    }

    deinit { listener.stop(within: .zero) }
}
