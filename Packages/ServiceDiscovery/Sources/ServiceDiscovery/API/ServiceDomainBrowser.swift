/// Finds the domains in which services can be looked for, or published (RFC 6763 §11).
///
/// ```swift
/// for try await change in ServiceDomainBrowser(.browsing) { print(change.value) }      // local. comes first
/// ```
///
/// Needed only by programs that let people choose a domain. Replaces `CFNetServiceBrowserSearchForDomains`.
public struct ServiceDomainBrowser: AsyncSequence, Sendable {
    /// What the domains are for.
    public enum Purpose: Hashable, Sendable {
        /// Domains to look for services in.
        case browsing
        /// Domains to publish services in.
        case registration
    }

    /// Found and removed domains.
    public typealias Element = DiscoveryChange<ServiceDomain>
    /// What iterating throws.
    public typealias Failure = ServiceDiscoveryError

    /// What the domains are for.
    public let purpose: Purpose
    /// The only interface looked at; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search; it begins with ``start()`` or with iterating.
    public init(_ purpose: Purpose, interface: String? = nil, engine: DiscoveryEngine = .automatic) {
        self.purpose = purpose
        self.interface = interface
        self.engine = engine
    }

    /// Begins a search; `local` is found at once.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<Element> {
        // RFC 6763 §11: b, db and lb for browsing, r and dr for registration.
        let labels = purpose == .browsing ? ["b", "db", "lb"] : ["r", "dr"]
        let names = labels.compactMap { label in
            DNSName(labels: [Array(label.utf8), Array("_dns-sd".utf8), Array("_udp".utf8)] + ServiceRecords.local)
        }
        let machine = PointerMachine<ServiceDomain>(names, initial: [.local]) { ServiceDomain(name: $0) }
        return DiscoveryFeed(try FeedRunner(machine, backend: try engine.backend(for: .local), interface: interface))
    }

    /// Begins a search.
    public func makeAsyncIterator() -> DiscoveryIterator<Element> {
        DiscoveryIterator(start)
    }
}
