/// The parts of this machine's network that have changed.
public struct NetworkChange: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Interfaces were added or removed, or changed state.
    public static let links = NetworkChange(rawValue: 1)
    /// Addresses were added or removed.
    public static let addresses = NetworkChange(rawValue: 2)
    /// Routes were added or removed.
    public static let routes = NetworkChange(rawValue: 4)
    /// Anything may have changed: the kernel dropped messages because there were too many.
    public static let all: NetworkChange = [.links, .addresses, .routes]

    /// Creates the set of changes that the kernel's messages report.
    init(_ messages: [NetlinkMessage]) {
        self = []
        for message in messages {
            switch message.type {
            case RouteNetlink.newLink, RouteNetlink.deleteLink: insert(.links)
            case RouteNetlink.newAddress, RouteNetlink.deleteAddress: insert(.addresses)
            case RouteNetlink.newRoute, RouteNetlink.deleteRoute: insert(.routes)
            default: break
            }
        }
    }
}
