internal import HostResolver

/// The target of a connection.
enum Endpoint: Sendable, Hashable {
    /// A host name or a numeric address, resolved when the stream opens.
    case host(String, port: UInt16)
    /// Known addresses, tried as RFC 8305 describes.
    case addresses([SocketAddress], name: String?)

    /// The host name for TLS, proxies and properties.
    var name: String? {
        switch self {
        case .host(let name, _): name
        case .addresses(_, let name): name
        }
    }

    /// The kind of connection to this endpoint.
    var kind: ConnectionKind {
        switch self {
        case .host: .host
        case .addresses(let addresses, _):
            if let first = addresses.first, first.ipAddress == nil { .unixSocket } else { .address }
        }
    }

    var port: UInt16? {
        switch self {
        case .host(_, let port): port
        case .addresses(let addresses, _): addresses.first?.port
        }
    }
}
