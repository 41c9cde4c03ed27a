/// Work that may wait for the network, such as asking a Kerberos server for a ticket.
public struct BlockingWork: Sendable {
    /// What the work gives: bytes whose meaning the scheme knows, and whether its exchange is complete with them.
    public struct Output: Hashable, Sendable {
        /// The bytes, such as a token of GSSAPI.
        public var bytes: [UInt8]

        /// Whether the scheme's exchange needs no further leg.
        public var isComplete: Bool

        /// Makes an output.
        public init(bytes: [UInt8], isComplete: Bool) {
            self.bytes = bytes
            self.isComplete = isComplete
        }
    }

    /// Does it, on the thread that calls.
    public let run: @Sendable () -> Result<Output, HTTPAuthError>

    /// Makes a piece of work.
    public init(_ run: @escaping @Sendable () -> Result<Output, HTTPAuthError>) {
        self.run = run
    }
}
