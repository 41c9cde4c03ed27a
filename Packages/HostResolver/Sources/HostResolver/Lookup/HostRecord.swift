/// What a ``HostLookup`` knows: a value, so that what is fetched is a snapshot.
struct HostRecord: Sendable {
    /// What the host is known by: the name as it was given, and what it was read as; or an address.
    let origin: Result<HostName, ResolverError>

    private(set) var addresses: Fetched<[IPAddress]>
    private(set) var names: Fetched<[String]>
    private(set) var reachability = Fetched<ReachabilityFlags>(value: nil, hasBeenResolved: false)

    init(name: String) {
        origin = Result { () throws(ResolverError) in try HostName(name) }
        // The name is known at once; CFHost gives it back as a name before any look-up.
        names = Fetched(value: [name], hasBeenResolved: false)
        addresses = Fetched(value: nil, hasBeenResolved: false)
    }

    init(address: IPAddress) {
        origin = .success(HostName(address))
        names = Fetched(value: nil, hasBeenResolved: false)
        addresses = Fetched(value: [address], hasBeenResolved: false)
    }

    /// A look-up of `kind` begins: its previous result goes.
    mutating func drop(_ kind: HostLookup.Kind) {
        switch kind {
        case .addresses: addresses = Fetched(value: nil, hasBeenResolved: false)
        case .names: names = Fetched(value: nil, hasBeenResolved: false)
        case .reachability: reachability = Fetched(value: nil, hasBeenResolved: false)
        }
    }

    /// A look-up of `kind` has ended.
    mutating func store(_ kind: HostLookup.Kind, _ result: Result<HostFinding, ResolverError>) {
        let finding = try? result.get()
        switch kind {
        case .addresses: addresses = Fetched(value: finding?.addresses, hasBeenResolved: true)
        case .names: names = Fetched(value: finding?.names, hasBeenResolved: true)
        case .reachability:
            reachability = Fetched(value: finding?.reachability, hasBeenResolved: true)
            // The addresses were looked up on the way.
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

/// What one look-up has brought.
struct HostFinding: Sendable {
    var addresses: [IPAddress]?
    var names: [String]?
    var reachability: ReachabilityFlags?
}
