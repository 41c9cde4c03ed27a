internal import DNSWire

/// Browses for services of one type and reports when they come and go.
///
/// ```swift
/// for try await change in ServiceBrowser(try ServiceType("_http._tcp")) {
///     print(change.kind, change.value)            // until the loop is left or the task cancelled
/// }
/// ```
///
/// Known services come first. A service is found once, on however many interfaces, unless ``eachInterface`` is true;
/// services of this process are found as well. A found service may be gone already (see ``ServiceResolver/reconfirm()``).
/// In a domain other than `local`, name servers are queried again whenever the time to live of their answer ends, but at
/// most every ten seconds.
///
/// Replaces `CFNetServiceBrowser` and `CFNetServiceBrowserSearchForServices`.
public struct ServiceBrowser: AsyncSequence, Sendable {
    /// The type to browse for. Only its first subtype counts.
    public let type: ServiceType
    /// The domain to browse. Nil for the default domains: `local`, and at most 16 domains that the search domains of
    /// `/etc/resolv.conf` list for browsing (RFC 6763 §11, `lb`).
    public let domain: ServiceDomain?
    /// The only interface to use in `local`; nil for all.
    public let interface: String?
    /// Whether a service is found and removed on each interface, with one change for each, instead of once.
    ///
    /// Multicast DNS keeps the records of each link apart (RFC 6762 §14): a host on two networks has other addresses on each.
    /// Replaces the interface index of `DNSServiceBrowse`; CFNetServices reports a service once.
    public let eachInterface: Bool
    private let engine: DiscoveryEngine

    /// Describes a search. It begins with ``start()`` or with iteration.
    public init(
        _ type: ServiceType, domain: ServiceDomain? = nil, interface: String? = nil, eachInterface: Bool = false,
        engine: DiscoveryEngine = .automatic
    ) {
        self.type = type
        self.domain = domain
        self.interface = interface
        self.eachInterface = eachInterface
        self.engine = engine
    }

    /// Begins the search.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<DiscoveryChange<ServiceInstance>> {
        try start(isPatient: false)
    }

    /// Begins the search. If it is patient, name servers that do not answer are asked again, and the search does not fail.
    package func start(
        isPatient: Bool
    ) throws(ServiceDiscoveryError) -> DiscoveryFeed<DiscoveryChange<ServiceInstance>> {
        let machine = try BrowseMachine(
            type, in: domain, listed: engine.searchDomains, eachInterface: eachInterface,
            limit: engine.engine.maximumWaiting)
        return DiscoveryFeed(
            try SearchDriver(machine, engine: engine.engine, interface: interface, isPatient: isPatient))
    }

    /// Begins the search when the first element is requested.
    public func makeAsyncIterator() -> DiscoveryIterator<DiscoveryChange<ServiceInstance>> {
        DiscoveryIterator(start)
    }
}

/// A found or removed value, such as a service.
///
/// Replaces `CFNetServiceBrowserClientCallBack` with its flags.
public struct DiscoveryChange<Thing: Hashable & Sendable>: Hashable, Sendable {
    /// The kinds of change.
    public enum Kind: Hashable, Sendable {
        /// The value is available. Reported once, on however many interfaces it is seen, unless
        /// ``ServiceBrowser/eachInterface`` is true.
        case found
        /// The value is gone: withdrawn, or not refreshed within its time to live.
        case removed
    }

    /// Whether the value was found or removed.
    public let kind: Kind
    /// The value that was found or removed.
    public let value: Thing
    /// The name of the interface on which the value was found or removed, such as `eth0`: the first and the last one if
    /// changes are not reported for each. Nil for values that name servers or no records listed.
    ///
    /// The counterpart of the interface index in `DNSServiceBrowseReply`; `CFNetServiceBrowserClientCallBack` has none.
    public let interface: String?
    /// The index of that interface; 0 without one.
    package let interfaceIndex: UInt32
    /// Whether the next change is already available; a program can delay drawing until this is false. Replaces
    /// `kCFNetServiceFlagMoreComing`.
    public let moreComing: Bool
}
