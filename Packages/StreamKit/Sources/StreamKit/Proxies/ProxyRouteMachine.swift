internal import HostResolver

/// Decides which way to try next, what must be looked up for it, and what a failure means. No I/O.
///
/// Theory of operation. A way fails in one of three manners. A proxy that cannot be reached, or that makes no sense, is
/// passed by: the next way is tried. A proxy that refuses the address it was told may like another one of the same host,
/// where names are looked up here. Anything else that a proxy says is its decision, and final: were another way taken then,
/// a rule would be got around, or a wrong password told to one more proxy.
struct ProxyRouteMachine {
    enum Action {
        /// Look up this name, for these families, and tell what came of it.
        case lookUp(String, AddressFamilies)
        /// Go this way, and tell if it failed.
        case go(Way)
        case failed(StreamError)
    }

    /// A way with the conversation for each of its proxies.
    struct Way {
        let route: ProxyRoute
        let machines: [any TunnelMachine]
    }

    /// Most addresses of one target that one proxy is asked for.
    static let mostAddresses = 8

    /// How many more connections one way gets because its proxies refused the connection and not the request.
    static let mostRepeats = 4

    private struct Query: Hashable {
        let name: String
        let families: AddressFamilies
    }

    private let host: String
    private let port: UInt16
    /// The target's addresses, as far as they are known already.
    private let addresses: [IPAddress]
    private var routes: ArraySlice<ProxyRoute>
    /// What lookups gave; empty means that the proxy is asked by name.
    private var answers: [Query: [IPAddress]] = [:]
    private var pending: Query?
    /// Which of the target's addresses the last proxy is told.
    private var candidate = 0
    private var candidates = 1
    /// How many more connections the present way has had.
    private var repeats = 0
    private var failure: StreamError?

    /// - Parameters:
    ///   - routes: at least one.
    ///   - host: the target's name, or its address.
    ///   - addresses: what is known of its addresses; then nothing is looked up for it.
    init(_ routes: [ProxyRoute], host: String, port: UInt16, addresses: [IPAddress] = []) {
        self.routes = routes[...]
        self.host = host
        self.port = port
        self.addresses = addresses
    }

    /// How many ways have not been given up, the present one among them.
    var remainingRoutes: Int { routes.count }

    mutating func next() -> Action {
        if let failure { return .failed(failure) }
        guard let route = routes.first else { return .failed(.closed) }
        do throws(StreamError) {
            var machines: [any TunnelMachine] = []
            candidates = 1
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
                    if isLast { candidates = max(1, min(addresses.count, ProxyRouteMachine.mostAddresses)) }
                    if !addresses.isEmpty {
                        target = try TunnelTarget(addresses[isLast ? candidate : 0], port: target.port)
                    }
                }
                machines.append(try hop.machine(for: target))
            }
            return .go(Way(route: route, machines: machines))
        } catch {
            failure = error
            return .failed(error)
        }
    }

    /// The lookup's answer.
    mutating func found(_ addresses: [IPAddress]) {
        guard let query = pending else { return }
        answers[query] = addresses.filter { query.families.contains($0.family) }
        pending = nil
    }

    /// The lookup failed. A host that merely has no address of the right kind is asked for by its name (SOCKS 4a).
    mutating func lookupFailed(_ error: StreamError, hasNoData: Bool) {
        guard let query = pending else { return }
        if hasNoData, query.families != .all { answers[query] = [] } else { failure = error }
        pending = nil
    }

    /// The way last given did not lead to the target.
    ///
    /// - Parameters:
    ///   - hop: the proxy whose conversation failed; nil if it was not a conversation.
    ///   - refusal: what that proxy refused.
    mutating func failed(_ error: StreamError, at hop: Int?, _ refusal: TunnelRefusal?) {
        guard let route = routes.first else { return }
        let isLast = hop == route.hops.count - 1
        switch refusal {
        case .request?:
            failure = error
        case .connection?:
            repeats += 1
            if repeats > ProxyRouteMachine.mostRepeats { failure = error }
        case .address? where isLast:
            candidate += 1
            if candidate >= candidates { failure = error }
        case .address?, nil:
            (candidate, repeats) = (0, 0)
            routes.removeFirst()
            if routes.isEmpty { failure = error }
        }
    }
}
