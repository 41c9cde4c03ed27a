/// The side of a connection.
enum HTTP2Role: Hashable, Sendable {
    /// The side that opens the connection and sends requests.
    case client
    /// The side that accepts the connection and answers requests.
    case server

    /// The other side.
    var peer: HTTP2Role { self == .client ? .server : .client }
}
