/// How far a stream's life has come. Replaces `CFStreamStatus`; the numbers are the same.
public enum StreamStatus: Int, Sendable, Hashable {
    /// Made, not opened.
    case notOpen = 0
    /// Opening has begun: looking up names, connecting, shaking hands.
    case opening = 1
    /// Bytes can be moved.
    case open = 2
    /// A read call is under way.
    case reading = 3
    /// A write call is under way.
    case writing = 4
    /// Everything was read, or a store of fixed size is full.
    case atEnd = 5
    /// Closed on this side. For good: a stream is never opened twice.
    case closed = 6
    /// Failed, for good; the stream's `error` tells why. Closing a failed stream frees its resources but keeps this status.
    case error = 7
}
