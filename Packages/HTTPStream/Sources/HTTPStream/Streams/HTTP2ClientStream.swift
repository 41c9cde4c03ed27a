internal import EventLoops
internal import HTTP2
internal import HTTPMessage

/// What has arrived for one request on a connection of HTTP/2, and the point where its load waits for more.
final class HTTP2ClientStream: @unchecked Sendable {
    // Unchecked: only the connection uses it, under its lock; the point is constant.

    /// Signalled when something has arrived, when data may be sent, and when a stream can be opened.
    let point: WaitPoint
    /// The place in the queue; nil outside of it.
    var ticket: Int?
    var progress = Progress.unsent
    /// The heads that the load has not taken, the interim ones first.
    var heads: [HTTPResponse] = []
    var trailers = HTTPFields()
    /// Whether there are bytes to read.
    var isReadable = false
    /// Whether the server's message is complete.
    var hasEnded = false
    /// Why the stream has ended before its messages did.
    var failure: HTTP2StreamFailure?
    /// Whether the end of the request has been sent.
    var isRequestEnded = false
    /// Whether the server does not want the rest of the request.
    var isSendingStopped = false
    /// Whether bytes were not taken, and the point has not been signalled since.
    var isFull = false

    /// How far the request has come.
    enum Progress {
        /// The connection does not have it.
        case unsent
        /// It waits until the server allows another stream, since that instant.
        case waiting(since: Moment)
        /// HTTP/2 cannot carry it.
        case refused(HTTP2Error)
        /// Its head has been sent.
        case sent(Opening)
    }

    /// How the stream was opened.
    struct Opening {
        let identifier: StreamID
        /// When the request was ready to be sent.
        let requested: Moment
        /// When it was sent.
        let start: Moment
        /// The number of other streams then.
        let others: Int
        /// The position behind the head of the request in all that the connection writes.
        let headEnd: Int
    }

    var opening: Opening? { if case .sent(let opening) = progress { opening } else { nil } }

    /// Nil until the request has been sent.
    var identifier: StreamID? { opening?.identifier }

    /// What a request that is being sent has to look at.
    enum Arrival {
        case nothing
        /// A head, or the failure of the stream.
        case arrived
        /// The server does not want the rest of the request.
        case sendingStopped
    }

    var arrival: Arrival {
        if failure != nil || !heads.isEmpty { return .arrived }
        return isSendingStopped ? .sendingStopped : .nothing
    }

    init(waitingAt point: WaitPoint) { self.point = point }
}
