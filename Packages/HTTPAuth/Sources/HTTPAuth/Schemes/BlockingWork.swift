internal import EventLoops

/// Work that may wait for the network, such as requesting a ticket from a Kerberos server.
public struct BlockingWork: Sendable {
    /// The output of the work.
    public struct Output: Hashable, Sendable {
        /// The bytes, whose meaning the scheme knows; for instance a GSSAPI token.
        public var bytes: [UInt8]

        /// Whether the scheme's login is complete after this output.
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

extension BlockingWork {
    typealias Outcome = Result<Output, HTTPAuthError>

    /// The threads for the work of all schemes. At most 8 calls that hang, for instance in GSSAPI, occupy a thread each;
    /// further work then waits in the queue until its time limit, and is withdrawn.
    private static let threads = BlockingThreads(limit: 8)

    /// Runs the work on another thread, without blocking the calling one. Cancelling the task ends the wait.
    ///
    /// When the wait ends early, work that runs continues, and its outcome is dropped.
    func outcome(within limit: Duration, on threads: BlockingThreads = threads) async -> Outcome {
        do throws(WaitError) {
            return try await threads.value(until: .now + limit, of: run)
        } catch {
            return .failure(HTTPAuthError(wait: error))
        }
    }

    /// Runs the work on another thread and blocks the calling one. As ``outcome(within:on:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    func outcome(within limit: Duration, on threads: BlockingThreads = threads) -> Outcome {
        do throws(WaitError) {
            return try threads.value(until: .now + limit, of: run)
        } catch {
            return .failure(HTTPAuthError(wait: error))
        }
    }
}
