@_spi(Packages) package import EventLoops

extension BlockingThreads {
    /// The threads that read certificates and keys from files: at most eight in this process. Each call may block for ever on a network file
    /// system that does not respond, so the caller waits for a limited time.
    package static let certificates = BlockingThreads(limit: 8)

    /// Reads certificates on one of the threads, and suspends meanwhile.
    ///
    /// - Parameter limit: the time limit.
    /// - Throws: the errors of `read`; `ETIMEDOUT` at the limit; ``StreamError/cancelled``; `EAGAIN` if the system creates no thread.
    nonisolated(nonsending) func certificateResult<Value: Sendable>(
        within limit: Duration, of read: @escaping @Sendable () throws(StreamError) -> Value
    ) async throws(StreamError) -> Value {
        try await value(until: .now + limit, mapping: StreamError.init(ofReadingCertificates:), of: read)
    }
}

extension StreamError {
    fileprivate init(ofReadingCertificates error: WaitError) {
        switch error {
        case .timedOut: self = .certificatesTimedOut
        case .failed(let number): self.init(posix: number)
        default: self = .cancelled
        }
    }

    static var certificatesTimedOut: StreamError {
        StreamError(posix: 110, .openTimedOut("reading the trusted certificates"))  // ETIMEDOUT
    }
}
