@_spi(Packages) public import EventLoops
internal import Glibc

extension BlockingThreads {
    /// Makes a call on a file, and suspends until it has returned.
    ///
    /// ```swift
    /// let name = try await BlockingThreads.files(at: "/etc/hostname").fileResult { () throws(StreamError) in
    ///     guard let text = try? String(contentsOfFile: "/etc/hostname", encoding: .utf8) else { throw .closed }
    ///     return text
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - timeout: the longest wait; by default `fileTimeout`, 60 s.
    ///   - call: the call. Its result is discarded if the wait has ended by then.
    /// - Throws: the error of the call; ``StreamError/cancelled``; `ETIMEDOUT` if the call has not returned in time, and `EAGAIN` or
    ///   another `errno` if there was no thread for it: ``StreamErrorReason/unansweredCall``. A call that has not begun is withdrawn; a
    ///   running call continues.
    @_spi(Packages) public nonisolated(nonsending) func fileResult<Value: Sendable>(
        within timeout: Duration = fileTimeout, of call: @escaping @Sendable () throws(StreamError) -> Value
    ) async throws(StreamError) -> Value {
        try await value(until: .now + timeout, mapping: StreamError.init(ofFileCall:), of: call)
    }
}

extension StreamError {
    /// The error of a call on a file that has not returned, or that no thread could make.
    package init(ofFileCall error: WaitError) {
        switch error {
        case .cancelled: self = .cancelled
        case .timedOut: self = .unanswered(ETIMEDOUT, Sentence("file.timedOut", "The disk has not answered in time."))
        case .busy:
            self = .unanswered(EAGAIN, Sentence("file.busy", "Too many calls already wait for the disk."))
        case .failed(let number):
            self = .unanswered(
                number, Sentence("file.noThread", "There is no thread for the disk: %1.", SystemCall.text(of: number)))
        default: self = .unanswered(EAGAIN, Sentence("file.unanswered", "The disk cannot be asked now."))
        }
    }

    private static func unanswered(_ number: CInt, _ sentence: Sentence) -> StreamError {
        StreamError(posix: number, sentence, reason: .unansweredCall)
    }
}
