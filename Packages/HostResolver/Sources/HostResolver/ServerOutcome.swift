/// The result of querying one name server. The outcomes of a lookup show which server failed, and how.
public struct ServerOutcome: Hashable, Sendable {
    /// The server that was queried.
    public let server: SocketAddress
    /// The result of the query.
    public let result: Result
    /// The time from sending the query to the answer, or to giving up.
    public let elapsed: Duration

    /// Creates an outcome.
    public init(server: SocketAddress, result: Result, elapsed: Duration) {
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
