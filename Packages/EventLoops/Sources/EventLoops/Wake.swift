/// Why a wait on a ``WaitPoint`` ended.
///
/// Only a hint: whoever wakes tries its system call again and believes that. A wake without a cause is allowed, a
/// missing wake is not.
public enum Wake: Sendable, Hashable {
    /// Something may have changed: try again.
    case ready

    /// The task was cancelled.
    case cancelled

    /// The deadline passed.
    case timedOut

    /// The half was closed, before or while waiting.
    case closed

    /// Another task or thread already waits on this half; the wait did not take place.
    case busy

    /// The kernel would not watch the descriptor; the value is its `errno`.
    case failed(CInt)
}
