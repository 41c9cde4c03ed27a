/// One layer between this machine and an answer of the server. Each rung depends on those below it.
public enum Rung: Int, Sendable, Hashable, CaseIterable, Comparable, CustomStringConvertible {
    /// An interface that is up and has a carrier.
    case link
    /// An address that is valid beyond the link.
    case address
    /// A route to the target, or a default route.
    case route
    /// The next router on that route, or the target itself if it is on the link.
    case gateway
    /// The addresses of the target's name.
    case name
    /// The proxy, if one is configured for the target.
    case proxy
    /// A TCP connection to the port.
    case connection
    /// Delivery of full-size packets over the whole path (path MTU).
    case path
    /// The TLS handshake, including the server's certificate.
    case security
    /// An answer to the request.
    case answer
    /// Permission by the server or the proxy.
    case authentication

    /// Orders the lower rung first.
    public static func < (left: Rung, right: Rung) -> Bool { left.rawValue < right.rawValue }

    /// The name, stable for scripts: `link`.
    public var description: String {
        switch self {
        case .link: "link"
        case .address: "address"
        case .route: "route"
        case .gateway: "gateway"
        case .name: "name"
        case .proxy: "proxy"
        case .connection: "connection"
        case .path: "path"
        case .security: "security"
        case .answer: "answer"
        case .authentication: "authentication"
        }
    }
}
