/// One rung of the ladder from this machine to an answer: each stands on those before it.
public enum Rung: Int, Sendable, Hashable, CaseIterable, Comparable, CustomStringConvertible {
    /// An interface that is switched on and has a carrier.
    case link
    /// An address that is valid beyond the link.
    case address
    /// A way to the target, or to everywhere.
    case route
    /// The router on that way, or the target itself if it is on the link.
    case gateway
    /// The name's addresses.
    case name
    /// The proxy, where one is configured for the target.
    case proxy
    /// A connection to the port.
    case connection
    /// Packets of full size all the way (path MTU).
    case path
    /// The TLS handshake, and who the server is.
    case security
    /// An answer to a request.
    case answer
    /// The server's or proxy's consent.
    case authentication

    /// The lower rung first.
    public static func < (left: Rung, right: Rung) -> Bool { left.rawValue < right.rawValue }

    /// Its name, for people and scripts: `link`.
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
