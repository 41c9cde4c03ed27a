internal import HostResolver

/// Decides which route to try next, what must be looked up for it, and what a failure means. No I/O.
///
/// Theory of operation. A route fails in one of three ways. If a proxy cannot be reached, or its answers are invalid,
/// the next route is tried. If a proxy refuses the address it was given, and names are looked up here, another address
/// of the same host is tried. Any other refusal is the proxy's decision, and final: trying another route would bypass a
/// rule, or send a wrong password to one more proxy.
package struct ProxyRouteMachine {
    package enum Action {
        /// Look up this name for these families, and report the result.
        case lookUp(String, AddressFamilies)
        /// Take this route, and report if it fails.
        case take(Plan)
        case failed(StreamError)
    }

    /// A route with the conversation for each of its proxies.
    package struct Plan {
        package let route: ProxyRoute
        package let machines: [any TunnelMachine]
    }

    /// The maximum number of addresses of one target that one proxy is asked for.
    package static let maximumAddresses = 8

    /// The maximum number of additional connections for one route whose proxies refuse the connection and not the
    /// request.
    static let maximumRepeats = 4

    private struct Query: Hashable {
        let name: String
        let families: AddressFamilies
    }

    private let host: String
    private let port: UInt16
    /// The target's addresses, if they are known already.
    private let addresses: [IPAddress]
    private var routes: ArraySlice<ProxyRoute>
    /// The results of lookups. An empty result means that the proxy is asked by name.
    private var answers: [Query: [IPAddress]] = [:]
    private var pending: Query?
    /// The index of the target's address that the last proxy is asked for.
    private var addressIndex = 0
    private var addressCount = 1
    /// The number of additional connections that the current route has had.
    private var repeats = 0
    private var failure: StreamError?

    /// - Parameters:
    ///   - routes: at least one.
    ///   - host: the target's name, or its address.
    ///   - addresses: the target's known addresses; if there are any, its name is not looked up.
    package init(_ routes: [ProxyRoute], host: String, port: UInt16, addresses: [IPAddress] = []) {
        self.routes = routes[...]
        self.host = host
        self.port = port
        self.addresses = addresses
    }

    /// The number of routes that have not failed, including the current one.
    package var remainingRoutes: Int { routes.count }

    package mutating func next() -> Action {
        if let failure { return .failed(failure) }
        guard let route = routes.first else { return .failed(.closed) }
        do throws(StreamError) {
            var machines: [any TunnelMachine] = []
            addressCount = 1
            for (index, hop) in route.hops.enumerated() {
                let isLast = index == route.hops.count - 1
                var target =
                    isLast
                    ? try TunnelTarget(host: host, port: port)
                    : try TunnelTarget(host: route.hops[index + 1].host, port: route.hops[index + 1].port)
                if case .here(let families) = hop.nameLookup, target.address == nil {
                    let query = Query(name: target.host, families: families)
                    let known = isLast && !addresses.isEmpty ? addresses.filter { families.contains($0.family) } : nil
                    guard let addresses = known ?? answers[query] else {
                        pending = query
                        return .lookUp(query.name, families)
                    }
                    if isLast { addressCount = max(1, min(addresses.count, ProxyRouteMachine.maximumAddresses)) }
                    if !addresses.isEmpty {
                        target = try TunnelTarget(addresses[isLast ? addressIndex : 0], port: target.port)
                    }
                }
                machines.append(try hop.machine(for: target))
            }
            return .take(Plan(route: route, machines: machines))
        } catch {
            failure = error
            return .failed(error)
        }
    }

    /// Processes the result of the lookup.
    package mutating func found(_ addresses: [IPAddress]) {
        guard let query = pending else { return }
        answers[query] = addresses.filter { query.families.contains($0.family) }
        pending = nil
    }

    /// Processes the failure of the lookup. A host that only lacks an address of the right family is asked for by name
    /// (SOCKS 4a).
    package mutating func lookupFailed(_ error: StreamError, hasNoData: Bool) {
        guard let query = pending else { return }
        if hasNoData, query.families != .all { answers[query] = [] } else { failure = error }
        pending = nil
    }

    /// Processes the failure of the last route returned.
    ///
    /// - Parameters:
    ///   - hop: the index of the proxy whose conversation failed; nil if it was not a conversation.
    ///   - refusal: what that proxy refused.
    package mutating func failed(_ error: StreamError, at hop: Int?, _ refusal: TunnelRefusal?) {
        guard let route = routes.first else { return }
        let isLast = hop == route.hops.count - 1
        switch refusal {
        case .request?:
            failure = error
        case .connection?:
            repeats += 1
            if repeats > ProxyRouteMachine.maximumRepeats { failure = error }
        case .address? where isLast:
            addressIndex += 1
            if addressIndex >= addressCount { failure = error }
        case .address?, nil:
            (addressIndex, repeats) = (0, 0)
            routes.removeFirst()
            if routes.isEmpty { failure = error }
        }
    }
}
