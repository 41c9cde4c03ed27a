@_spi(Packages) public import EventLoops
internal import Glibc

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
    /// The text of ``sentence``.
    public var description: String { sentence.description }
}

extension ResolverError {
    /// The message, which a program can translate: its key is `resolver.` and the code, such as `resolver.hostNotFound`; its
    /// arguments are ``name`` and ``detail``.
    public var sentence: Sentence {
        let template = Self.templates[code] ?? "\(code.rawValue)[: %1][: %2]"
        return Sentence("resolver.\(code.rawValue)", template, name, detail)
    }

    private static let templates: [Code: String] = [
        .hostNotFound: "no such host[: %1]",
        .noData: "the name exists, but has no record of the requested type[: %1]",
        .temporaryFailure: "no usable answer from the name servers[ for %1][ (%2)]",
        .serverFailed: "the name servers failed[ to resolve %1][: %2]",
        .noServers: "no name server is configured[ to look up %1]",
        .timedOut: "the lookup timed out[: %1]",
        .cancelled: "the lookup was cancelled[: %1]",
        .invalidName: "not a valid host name[: %1][ (%2)]",
        .internationalNamesUnavailable:
            "host names with non-ASCII letters require libidn2, which is not installed[: %1]",
        .invalidAddress: "not a valid address[: %1]",
        .malformedAnswer: "malformed DNS message[ for %1][: %2]",
        .busy: "the lookup cannot start now[: %2]",
        .system: "a system call failed[ for %1][: %2]",
    ]
}

extension ResolverError {
    /// The kinds of failure. Open: a later version may add more, so end a `switch` with `default`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's name, such as `hostNotFound`.
        public let rawValue: String

        /// Creates a code with the given name, which need not be a known one.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name does not exist, or the resolver knows nothing about it.
        public static let hostNotFound = Code(rawValue: "hostNotFound")
        /// The name exists, but has no data of the requested type, such as no address of the requested family.
        public static let noData = Code(rawValue: "noData")
        /// No server gave a usable answer; a later attempt may succeed.
        public static let temporaryFailure = Code(rawValue: "temporaryFailure")
        /// The servers reported a failure, or refused to answer.
        public static let serverFailed = Code(rawValue: "serverFailed")
        /// No name server is configured.
        public static let noServers = Code(rawValue: "noServers")
        /// No answer arrived before the deadline, or within the configured number of attempts.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The caller cancelled the lookup, or the task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// Not a valid host name: too long, empty labels, forbidden characters, or a number in disguise such as
        /// `0x7f.1`.
        public static let invalidName = Code(rawValue: "invalidName")
        /// The name has non-ASCII letters, and libidn2, which converts them, is not installed.
        public static let internationalNamesUnavailable = Code(rawValue: "internationalNamesUnavailable")
        /// Not a valid address: too short, too long, or malformed.
        public static let invalidAddress = Code(rawValue: "invalidAddress")
        /// An answer that violates the protocol or exceeds this package's limits.
        public static let malformedAnswer = Code(rawValue: "malformedAnswer")
        /// Too many lookups are already waiting for a thread, or the object already runs a lookup.
        public static let busy = Code(rawValue: "busy")
        /// A call of the system or of the C library failed; ``ResolverError/domain`` and ``ResolverError/number``
        /// identify its error.
        public static let system = Code(rawValue: "system")

        /// The equivalent `CFStreamError`.
        var streamError: (domain: Domain, number: Int) {
            switch self {
            case .hostNotFound, .invalidName, .internationalNamesUnavailable: (.netDB, DarwinAddressInfoError.noName)
            case .noData: (.netDB, DarwinAddressInfoError.noData)
            case .temporaryFailure, .noServers: (.netDB, DarwinAddressInfoError.again)
            case .serverFailed, .malformedAnswer: (.netDB, DarwinAddressInfoError.fail)
            case .timedOut: (.posix, Int(ETIMEDOUT))
            case .cancelled: (.posix, Int(ECANCELED))
            case .invalidAddress: (.posix, Int(EINVAL))
            case .busy: (.posix, Int(EBUSY))
            default: (.posix, Int(EIO))
            }
        }
    }
}

/// The result of querying one name server. The outcomes of a lookup show which server failed, and how.
public struct ServerOutcome: Hashable, Sendable {
    /// The server that was queried.
    public let server: SocketAddress
    /// The result of the query.
    public let result: Result
    /// The time from sending the query to the answer, or to giving up.
    public let elapsed: Duration

    /// Creates an outcome.
    @_spi(Packages) public init(server: SocketAddress, result: Result, elapsed: Duration) {
        self.server = server
        self.result = result
        self.elapsed = elapsed
    }

    /// The kinds of results. Open: a later version may add more, so end a `switch` with `default`.
    public struct Result: RawRepresentable, Hashable, Sendable {
        /// The result's name, such as `timed out`.
        public let rawValue: String

        /// Creates a result with the given name, which need not be a known one.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The server answered, perhaps that the name does not exist.
        public static let answered = Result(rawValue: "answered")
        /// No answer arrived in time.
        public static let timedOut = Result(rawValue: "timed out")
        /// SERVFAIL: the server could not resolve the name.
        public static let serverFailure = Result(rawValue: "SERVFAIL")
        /// REFUSED: the server's policy forbids the query, or the server neither owns the name nor recurses.
        public static let refused = Result(rawValue: "REFUSED")
        /// NOTIMP, FORMERR or an unknown response code: the server does not understand the query, even without EDNS.
        public static let notUnderstood = Result(rawValue: "not understood")
        /// The answer cannot be parsed.
        public static let malformed = Result(rawValue: "malformed")
        /// No server listens at the address, or there is no route to it.
        public static let unreachable = Result(rawValue: "unreachable")
        /// The TCP connection to the server failed, for example after a truncated UDP answer.
        public static let connectionFailed = Result(rawValue: "TCP failed")
    }
}

extension ResolverError {
    /// Creates an error from the result of `getaddrinfo`, which must not be 0.
    ///
    /// glibc's numbers are literals here, because Swift's Glibc module omits the GNU extensions. `EAI_SYSTEM` (-11)
    /// becomes `errno`.
    init(addressInfoFailure failure: CInt, errno: CInt, name: String) {
        if failure == -11 {
            self.init(errno: errno, name: name)
            return
        }
        let (code, number): (Code, Int) =
            switch failure {
            case -1: (.system, DarwinAddressInfoError.badFlags)
            case -2: (.hostNotFound, DarwinAddressInfoError.noName)
            case -3: (.temporaryFailure, DarwinAddressInfoError.again)
            case -4: (.serverFailed, DarwinAddressInfoError.fail)
            case -5: (.noData, DarwinAddressInfoError.noData)
            case -6: (.system, DarwinAddressInfoError.family)
            case -7: (.system, DarwinAddressInfoError.socketType)
            case -8: (.system, DarwinAddressInfoError.service)
            case -9: (.noData, DarwinAddressInfoError.addressFamily)
            case -10: (.system, DarwinAddressInfoError.memory)
            case -12: (.system, DarwinAddressInfoError.overflow)
            case -105: (.invalidName, DarwinAddressInfoError.noName)
            default: (.system, DarwinAddressInfoError.fail)
            }
        let words = String(cString: gai_strerror(failure))
        self.init(code, name: name, detail: words, domain: .netDB, number: number)
    }

    /// Creates an error for a system call that failed with `errno`.
    init(errno: CInt, name: String? = nil) {
        self.init(.system, name: name, detail: SystemCall.text(of: errno), domain: .posix, number: Int(errno))
    }

    /// Creates an error for a wait that ended without its answer.
    init(wait error: WaitError, name: String? = nil) {
        switch error {
        case .cancelled: self.init(.cancelled, name: name)
        case .timedOut: self.init(.timedOut, name: name)
        case .failed(let number): self.init(errno: number, name: name)
        case .busy, .closed: self.init(.busy, name: name)
        @unknown default: self.init(.busy, name: name)
        }
    }
}

/// The `EAI_` numbers of Darwin's `netdb.h`. Code written for CFHost compares with these; Linux numbers them
/// differently.
private enum DarwinAddressInfoError {
    static let addressFamily = 1
    static let again = 2
    static let badFlags = 3
    static let fail = 4
    static let family = 5
    static let memory = 6
    static let noData = 7
    static let noName = 8
    static let service = 9
    static let socketType = 10
    static let system = 11
    static let overflow = 14
}
