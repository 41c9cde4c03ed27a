internal import HostResolver

/// Where a connection goes.
enum Endpoint: Sendable, Hashable {
    /// A name or numeric address, looked up at open.
    case host(String, port: UInt16)
    /// Addresses that are known, tried in the manner of RFC 8305.
    case addresses([SocketAddress], name: String?)

    /// The name for TLS, proxies and properties.
    var name: String? {
        switch self {
        case .host(let name, _): name
        case .addresses(_, let name): name
        }
    }

    /// What a connection to it is.
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
