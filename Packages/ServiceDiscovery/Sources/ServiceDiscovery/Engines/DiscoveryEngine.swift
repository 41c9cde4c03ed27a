internal import DNSWire
internal import HostResolver

/// The engine that performs searches and publications in `local`: a system daemon, or this process.
///
/// ```swift
/// let browser = ServiceBrowser(try ServiceType("_http._tcp"), engine: .embedded)
/// ```
///
/// In other domains, name servers are queried with either engine (but see ``daemon``). Publishing there fails with
/// ``ServiceDiscoveryError/Code-swift.struct/unsupported``, because only the administrator of a DNS zone can change it.
public struct DiscoveryEngine: Sendable {
    /// The engine that performs every operation.
    let engine: any RecordEngine
    /// The engine for `local`; nil if one engine serves all domains.
    private let local: (any RecordEngine)?
    private let configuration: ResolverConfiguration?

    /// The domains whose lists of browsing domains are read, in addition to those of `local`.
    var searchDomains: [ServiceDomain] {
        local == nil ? [] : (configuration ?? .system).search.map(ServiceDomain.init(name:))
    }

    /// - Parameters:
    ///   - local: the engine for `local`.
    ///   - configuration: the name servers for other domains; nil for those of `/etc/resolv.conf`.
    init(_ local: any RecordEngine, configuration: ResolverConfiguration?) {
        self.local = local
        self.configuration = configuration
        let wideArea = configuration.map { WideAreaEngine(WireResolver(configuration: $0)) } ?? .shared
        engine = DomainRouter(local: local, wideArea: wideArea)
    }

    /// - Parameter engine: the engine for all domains.
    private init(everywhere engine: any RecordEngine) {
        self.engine = engine
        (local, configuration) = (nil, nil)
    }

    /// The best engine on this machine: ``daemon`` for each operation that it can perform, otherwise ``embedded``. An
    /// operation that the daemon has begun fails if the daemon fails.
    public static let automatic = DiscoveryEngine(AutomaticEngine.shared, configuration: nil)

    /// The same as ``automatic``, with the given embedded engine as fallback.
    public static func automatic(fallback engine: EmbeddedEngine) -> DiscoveryEngine {
        DiscoveryEngine(AutomaticEngine(DaemonEngine.shared, or: engine), configuration: nil)
    }

    /// The system's daemon, through the library of `dns_sd.h` (`libdns_sd.so.1` of Avahi or mDNSResponder), which is
    /// loaded at run time.
    ///
    /// The daemon serves all programs and shares its cache between them. Without a daemon, operations fail with
    /// ``ServiceDiscoveryError/Code-swift.struct/daemonUnavailable``.
    ///
    /// Avahi's library does not support publishing without renaming, ``ServiceResolver/reconfirm()``, and domains other
    /// than `local`. These fail with ``ServiceDiscoveryError/Code-swift.struct/unsupported``; ``automatic`` supports
    /// all three. Avahi's library also does not report which records do *not* exist, so ``ResolvedService/isComplete``
    /// stays false for a host with addresses of one family. Each operation uses a connection to the system bus, of
    /// which a user has about 250; further operations fail with ``ServiceDiscoveryError/Code-swift.struct/limitReached``.
    public static let daemon = DiscoveryEngine(everywhere: DaemonEngine.shared)

    /// Multicast DNS in this process, on all interfaces.
    public static var embedded: DiscoveryEngine { .embedded(.shared) }

    /// Multicast DNS in this process, by the given engine.
    public static func embedded(_ engine: EmbeddedEngine) -> DiscoveryEngine {
        DiscoveryEngine(engine, configuration: nil)
    }

    /// The same engine with other name servers for domains other than `local`: those of `configuration` instead of
    /// those of `/etc/resolv.conf`. Lists of browsing domains are read in its search domains.
    ///
    /// ```swift
    /// let server = ResolverConfiguration(servers: [SocketAddress("192.0.2.53:53")!])
    /// let browser = ServiceBrowser(type, domain: try ServiceDomain("example.org"), engine: .automatic.usingNameServers(of: server))
    /// ```
    ///
    /// Has no effect on ``daemon``, which has its own configuration.
    public func usingNameServers(of configuration: ResolverConfiguration) -> DiscoveryEngine {
        local.map { DiscoveryEngine($0, configuration: configuration) } ?? self
    }
}
