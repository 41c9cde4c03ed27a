/// Who does the work: a daemon of the system, or this process itself.
///
/// ```swift
/// let browser = ServiceBrowser(try ServiceType("_http._tcp"), engine: .embedded)
/// ```
public struct DiscoveryEngine: Sendable {
    /// What an engine of this kind is made of, for one operation.
    private enum Kind: Sendable {
        case automatic
        case embedded(EmbeddedEngine)
    }

    private let kind: Kind

    /// The best there is on this machine: at present always ``embedded``.
    public static let automatic = DiscoveryEngine(kind: .automatic)

    /// Multicast DNS in this process, on all interfaces.
    public static var embedded: DiscoveryEngine { .embedded(.shared) }

    /// Multicast DNS in this process, by an engine made for the purpose.
    public static func embedded(_ engine: EmbeddedEngine) -> DiscoveryEngine {
        DiscoveryEngine(kind: .embedded(engine))
    }

    /// What does the work in a domain.
    func backend(for domain: ServiceDomain) throws(ServiceDiscoveryError) -> any DiscoveryBackend {
        guard domain.isLocal else {
            throw ServiceDiscoveryError(.unsupported, name: domain.description, detail: "domains other than local.")
        }
        return switch kind {
        case .automatic: EmbeddedEngine.shared
        case .embedded(let engine): engine
        }
    }
}
