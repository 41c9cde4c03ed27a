internal import DNSWire

/// Browses for services in one domain, or in `local` and in all domains that DNS lists name.
struct BrowseMachine: SearchMachine {
    private let type: ServiceType
    private var services: PointerMachine<ServiceInstance>
    private var lists: PointerMachine<ServiceDomain>
    private var domains: [ServiceDomain]

    /// - Parameters:
    ///   - type: the type to browse for; only its first subtype counts.
    ///   - domain: the domain to browse; nil for `local` and the listed domains.
    ///   - listed: the domains whose lists of browsing domains are read.
    ///   - eachInterface: whether changes are reported for each interface.
    ///   - limit: the most that waits for the reader.
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidDomain`` if the domain and the type together are too
    ///   long.
    init(
        _ type: ServiceType, in domain: ServiceDomain?, listed: [ServiceDomain], eachInterface: Bool = false,
        limit: WaitingLimit = WaitingLimit()
    ) throws(ServiceDiscoveryError) {
        self.type = type
        let first = domain ?? .local
        domains = [first]
        guard let name = type.listName(in: first) else {
            throw ServiceDiscoveryError(.invalidDomain, name: first.description)
        }
        services = PointerMachine([name], eachInterface: eachInterface, limit: limit) { ServiceInstance(fullName: $0) }
        let names = domain == nil ? ServiceDomain.lists(["lb"], in: listed.filter { !$0.isLocal }) : []
        lists = PointerMachine(names, optional: names) { ServiceDomain(name: $0) }
    }

    var questions: Set<RecordKey> { services.questions.union(lists.questions) }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        services.receive(event, of: key)
        lists.receive(event, of: key)
        while let change = lists.take() { take(change) }
    }

    func ignores(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool {
        lists.ignores(error, of: key) || error.code == .lookupFailed && key.name != type.listName(in: domains[0])
    }

    mutating func take() -> DiscoveryChange<ServiceInstance>? {
        services.take()
    }

    var skipped: [DNSName] { services.skipped }

    /// Adds or removes a domain to browse.
    private mutating func take(_ change: DiscoveryChange<ServiceDomain>) {
        switch change.kind {
        case .found:
            guard domains.count <= WideAreaRules.maximumListedDomains, !domains.contains(change.value) else { return }
            domains.append(change.value)
        case .removed:
            // The first is `local`, which is never a listed one.
            guard let index = domains.dropFirst().firstIndex(of: change.value) else { return }
            domains.remove(at: index)
        }
        services.follow(domains.compactMap(type.listName))
    }
}

extension ServiceType {
    /// The name whose PTR records list the services of this type, or of its first subtype (RFC 6763 §4.1, §7.1).
    fileprivate func listName(in domain: ServiceDomain) -> DNSName? {
        let subtype = subtypes.first.map { [Array($0.utf8), Array("_sub".utf8)] } ?? []
        return DNSName(labels: subtype + labels + domain.name.labels)
    }
}
