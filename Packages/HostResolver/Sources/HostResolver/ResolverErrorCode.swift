internal import Glibc

extension ResolverError {
    /// The kinds of failure. Open: a later version may add more, so end a `switch` with `default`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The value that tells it from the others.
        public let rawValue: String

        /// The value with this `rawValue`, known or not.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The name does not exist, or nothing at all is known of it.
        public static let hostNotFound = Code(rawValue: "hostNotFound")
        /// The name exists and has nothing of what was asked for (such as no address of the family).
        public static let noData = Code(rawValue: "noData")
        /// The system's resolver could not find out now and says that a later try may work.
        public static let temporaryFailure = Code(rawValue: "temporaryFailure")
        /// The servers answered that they failed, or refused.
        public static let serverFailed = Code(rawValue: "serverFailed")
        /// There is no server to ask.
        public static let noServers = Code(rawValue: "noServers")
        /// Nobody answered before the deadline or the configured number of tries.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The caller, or the task's cancellation, ended the lookup.
        public static let cancelled = Code(rawValue: "cancelled")
        /// Not a host's name: too long, empty labels, forbidden characters, or a disguised number.
        public static let invalidName = Code(rawValue: "invalidName")
        /// The name has non-ASCII letters and this machine has no libidn2 to convert it.
        public static let internationalNamesUnavailable = Code(rawValue: "internationalNamesUnavailable")
        /// Not an address: too short, too long, or of the wrong shape.
        public static let invalidAddress = Code(rawValue: "invalidAddress")
        /// An answer that breaks the protocol's rules or this package's limits.
        public static let malformedAnswer = Code(rawValue: "malformedAnswer")
        /// The limit of lookups that wait for a thread is reached, or the object is already at work.
        public static let busy = Code(rawValue: "busy")
        /// A system call failed; ``ResolverError/number`` is its `errno`.
        public static let system = Code(rawValue: "system")

        /// The `CFStreamError` that tells the same.
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
