internal import EventLoops
internal import StreamKit

/// How long a server reads and drops what a client sends after the last response, without I/O.
///
/// Closing at once, or while the client still has to read the response and sends credit for it, would reset the connection and destroy the response (RFC
/// 9112 §9.6, RFC 9113 §5.4.1).
struct Lingering {
    /// The maximum number of bytes that are read.
    static let maximumCount = 512 * 1024

    /// The time after the client has received everything.
    private let time: Duration
    /// The time in which a client that has not received everything must receive something.
    private let progressTime: Duration
    private var rest = Lingering.maximumCount
    private var end: Moment
    private var unsent = Int.max
    private var progressEnd: Moment

    init(_ configuration: HTTPServer.Configuration, now: Moment) {
        time = configuration.lingerTimeout
        progressTime = configuration.writeTimeout
        end = now + time
        progressEnd = now + progressTime
    }

    /// Returns how long to wait for bytes of the client; nil to close the connection.
    ///
    /// - Parameter unsent: the number of bytes that the client has not acknowledged.
    mutating func nextWait(unsent: Int, now: Moment) -> Duration? {
        if unsent > 0 {
            if unsent < self.unsent { progressEnd = now + progressTime }
            self.unsent = unsent
            end = now + time
        }
        let limit = unsent > 0 ? min(progressEnd, end) : end
        guard rest > 0, now < (unsent > 0 ? progressEnd : end) else { return nil }
        // Zero would mean no limit.
        return max(.milliseconds(1), now.duration(to: limit))
    }

    /// Accounts bytes that have been read.
    mutating func note(_ count: Int) { rest -= count }
}
