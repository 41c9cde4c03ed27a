/// Who does the work: a daemon of the system, or this process itself.
///
/// That is so in `local`. Services of other domains are found by asking name servers, whichever of the two does the rest (but
/// see ``daemon``); publishing there fails with ``ServiceDiscoveryError/Code-swift.struct/unsupported``, as a zone is its
/// administrator's.
///
/// ```swift
/// let browser = ServiceBrowser(try ServiceType("_http._tcp"), engine: .embedded)
/// ```
public struct DiscoveryEngine: Sendable {
    /// What every operation goes to.
    let backend: any DiscoveryBackend
    /// Who looks in `local`; nil if one and the same does in all domains.
    private let local: (any DiscoveryBackend)?
    private let configuration: ResolverConfiguration?

    /// Whose lists of domains count, beside those of `local`.
    var searchDomains: [ServiceDomain] {
        local == nil ? [] : (configuration ?? .system).search.map(ServiceDomain.init(name:))
    }

    /// - Parameters:
    ///   - local: who looks in `local`.
    ///   - configuration: how name servers are asked for the rest; nil for what `/etc/resolv.conf` says.
    init(_ local: any DiscoveryBackend, configuration: ResolverConfiguration?) {
        self.local = local
        self.configuration = configuration
        let wideArea = configuration.map { WideAreaEngine(WireResolver(configuration: $0)) } ?? .shared
        backend = DomainRoutes(local: local, wideArea: wideArea)
    }

    /// - Parameter backend: who looks everywhere.
    private init(everywhere backend: any DiscoveryBackend) {
        self.backend = backend
        (local, configuration) = (nil, nil)
    }

    /// The best there is on this machine: each operation goes to the ``daemon`` if one answers and can serve it, else to
    /// ``embedded``. An operation that the daemon has begun fails with the daemon.
    public static let automatic = DiscoveryEngine(AutomaticEngine.shared, configuration: nil)

    /// As ``automatic``, with an embedded engine made for the purpose.
    public static func automatic(or engine: EmbeddedEngine) -> DiscoveryEngine {
        DiscoveryEngine(AutomaticEngine(DaemonEngine.shared, or: engine), configuration: nil)
    }

    /// The system's daemon, through the library of `dns_sd.h` (`libdns_sd.so.1`: Avahi's, or mDNSResponder's), which is
    /// looked for when the program runs.
    ///
    /// Everything takes place in the daemon, which also serves other programs and keeps what it has heard. Where there is
    /// no daemon, operations fail with ``ServiceDiscoveryError/Code-swift.struct/daemonUnavailable``. Avahi's library lacks
    /// some things, which fail with ``ServiceDiscoveryError/Code-swift.struct/unsupported``: publishing without renaming,
    /// doubting (``ServiceResolver/reconfirm()``), domains other than `local`; ``automatic`` finds a way for all three. Neither
    /// does it say what there is *not*, so that ``ResolvedService/isComplete`` stays false for a host of one address family; and
    /// each operation takes a connection to the system bus, of which a user has some 250
    /// (``ServiceDiscoveryError/Code-swift.struct/tooMuch`` beyond).
    public static let daemon = DiscoveryEngine(everywhere: DaemonEngine.shared)

    /// Multicast DNS in this process, on all interfaces.
    public static var embedded: DiscoveryEngine { .embedded(.shared) }

    /// Multicast DNS in this process, by an engine made for the purpose.
    public static func embedded(_ engine: EmbeddedEngine) -> DiscoveryEngine {
        DiscoveryEngine(engine, configuration: nil)
    }

    /// The same engine, but for domains other than `local`: it asks the name servers of `configuration` about them, rather than
    /// those of `/etc/resolv.conf`, and reads the lists of domains of its search list.
    ///
    /// ```swift
    /// let server = ResolverConfiguration(servers: [SocketAddress("192.0.2.53:53")!])
    /// let browser = ServiceBrowser(type, domain: try ServiceDomain("example.org"), engine: .automatic.asking(server))
    /// ```
    ///
    /// Without effect on ``daemon``, which has a configuration of its own.
    public func asking(_ configuration: ResolverConfiguration) -> DiscoveryEngine {
        local.map { DiscoveryEngine($0, configuration: configuration) } ?? self
    }
}
