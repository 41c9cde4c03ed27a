/// What has changed in this machine's network.
public struct NetworkChange: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// The change with these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Interfaces came, went, or changed their state.
    public static let links = NetworkChange(rawValue: 1)
    /// Addresses came or went.
    public static let addresses = NetworkChange(rawValue: 2)
    /// Routes came or went.
    public static let routes = NetworkChange(rawValue: 4)
    /// Anything may have changed: so much did at once that the kernel's list ran over.
    public static let all: NetworkChange = [.links, .addresses, .routes]

    /// What the kernel's messages tell.
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
