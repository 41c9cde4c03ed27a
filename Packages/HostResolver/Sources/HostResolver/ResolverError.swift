/// A failed lookup, or an invalid address or name. Switch on ``code``; print the error for a complete message.
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
    /// The kind of failure.
    public let code: Code
    /// The name or address that was looked up; nil if the failure concerns neither.
    public let name: String?
    /// Additional text for people, often the message of the layer below; nil if there is nothing to add.
    public let detail: String?
    /// The error domain of ``number``.
    public let domain: Domain
    /// The error's number in ``domain``: Darwin's `EAI_` number for ``Domain/netDB``, this machine's `errno` for
    /// ``Domain/posix``, as CFNetwork reports them.
    public let number: Int
    /// The outcome of each server, in the order of the queries. Only a ``WireResolver`` reports it.
    public let servers: [ServerOutcome]

    /// Creates an error with the domain and number that correspond to `code`.
    public init(_ code: Code, name: String? = nil, detail: String? = nil, servers: [ServerOutcome] = []) {
        let (domain, number) = code.streamError
        self.init(code, name: name, detail: detail, domain: domain, number: number, servers: servers)
    }

    /// Creates an error with the given domain and number.
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

    /// The code of the equivalent `CFError`: 1 if the host was not found or has no data, otherwise 2.
    ///
    /// Replaces `kCFHostErrorHostNotFound` and `kCFHostErrorUnknown`; ``number`` replaces `kCFGetAddrInfoFailureKey`.
    public var hostErrorCode: Int {
        code == .hostNotFound || code == .noData ? 1 : 2
    }

    /// The same failure, with `name` as the name that was looked up.
    func about(_ name: String) -> ResolverError {
        ResolverError(code, name: name, detail: detail, domain: domain, number: number, servers: servers)
    }
}

extension ResolverError {
    /// The error domain that a ``ResolverError/number`` belongs to. Replaces `CFStreamErrorDomain`.
    public struct Domain: RawRepresentable, Hashable, Sendable {
        /// The domain's number in CFNetwork.
        public let rawValue: Int

        /// Creates a domain with the given number, which need not be a known one.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// `errno` values. Replaces `kCFStreamErrorDomainPOSIX`.
        public static let posix = Domain(rawValue: 1)
        /// `EAI_` values with Darwin's numbers. Replaces `kCFStreamErrorDomainNetDB`.
        public static let netDB = Domain(rawValue: 12)
        /// Failures to determine reachability. Replaces `kCFStreamErrorDomainSystemConfiguration`.
        public static let systemConfiguration = Domain(rawValue: 13)
    }
}

extension ResolverError: CustomStringConvertible {
    /// One sentence for people, from the current ``ResolverSentences``.
    public var description: String {
        ResolverSentences.sentence(for: self)
    }
}
