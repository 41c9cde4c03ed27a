internal import EventLoops
internal import StreamKit

/// The state of an ``HTTP2Link``, under its lock.
struct HTTP2LinkState<Core: HTTP2Core & ~Copyable>: ~Copyable {
    var core: Core
    var input = HTTP2Input()
    /// Whether a layer below holds bytes that it could not pass down.
    var hasUnflushed = false
    /// Set once a write has failed. The input is read to its end before the connection fails: what the peer has sent before it closed the
    /// connection tells which requests it has processed.
    var writeFailure: WriteFailure?
    /// Whether the loop will call `work(reads:)`.
    var isWorkScheduled = false
    /// Fires at the next deadline or earlier; nil once it has fired.
    var timer: LoopTimer?

    /// Whether input has to wait until output has been written.
    var isOutputFull: Bool { writeFailure == nil && core.isOutputFull }

    /// Whether something has to be written.
    var hasOutput: Bool { writeFailure == nil && (hasUnflushed || core.outputCount > 0) }

    struct WriteFailure {
        let error: StreamError
        /// The number of further bytes of input that are read. Initially more than the buffer of a socket holds.
        var remainingBytes = 16 * 1024 * 1024
    }
}
