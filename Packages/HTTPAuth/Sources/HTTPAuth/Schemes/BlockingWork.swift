/// Work that may wait for the network, such as requesting a ticket from a Kerberos server.
public struct BlockingWork: Sendable {
    /// The output of the work.
    public struct Output: Hashable, Sendable {
        /// The bytes, whose meaning the scheme knows; for instance a GSSAPI token.
        public var bytes: [UInt8]

        /// Whether the scheme's exchange is complete after this output.
        public var isComplete: Bool

        /// Creates an output.
        public init(bytes: [UInt8], isComplete: Bool) {
            self.bytes = bytes
            self.isComplete = isComplete
        }
    }

    /// Performs the work on the calling thread.
    public let run: @Sendable () -> Result<Output, HTTPAuthError>

    /// Creates work.
    public init(_ run: @escaping @Sendable () -> Result<Output, HTTPAuthError>) {
        self.run = run
    }
}
