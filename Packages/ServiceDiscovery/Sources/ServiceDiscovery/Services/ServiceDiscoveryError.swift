@_spi(Packages) public import EventLoops
internal import Glibc

/// The error of this module. Switch over ``code``; print the error for a complete sentence.
///
/// ```swift
/// do throws(ServiceDiscoveryError) {
///     let type = try ServiceType("http")
/// } catch {
///     print(error)        // "not a valid service type: http (it must begin with an underscore, as in _http._tcp)"
/// }
/// ```
///
/// ``domain`` and ``number`` are the values that CFNetServices reports in a `CFStreamError`.
public struct ServiceDiscoveryError: Error, Hashable, Sendable {
    /// The kind of failure.
    public let code: Code
    /// The name or type that the error concerns, if any.
    public let name: String?
    /// A message of the layer below, or the broken rule; nil if there is nothing to add.
    public let detail: String?
    /// The domain of ``number``.
    public let domain: Domain
    /// The error's number in ``domain``: that of CFNetwork, or `errno` for ``Domain/posix``.
    public let number: Int

    /// The number of dns_sd.h, if the daemon failed with one that has no ``code`` of its own, or refused an argument. Replaces
    /// `kCFDNSServiceFailureKey`.
    public let daemonNumber: Int?

    /// Creates an error with the domain and number that belong to `code`.
    public init(_ code: Code, name: String? = nil, detail: String? = nil, daemonNumber: Int? = nil) {
        self.init(
            code, name: name, detail: detail, domain: .netServices, number: code.number, daemonNumber: daemonNumber)
    }

    /// Creates an error with the given domain and number.
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

    /// Creates an error for a failed system call.
    init(errno number: CInt) {
        self.init(.system, detail: SystemCall.text(of: number), domain: .posix, number: Int(number))
    }

    /// Creates an error for a wait that ended without its element.
    init(wait error: WaitError) {
        switch error {
        case .cancelled: self.init(.cancelled)
        case .timedOut: self.init(.timedOut)
        case .failed(let number): self.init(errno: number)
        case .busy, .closed: self.init(.busy)
        @unknown default: self.init(.busy)
        }
    }
}

extension ServiceDiscoveryError {
    /// The domain of a ``ServiceDiscoveryError/number``. Replaces `CFStreamErrorDomain`.
    public struct Domain: RawRepresentable, Hashable, Sendable {
        /// The value of the domain.
        public let rawValue: Int

        /// Creates a domain, known or unknown.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The domain of `errno` values. Replaces `kCFStreamErrorDomainPOSIX`.
        public static let posix = Domain(rawValue: 1)
        /// The domain of CFNetServices. Replaces `kCFStreamErrorDomainNetServices`.
        public static let netServices = Domain(rawValue: 10)
    }
}

extension ServiceDiscoveryError {
    /// Whether the process or the system has no descriptors or no memory left.
    package var isScarcity: Bool {
        code == .system && [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(CInt(truncatingIfNeeded: number))
    }
}

extension ServiceDiscoveryError: CustomStringConvertible {
    /// The text of ``sentence``.
    public var description: String { sentence.description }
}

extension ServiceDiscoveryError {
    /// The kinds of failure. Later versions may add more, so end a `switch` with `default`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The value of the code.
        public let rawValue: String

        /// Creates a code, known or unknown.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Another service has the name, and renaming is off. `kCFNetServicesErrorCollision`.
        public static let collision = Code(rawValue: "collision")
        /// The service does not exist. `kCFNetServicesErrorNotFound`.
        public static let notFound = Code(rawValue: "notFound")
        /// Another operation of the object is running. `kCFNetServicesErrorInProgress`.
        public static let busy = Code(rawValue: "busy")
        /// The service's name is empty, too long, or has control characters. `kCFNetServicesErrorBadArgument`.
        public static let invalidName = Code(rawValue: "invalidName")
        /// The type does not have the form `_application._tcp`. `kCFNetServicesErrorBadArgument`.
        public static let invalidType = Code(rawValue: "invalidType")
        /// The domain is not a domain name. `kCFNetServicesErrorBadArgument`.
        public static let invalidDomain = Code(rawValue: "invalidDomain")
        /// A key or value of a TXT record breaks the rules, or the record is too large.
        /// `kCFNetServicesErrorBadArgument`.
        public static let invalidRecord = Code(rawValue: "invalidRecord")
        /// Another argument is invalid. `kCFNetServicesErrorBadArgument`.
        public static let badArgument = Code(rawValue: "badArgument")
        /// The operation was ended by the caller, or its task was cancelled. `kCFNetServicesErrorCancel`.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The object was used after it was invalidated. `kCFNetServicesErrorInvalid`.
        public static let invalidated = Code(rawValue: "invalidated")
        /// The deadline passed without a result. `kCFNetServicesErrorTimeout`.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The engine does not support the operation; ``ServiceDiscoveryError/detail`` names it.
        /// `kCFNetServicesErrorUnknown`.
        public static let unsupported = Code(rawValue: "unsupported")
        /// The discovery daemon is not running or does not answer. `kCFNetServicesErrorUnknown`.
        public static let daemonUnavailable = Code(rawValue: "daemonUnavailable")
        /// The discovery daemon failed with a number of its own. `kCFNetServiceErrorDNSServiceFailure`.
        public static let daemonFailed = Code(rawValue: "daemonFailed")
        /// A limit of ``EngineLimits`` was reached. `kCFNetServicesErrorUnknown`.
        public static let limitReached = Code(rawValue: "limitReached")
        /// A DNS lookup failed. `kCFNetServicesErrorUnknown`.
        public static let lookupFailed = Code(rawValue: "lookupFailed")
        /// A system call failed; ``ServiceDiscoveryError/number`` is its `errno`.
        public static let system = Code(rawValue: "system")

        /// The number in CFNetServices.
        var number: Int {
            switch self {
            case .collision: -72001
            case .notFound: -72002
            case .busy: -72003
            case .invalidName, .invalidType, .invalidDomain, .invalidRecord, .badArgument: -72004
            case .cancelled: -72005
            case .invalidated: -72006
            case .timedOut: -72007
            case .daemonFailed: -73000
            default: -72000
            }
        }
    }
}

extension ServiceDiscoveryError {
    /// The message, which a program can translate: its key is `discovery.` and the code, such as `discovery.collision`; its
    /// arguments are ``name`` and ``detail``.
    public var sentence: Sentence {
        let template = Self.templates[code] ?? "\(code.rawValue)[: %1][: %2]"
        return Sentence("discovery.\(code.rawValue)", template, name, detail)
    }

    private static let templates: [Code: String] = [
        .collision: "the name is taken by another service[: %1]",
        .notFound: "no such service[: %1]",
        .busy: "an operation is already under way[: %1]",
        .invalidName: "not a valid service name[: %1][ (%2)]",
        .invalidType: "not a valid service type[: %1][ (%2)]",
        .invalidDomain: "not a valid domain[: %1]",
        .invalidRecord: "not a valid TXT record[: %1][ (%2)]",
        .badArgument: "not a valid argument[: %1][ (%2)]",
        .cancelled: "the operation was cancelled[: %1]",
        .invalidated: "the object was invalidated[: %1]",
        .timedOut: "no answer in time[: %1]",
        .unsupported: "the discovery engine does not support this[ for %1][: %2]",
        .daemonUnavailable: "the discovery daemon is not running[: %2]",
        .daemonFailed: "the discovery daemon failed[ for %1][: %2]",
        .limitReached: "a limit of the discovery engine is reached[: %2]",
        .lookupFailed: "the DNS lookup failed[ for %1][: %2]",
        .system: "a system call failed[: %2]",
    ]
}
