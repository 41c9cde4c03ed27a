/// What one name server did with a query: the evidence for "which server failed, and how".
public struct ServerOutcome: Hashable, Sendable {
    /// The server that was asked.
    public let server: SocketAddress
    /// What came of it.
    public let result: Result
    /// From sending to the answer or to giving up.
    public let elapsed: Duration

    /// Makes an outcome.
    public init(server: SocketAddress, result: Result, elapsed: Duration) {
        self.server = server
        self.result = result
        self.elapsed = elapsed
    }

    /// What a server did. Open: a later version may add more, so end a `switch` with `default`.
    public struct Result: RawRepresentable, Hashable, Sendable {
        /// The value that tells it from the others.
        public let rawValue: String

        /// The value with this `rawValue`, known or not.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// An answer that was used, be it "no such name".
        public static let answered = Result(rawValue: "answered")
        /// Nothing came in time.
        public static let timedOut = Result(rawValue: "timed out")
        /// SERVFAIL: the server could not find out.
        public static let serverFailure = Result(rawValue: "SERVFAIL")
        /// REFUSED: the server does not serve us.
        public static let refused = Result(rawValue: "REFUSED")
        /// NOTIMP or FORMERR: the server does not understand the query, even without EDNS.
        public static let notUnderstood = Result(rawValue: "not understood")
        /// An answer to our question that cannot be read.
        public static let malformed = Result(rawValue: "malformed")
        /// Nothing listens there, or no route leads there.
        public static let unreachable = Result(rawValue: "unreachable")
        /// The answer was cut and the TCP connection to fetch the whole of it failed.
        public static let connectionFailed = Result(rawValue: "TCP failed")
    }
}
