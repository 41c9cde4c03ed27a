internal import EventLoops
internal import HostResolver

/// The properties of a stream that opening uses.
///
/// A class because the plan is large and passed from step to step.
final class ConnectPlan: Sendable {
    let endpoint: Endpoint
    let options: ConnectingSocket.Options
    let resolver: any Resolver
    let attemptDelay: Duration
    let deadline: Moment?
    let tls: TLSConfiguration?
    /// False if the user asked to leave the descriptor open.
    let closesDescriptor: Bool
    /// False if another plan may follow for the same connection. No socket is attached to the connection's wait point
    /// before it has connected then.
    let isLast: Bool

    init(to endpoint: Endpoint, _ properties: StreamProperties, isLast: Bool = true) {
        self.isLast = isLast
        self.endpoint = endpoint
        options = ConnectingSocket.Options(
            sendsAtOnce: properties[.sendsAtOnce] ?? true, keepsAlive: properties[.keepsAlive] ?? false,
            serviceType: properties[.serviceType], localAddress: properties[.localAddress])
        resolver = properties[.resolver] ?? SystemResolver.shared
        attemptDelay = properties[.attemptDelay] ?? .milliseconds(250)
        let limit = properties[.openTimeout] ?? .zero
        deadline = limit > .zero ? .now + limit : nil
        tls = properties[.tls]
        closesDescriptor = properties[.closesDescriptor] ?? true
    }

    /// The address, if there is only one.
    var singleAddress: SocketAddress? {
        guard isLast else { return nil }
        return switch endpoint {
        case .addresses(let addresses, _): addresses.count == 1 ? addresses[0] : nil
        case .host(let name, let port): IPAddress(name).map { .ip($0, port: port) }
        }
    }

    /// True once the time limit for opening has expired.
    var isOverdue: Bool { deadline.map { $0 <= .now } ?? false }
}

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
