public import StreamKit

/// A connection that carries another protocol than HTTP, after a 101 (Switching Protocols) response; or a stream of HTTP/2 that does, after
/// a 2xx (RFC 8441).
public struct HTTPUpgradedConnection: Sendable {
    /// The streams of the connection. Close both at the end: of a connection of HTTP/2, only the stream ends.
    public let pair: StreamPair

    /// The bytes of the other protocol that arrived together with the last bytes of HTTP. They precede those that are read from
    /// ``pair``.
    public let received: [UInt8]

    init(pair: StreamPair, received: [UInt8]) {
        self.pair = pair
        self.received = received
    }
}
