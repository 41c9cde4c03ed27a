/// The results of a ``HostLookup``: a value, so that a reader gets a consistent snapshot.
struct HostRecord: Sendable {
    /// The name or address that the host was created with; the error if the name is invalid.
    let origin: Result<HostName, ResolverError>

    private(set) var addresses: Fetched<[IPAddress]>
    private(set) var names: Fetched<[String]>
    private(set) var reachability = Fetched<ReachabilityFlags>(value: nil, hasBeenResolved: false)

    init(name: String) {
        origin = Result { () throws(ResolverError) in try HostName(name) }
        // As in CFHost, the given name is among the names before the first lookup.
        names = Fetched(value: [name], hasBeenResolved: false)
        addresses = Fetched(value: nil, hasBeenResolved: false)
    }

    init(address: IPAddress) {
        origin = .success(HostName(address))
        names = Fetched(value: nil, hasBeenResolved: false)
        addresses = Fetched(value: [address], hasBeenResolved: false)
    }

    /// Drops the previous result of `kind`, as a new lookup starts.
    mutating func drop(_ kind: HostLookup.Kind) {
        switch kind {
        case .addresses: addresses = Fetched(value: nil, hasBeenResolved: false)
        case .names: names = Fetched(value: nil, hasBeenResolved: false)
        case .reachability: reachability = Fetched(value: nil, hasBeenResolved: false)
        }
    }

    /// Stores the result of a lookup of `kind`.
    mutating func store(_ kind: HostLookup.Kind, _ result: Result<HostFinding, ResolverError>) {
        let finding = try? result.get()
        switch kind {
        case .addresses: addresses = Fetched(value: finding?.addresses, hasBeenResolved: true)
        case .names: names = Fetched(value: finding?.names, hasBeenResolved: true)
        case .reachability:
            reachability = Fetched(value: finding?.reachability, hasBeenResolved: true)
            // A lookup of the reachability may have looked up the addresses first.
            if let found = finding?.addresses { addresses = Fetched(value: found, hasBeenResolved: true) }
        }
    }

    var description: String {
        switch origin {
        case .success(let name): name.description
        case .failure(let error): error.name ?? ""
        }
    }
}

/// The result of one lookup.
struct HostFinding: Sendable {
    var addresses: [IPAddress]?
    var names: [String]?
    var reachability: ReachabilityFlags?
}
