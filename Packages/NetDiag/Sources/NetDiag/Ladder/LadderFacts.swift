/// Everything that is known so far. Nil and absent mean that nobody has looked.
struct LadderFacts: Sendable {
    var surroundings: Surroundings?
    var surroundingsError: ResolverError?
    var routes: [IPAddress: Route?] = [:]
    var lookup: Result<[IPAddress], ResolverError>?
    var nameServers: [SocketAddress: NameServerAnswer] = [:]
    /// The outcome of each connection; `.some(nil)` is one that came about.
    var connections: [SocketAddress: StreamError?] = [:]
    var neighbors: [Neighbor]?
    var talk: (SocketAddress, TalkOutcome)?
    /// What broke a connection that was open; from a stream.
    var breakage: StreamError?

    /// The addresses of the target, if they are known.
    func addresses(of target: DiagnosisTarget) -> [IPAddress] {
        if let literal = target.literal { return [literal] }
        if case .success(let found) = lookup { return found }
        return []
    }

    var connected: [SocketAddress] { connections.compactMap { $0.value == nil ? $0.key : nil } }

    mutating func receive(_ result: ProbeResult) {
        switch result {
        case .surroundings(let found): surroundings = found
        case .surroundingsUnknown(let error): surroundingsError = error
        case .route(let address, let route): routes[address] = .some(route)
        case .lookup(let result): lookup = result
        case .nameServer(let server, let answer): nameServers[server] = answer
        case .connect(let address, let error): connections[address] = .some(error)
        case .neighbors(let found): neighbors = found
        case .talk(let address, let outcome): talk = (address, outcome)
        }
    }
}
