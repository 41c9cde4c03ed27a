internal import EventLoops
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

    /// The number of dns_sd.h, if the daemon failed with one that has no ``code`` of its own. Replaces
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
        self.init(.system, detail: String(cString: strerror(number)), domain: .posix, number: Int(number))
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

extension ServiceDiscoveryError: CustomStringConvertible {
    /// One sentence that describes the failure, from ``ServiceDiscoverySentences``.
    public var description: String {
        ServiceDiscoverySentences.sentence(for: self)
    }
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

/// The messages of this package's errors. A program can replace them to translate them.
///
/// ```swift
/// ServiceDiscoverySentences.replace([.collision: "Den Namen {name} gibt es schon"])
/// ```
///
/// `{name}` stands for ``ServiceDiscoveryError/name`` and `{detail}` for ``ServiceDiscoveryError/detail``. A clause in
/// square brackets is omitted if the value in it is missing.
public enum ServiceDiscoverySentences {
    /// The English sentences.
    public static let english: [ServiceDiscoveryError.Code: String] = [
        .collision: "the name is taken by another service[: {name}]",
        .notFound: "no such service[: {name}]",
        .busy: "an operation is already under way[: {name}]",
        .invalidName: "not a valid service name[: {name}][ ({detail})]",
        .invalidType: "not a valid service type[: {name}][ ({detail})]",
        .invalidDomain: "not a valid domain[: {name}]",
        .invalidRecord: "not a valid TXT record[: {name}][ ({detail})]",
        .badArgument: "not a valid argument[: {name}][ ({detail})]",
        .cancelled: "the operation was cancelled[: {name}]",
        .invalidated: "the object was invalidated[: {name}]",
        .timedOut: "no answer in time[: {name}]",
        .unsupported: "the discovery engine does not support this[ for {name}][: {detail}]",
        .daemonUnavailable: "the discovery daemon is not running[: {detail}]",
        .daemonFailed: "the discovery daemon failed[ for {name}][: {detail}]",
        .limitReached: "a limit of the discovery engine is reached[: {detail}]",
        .lookupFailed: "the DNS lookup failed[ for {name}][: {detail}]",
        .system: "a system call failed[: {detail}]",
    ]

    private static let current = Locked(english)

    /// Replaces the sentences of the given codes, for the whole process.
    public static func replace(_ sentences: [ServiceDiscoveryError.Code: String]) {
        current.withLock { $0.merge(sentences) { $1 } }
    }

    static func sentence(for error: ServiceDiscoveryError) -> String {
        let template = current.withLock { $0[error.code] } ?? "\(error.code.rawValue)[: {name}][: {detail}]"
        var text = ""
        var rest = Substring(template)
        while let open = rest.firstIndex(of: "["), let close = rest[open...].firstIndex(of: "]") {
            text += rest[..<open]
            text += fill(rest[rest.index(after: open)..<close], from: error) ?? ""
            rest = rest[rest.index(after: close)...]
        }
        text += rest
        return text
    }

    /// The clause with its value inserted; nil if the error has no such value, or an empty one.
    private static func fill(_ clause: Substring, from error: ServiceDiscoveryError) -> String? {
        guard let open = clause.firstIndex(of: "{"), let close = clause[open...].firstIndex(of: "}") else {
            return String(clause)
        }
        let value =
            switch clause[clause.index(after: open)..<close] {
            case "name": error.name
            case "detail": error.detail
            default: nil as String?
            }
        return value.flatMap { $0.isEmpty ? nil : $0 }.map {
            clause[..<open] + printable($0) + clause[clause.index(after: close)...]
        }.map(String.init)
    }

    /// A safe form of a text that may come from the network: 300 characters at most, control characters replaced by `?`.
    private static func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(300).map {
                $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? "?" : Character($0)
            })
    }
}
