/// Whether and how packets can get to a host: the bits that `SCNetworkReachabilityFlags` has.
///
/// ```swift
/// let flags = try ReachabilityFlags(of: [IPAddress("192.0.2.1")!])
/// if flags.contains(.reachable) { … }
/// ```
///
/// On Linux they are what the kernel's routes say: nothing is sent, so a host that is switched off is still "reachable". Bits
/// that have no meaning there (dial-up on demand) are never set.
public struct ReachabilityFlags: OptionSet, Hashable, Sendable {
    /// The flag word.
    public let rawValue: UInt32

    /// The flags of a flag word.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Through a connection that comes and goes. Never set.
    public static let transientConnection = ReachabilityFlags(rawValue: 1 << 0)
    /// There is a route.
    public static let reachable = ReachabilityFlags(rawValue: 1 << 1)
    /// A connection must be made first. Never set.
    public static let connectionRequired = ReachabilityFlags(rawValue: 1 << 2)
    /// Traffic makes the connection. Never set.
    public static let connectionOnTraffic = ReachabilityFlags(rawValue: 1 << 3)
    /// A person must do something first. Never set.
    public static let interventionRequired = ReachabilityFlags(rawValue: 1 << 4)
    /// The connection is made on demand. Never set.
    public static let connectionOnDemand = ReachabilityFlags(rawValue: 1 << 5)
    /// An address of this machine.
    public static let isLocalAddress = ReachabilityFlags(rawValue: 1 << 16)
    /// On a link of this machine: no router in between.
    public static let isDirect = ReachabilityFlags(rawValue: 1 << 17)

    /// The flags that a route means; none for no route.
    public init(_ route: Route?) {
        guard let route, !route.isDead else {
            self = []
            return
        }
        switch route.kind {
        case .local: self = [.reachable, .isLocalAddress, .isDirect]
        case .unicast, .broadcast, .multicast, .other:
            self = route.gateway == nil ? [.reachable, .isDirect] : .reachable
        case .refused: self = []
        }
    }

    /// The flags of the first address that is reachable; none if none is.
    ///
    /// - Throws: ``ResolverError`` in the domain ``ResolverError/Domain/systemConfiguration`` if the kernel cannot be asked.
    public init(of addresses: [IPAddress]) throws(ResolverError) {
        for address in addresses {
            do throws(ResolverError) {
                let flags = ReachabilityFlags(try Route.to(address))
                if flags.contains(.reachable) {
                    self = flags
                    return
                }
            } catch {
                throw ResolverError(
                    error.code, name: address.description, detail: error.detail, domain: .systemConfiguration,
                    number: error.number)
            }
        }
        self = []
    }
}

extension ReachabilityFlags: CustomStringConvertible {
    /// The names of the flags set; `unreachable` for none.
    public var description: String {
        let names: [(ReachabilityFlags, String)] = [
            (.transientConnection, "transient connection"), (.reachable, "reachable"),
            (.connectionRequired, "connection required"), (.connectionOnTraffic, "connection on traffic"),
            (.interventionRequired, "intervention required"), (.connectionOnDemand, "connection on demand"),
            (.isLocalAddress, "local address"), (.isDirect, "direct"),
        ]
        let set = names.filter { contains($0.0) }.map(\.1)
        return set.isEmpty ? "unreachable" : set.joined(separator: ", ")
    }
}
