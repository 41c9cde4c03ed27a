internal import Glibc

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
        /// A system call failed; ``ResolverError/number`` is its `errno`.
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
