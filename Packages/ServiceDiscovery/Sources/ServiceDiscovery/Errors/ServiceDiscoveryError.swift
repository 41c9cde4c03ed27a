/// Why a service could not be published, found or resolved. Switch on ``code``; print the error for the whole story.
///
/// ```swift
/// do throws(ServiceDiscoveryError) {
///     let type = try ServiceType("http")
/// } catch {
///     print(error)        // "not a valid service type: http (it must begin with an underscore, as in _http._tcp)"
/// }
/// ```
///
/// ``domain`` and ``number`` are the pair that CFNetServices reports in a `CFStreamError`.
public struct ServiceDiscoveryError: Error, Hashable, Sendable {
    /// What went wrong.
    public let code: Code
    /// The name or type that it is about, as far as there is one.
    public let name: String?
    /// The words of the layer below, or the rule that was broken; nil if there is nothing to add.
    public let detail: String?
    /// Where ``number`` comes from.
    public let domain: Domain
    /// The error's number in ``domain``: CFNetwork's, or this machine's `errno` for ``Domain/posix``.
    public let number: Int

    /// The number of dns_sd.h, where the daemon failed with one that has no better name here. Replaces
    /// `kCFDNSServiceFailureKey`.
    public let daemonNumber: Int?

    /// Makes an error whose domain and number are those that belong to `code`.
    public init(_ code: Code, name: String? = nil, detail: String? = nil, daemonNumber: Int? = nil) {
        self.init(
            code, name: name, detail: detail, domain: .netServices, number: code.number, daemonNumber: daemonNumber)
    }

    /// Makes an error with a domain and number of its own.
    public init(
        _ code: Code, name: String? = nil, detail: String? = nil, domain: Domain, number: Int, daemonNumber: Int? = nil
    ) {
        self.daemonNumber = daemonNumber
        self.code = code
        self.name = name
        self.detail = detail
        self.domain = domain
        self.number = number
    }
}

extension ServiceDiscoveryError {
    /// The space that a ``ServiceDiscoveryError/number`` belongs to. Replaces `CFStreamErrorDomain`.
    public struct Domain: RawRepresentable, Hashable, Sendable {
        /// The value that tells it from the others.
        public let rawValue: Int

        /// The value with this `rawValue`, known or not.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// `errno` values. Replaces `kCFStreamErrorDomainPOSIX`.
        public static let posix = Domain(rawValue: 1)
        /// The numbers of CFNetServices. Replaces `kCFStreamErrorDomainNetServices`.
        public static let netServices = Domain(rawValue: 10)
    }
}

extension ServiceDiscoveryError: CustomStringConvertible {
    /// One sentence for people, from the ``ServiceDiscoverySentences`` in force.
    public var description: String {
        ServiceDiscoverySentences.sentence(for: self)
    }
}
