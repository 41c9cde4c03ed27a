extension ServiceDiscoveryError {
    /// The kinds of failure. Open: a later version may add more, so end a `switch` with `default`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The value that tells it from the others.
        public let rawValue: String

        /// The value with this `rawValue`, known or not.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Somebody else has the name, and automatic renaming was not wanted. `kCFNetServicesErrorCollision`.
        public static let collision = Code(rawValue: "collision")
        /// There is no such service. `kCFNetServicesErrorNotFound`.
        public static let notFound = Code(rawValue: "notFound")
        /// The object is at work already. `kCFNetServicesErrorInProgress`.
        public static let busy = Code(rawValue: "busy")
        /// The service's name is empty, too long, or has control characters. `kCFNetServicesErrorBadArgument`.
        public static let invalidName = Code(rawValue: "invalidName")
        /// The type is not of the form `_application._tcp`. `kCFNetServicesErrorBadArgument`.
        public static let invalidType = Code(rawValue: "invalidType")
        /// The domain is not a domain name. `kCFNetServicesErrorBadArgument`.
        public static let invalidDomain = Code(rawValue: "invalidDomain")
        /// A TXT record's key or value breaks the rules, or the record is too large. `kCFNetServicesErrorBadArgument`.
        public static let invalidRecord = Code(rawValue: "invalidRecord")
        /// An argument that is none of the former. `kCFNetServicesErrorBadArgument`.
        public static let badArgument = Code(rawValue: "badArgument")
        /// The caller, or the task's cancellation, ended the operation. `kCFNetServicesErrorCancel`.
        public static let cancelled = Code(rawValue: "cancelled")
        /// Used after it was invalidated. `kCFNetServicesErrorInvalid`.
        public static let invalidated = Code(rawValue: "invalidated")
        /// Nothing came before the deadline. `kCFNetServicesErrorTimeout`.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The chosen engine cannot do this; ``ServiceDiscoveryError/detail`` says what. `kCFNetServicesErrorUnknown`.
        public static let unsupported = Code(rawValue: "unsupported")
        /// The discovery daemon does not run or does not answer. `kCFNetServicesErrorUnknown`.
        public static let daemonUnavailable = Code(rawValue: "daemonUnavailable")
        /// The discovery daemon failed with a number of its own. `kCFNetServiceErrorDNSServiceFailure`.
        public static let daemonFailed = Code(rawValue: "daemonFailed")
        /// A limit of ``EngineLimits`` is reached. `kCFNetServicesErrorUnknown`.
        public static let tooMuch = Code(rawValue: "tooMuch")
        /// The DNS could not be asked, or answered with an error. `kCFNetServicesErrorUnknown`.
        public static let lookupFailed = Code(rawValue: "lookupFailed")
        /// A system call failed; ``ServiceDiscoveryError/number`` is its `errno`.
        public static let system = Code(rawValue: "system")

        /// The number that CFNetServices has for it.
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
