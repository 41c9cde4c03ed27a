internal import HostResolver

/// Browses services: in one domain, or in `local` and all domains that lists in the DNS name.
struct BrowseMachine: FeedMachine {
    private let type: ServiceType
    private var services: PointerMachine<ServiceInstance>
    private var lists: PointerMachine<ServiceDomain>
    private var domains: [ServiceDomain]

    /// - Parameters:
    ///   - type: what is looked for; its first subtype, if it has one.
    ///   - domain: where; nil for `local` and the domains that are listed.
    ///   - listed: whose lists of domains count.
    ///   - limit: most changes that wait for a reader.
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidDomain`` if the domain leaves no room for the type.
    init(
        _ type: ServiceType, in domain: ServiceDomain?, listed: [ServiceDomain],
        limit: Int = EngineLimits().waitingChanges
    ) throws(ServiceDiscoveryError) {
        self.type = type
        let first = domain ?? .local
        domains = [first]
        guard let name = type.listName(in: first) else {
            throw ServiceDiscoveryError(.invalidDomain, name: first.description)
        }
        services = PointerMachine([name], limit: limit) { ServiceInstance(fullName: $0) }
        let names = domain == nil ? ServiceDomain.lists(["lb"], in: listed.filter { !$0.isLocal }) : []
        lists = PointerMachine(names, optional: names) { ServiceDomain(name: $0) }
    }

    var questions: Set<RecordKey> { services.questions.union(lists.questions) }

    mutating func receive(_ event: DiscoveryEvent, of key: RecordKey) {
        services.receive(event, of: key)
        lists.receive(event, of: key)
        while let change = lists.take() { take(change) }
    }

    func passesOver(_ error: ServiceDiscoveryError, of key: RecordKey) -> Bool {
        lists.passesOver(error, of: key) || error.code == .lookupFailed && key.name != type.listName(in: domains[0])
    }

    mutating func take() -> DiscoveryChange<ServiceInstance>? {
        services.take()
    }

    /// A domain came or went.
    private mutating func take(_ change: DiscoveryChange<ServiceDomain>) {
        switch change.kind {
        case .found:
            guard domains.count <= WideAreaRules.mostListedDomains, !domains.contains(change.value) else { return }
            domains.append(change.value)
        case .removed:
            // The first is not one of the listed.
            guard let place = domains.dropFirst().firstIndex(of: change.value) else { return }
            domains.remove(at: place)
        }
        services.follow(domains.compactMap(type.listName))
    }
}

extension ServiceType {
    /// The name whose pointers are the services of this type, or of its first subtype (RFC 6763 §4.1, §7.1).
    fileprivate func listName(in domain: ServiceDomain) -> DNSName? {
        let subtype = subtypes.first.map { [Array($0.utf8), Array("_sub".utf8)] } ?? []
        return DNSName(labels: subtype + labels + domain.name.labels)
    }
}
