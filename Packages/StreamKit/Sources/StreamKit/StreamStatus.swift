/// The stage of a stream's life cycle. The numbers are CFNetwork's. Replaces `CFStreamStatus`.
public enum StreamStatus: Int, Sendable, Hashable {
    /// Created but not opened.
    case notOpen = 0
    /// Opening has begun: name lookup, connecting, handshakes.
    case opening = 1
    /// Bytes can be transferred.
    case open = 2
    /// A read is in progress.
    case reading = 3
    /// A write is in progress.
    case writing = 4
    /// All bytes were read, or a destination of fixed size is full.
    case atEnd = 5
    /// Closed on this side, permanently: a stream cannot be opened twice.
    case closed = 6
    /// Failed, permanently; the stream's `error` is the reason. Closing a failed stream releases its resources but
    /// keeps this status.
    case error = 7
}
