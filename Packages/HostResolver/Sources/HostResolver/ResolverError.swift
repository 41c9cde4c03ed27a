/// Why a lookup, an address or a name was refused. Switch on ``code``; print the error for the whole story.
///
/// ```swift
/// do throws(ResolverError) {
///     let addresses = try await SystemResolver.shared.addresses(of: "www.example.org")
/// } catch where error.code == .hostNotFound {
///     print("no such host")
/// } catch {
///     print(error)              // "the lookup timed out: www.example.org"
/// }
/// ```
///
/// ``domain`` and ``number`` are the pair that CFHost reports in a `CFStreamError`.
public struct ResolverError: Error, Hashable, Sendable {
    /// What went wrong.
    public let code: Code
    /// The name or address that was asked for, as far as there is one.
    public let name: String?
    /// The words or numbers of the layer below, for people; nil if there is nothing to add.
    public let detail: String?
    /// Where ``number`` comes from.
    public let domain: Domain
    /// The error's number in ``domain``, as CFNetwork numbers it (Darwin's for ``Domain/netDB``, this machine's `errno`
    /// for ``Domain/posix``).
    public let number: Int
    /// How each server failed, in the order asked; only from a ``WireResolver``.
    public let servers: [ServerOutcome]

    /// Makes an error whose domain and number are those that belong to `code`.
    public init(_ code: Code, name: String? = nil, detail: String? = nil, servers: [ServerOutcome] = []) {
        let (domain, number) = code.streamError
        self.init(code, name: name, detail: detail, domain: domain, number: number, servers: servers)
    }

    /// Makes an error with a domain and number of its own.
    public init(
        _ code: Code, name: String? = nil, detail: String? = nil, domain: Domain, number: Int,
        servers: [ServerOutcome] = []
    ) {
        self.code = code
        self.name = name
        self.detail = detail
        self.domain = domain
        self.number = number
        self.servers = servers
    }

    /// The code in the `CFError` form: 1 where the host was not found, else 2.
    ///
    /// Replaces `kCFHostErrorHostNotFound` and `kCFHostErrorUnknown`; ``number`` replaces `kCFGetAddrInfoFailureKey`.
    public var hostErrorCode: Int {
        code == .hostNotFound || code == .noData ? 1 : 2
    }

    /// The same failure, told about `name`.
    func about(_ name: String) -> ResolverError {
        ResolverError(code, name: name, detail: detail, domain: domain, number: number, servers: servers)
    }
}

extension ResolverError {
    /// The space that a ``ResolverError/number`` belongs to. Replaces `CFStreamErrorDomain`.
    public struct Domain: RawRepresentable, Hashable, Sendable {
        /// The value that tells it from the others.
        public let rawValue: Int

        /// The value with this `rawValue`, known or not.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// `errno` values. Replaces `kCFStreamErrorDomainPOSIX`.
        public static let posix = Domain(rawValue: 1)
        /// `EAI_` values with Darwin's numbers. Replaces `kCFStreamErrorDomainNetDB`.
        public static let netDB = Domain(rawValue: 12)
        /// Failures to learn reachability. Replaces `kCFStreamErrorDomainSystemConfiguration`.
        public static let systemConfiguration = Domain(rawValue: 13)
    }
}

extension ResolverError: CustomStringConvertible {
    /// One sentence for people, from the ``ResolverSentences`` in force.
    public var description: String {
        ResolverSentences.sentence(for: self)
    }
}
