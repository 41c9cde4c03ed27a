/// Who does the work: a daemon of the system, or this process itself.
///
/// ```swift
/// let browser = ServiceBrowser(try ServiceType("_http._tcp"), engine: .embedded)
/// ```
public struct DiscoveryEngine: Sendable {
    /// What an engine of this kind is made of, for one operation.
    private enum Kind: Sendable {
        case automatic(any DiscoveryBackend)
        case daemon
        case embedded(any DiscoveryBackend)
    }

    private let kind: Kind

    private init(kind: Kind) {
        self.kind = kind
    }

    /// An engine that looks in `local` only.
    init(_ backend: any DiscoveryBackend) {
        kind = .embedded(backend)
    }

    /// The best there is on this machine: each operation goes to the ``daemon`` if one answers and can serve it, else to
    /// ``embedded``. An operation that the daemon has begun fails with the daemon.
    public static let automatic = DiscoveryEngine(kind: .automatic(AutomaticEngine.shared))

    /// As ``automatic``, with an embedded engine made for the purpose.
    public static func automatic(or engine: EmbeddedEngine) -> DiscoveryEngine {
        DiscoveryEngine(kind: .automatic(AutomaticEngine(DaemonEngine.shared, or: engine)))
    }

    /// The system's daemon, through the library of `dns_sd.h` (`libdns_sd.so.1`: Avahi's, or mDNSResponder's), which is
    /// looked for when the program runs.
    ///
    /// Everything takes place in the daemon, which also serves other programs and keeps what it has heard. Where there is
    /// no daemon, operations fail with ``ServiceDiscoveryError/Code-swift.struct/daemonUnavailable``. Avahi's library lacks
    /// some things, which fail with ``ServiceDiscoveryError/Code-swift.struct/unsupported``: publishing without renaming,
    /// doubting (``ServiceResolver/reconfirm()``), domains other than `local`. Neither does it say what there is *not*, so
    /// that ``ResolvedService/isComplete`` stays false for a host of one address family; and each operation takes a
    /// connection to the system bus, of which a user has some 250
    /// (``ServiceDiscoveryError/Code-swift.struct/tooMuch`` beyond).
    public static let daemon = DiscoveryEngine(kind: .daemon)

    /// Multicast DNS in this process, on all interfaces.
    public static var embedded: DiscoveryEngine { .embedded(.shared) }

    /// Multicast DNS in this process, by an engine made for the purpose.
    public static func embedded(_ engine: EmbeddedEngine) -> DiscoveryEngine {
        DiscoveryEngine(engine)
    }

    /// What does the work in a domain.
    func backend(for domain: ServiceDomain) throws(ServiceDiscoveryError) -> any DiscoveryBackend {
        if case .daemon = kind { return DaemonEngine.shared }
        guard domain.isLocal else {
            throw ServiceDiscoveryError(.unsupported, name: domain.description, detail: "domains other than local.")
        }
        return switch kind {
        case .automatic(let engine): engine
        case .daemon: DaemonEngine.shared
        case .embedded(let engine): engine
        }
    }
}
