internal import EventLoops

/// The threads that read certificates and keys from files. Each call may block for ever on a network file system that does not
/// respond, so the caller waits for a limited time.
package final class CertificateThreads: Sendable {
    /// The threads of this process: at most eight.
    package static let shared = CertificateThreads(limit: 8)

    let pool: BlockingThreads

    package init(limit: Int) {
        pool = BlockingThreads(limit: limit)
    }

    /// Reads files on one of the threads, and suspends meanwhile.
    ///
    /// - Parameter limit: the time limit.
    /// - Throws: the errors of `read`; `ETIMEDOUT` at the limit; ``StreamError/cancelled``; `EAGAIN` if the system creates no thread.
    package nonisolated(nonsending) func value<Value: Sendable>(
        within limit: Duration, of read: @escaping @Sendable () throws(StreamError) -> Value
    ) async throws(StreamError) -> Value {
        let result: Result<Value, StreamError>
        do throws(WaitError) {
            result = try await pool.value(until: .now + limit) { Result { () throws(StreamError) in try read() } }
        } catch {
            switch error {
            case .timedOut: throw .certificatesTimedOut
            case .failed(let number): throw StreamError(posix: number)
            default: throw .cancelled
            }
        }
        return try result.get()
    }
}

extension StreamError {
    static var certificatesTimedOut: StreamError {
        StreamError(posix: 110, .openTimedOut("reading the trusted certificates"))  // ETIMEDOUT
    }
}
