/// The reason why a wait failed.
@nonexhaustive
public enum WaitError: Error, Hashable, Sendable {
    /// The task was cancelled.
    case cancelled
    /// The deadline passed.
    case timedOut
    /// Another task or thread is already waiting.
    case busy
    /// The ``AsyncSemaphore`` was closed.
    case closed
    /// The kernel refused the wait, for example for lack of descriptors; the value is its `errno`.
    case failed(CInt)

    /// Converts the end of a wait at a ``WaitPoint``; nil if it is a reason to check the state again.
    public init?(_ wake: Wake) {
        switch wake {
        case .ready, .closed: return nil
        case .cancelled: self = .cancelled
        case .timedOut: self = .timedOut
        case .busy: self = .busy
        case .failed(let number): self = .failed(number)
        }
    }
}
