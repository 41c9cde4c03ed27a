@_spi(Packages) internal import EventLoops
internal import HTTP2
internal import HTTPMessage

/// A request on a connection of HTTP/2, and the point where its handler waits for the client.
final class HTTP2ServerStream: @unchecked Sendable {
    /// What a handler waits for.
    enum Wait {
        case none
        /// More of the request.
        case request
        /// Until more of the response's body can be sent.
        case room
    }

    // Unchecked: only the connection uses the variables, under its lock; the rest is constant.

    let identifier: StreamID
    let request: HTTP2Request
    /// Signalled when something has arrived, when data may be sent, and when the stream has ended.
    let point: WaitPoint
    /// The handler's, cancelled when the stream has ended before its messages did.
    let task = ExchangeTask()
    /// What the handler waits for.
    var wait = Wait.none
    /// Whether the client's message is complete.
    var hasEnded = false
    var trailers = HTTPFields()

    /// Whether the client asks to let the stream carry another protocol (RFC 8441).
    var asksForSwitch: Bool { request.connectProtocol != nil }
    /// Whether the stream carries another protocol.
    var isSwitched = false
    /// Whether bytes of another protocol were not taken, and the point has not been signalled since.
    var isFull = false

    private let headSize: Int
    /// The number of bytes of the target, and of the names and values of head and trailers.
    var fieldSize: Int { headSize + trailers.byteCount }

    init(_ identifier: StreamID, _ request: HTTP2Request, loop: EventLoop) {
        self.identifier = identifier
        self.request = request
        headSize = request.head.target.bytes.count + request.head.fields.byteCount
        // The reader and the writer of another protocol wait apart.
        point = request.connectProtocol == nil ? WaitPoint(loop: loop, only: .reader) : WaitPoint(loop: loop)
    }
}

extension HTTPFields {
    /// The number of bytes of the names and values.
    fileprivate var byteCount: Int {
        var count = 0
        forEachRawField { name, value in count += name.byteCount + value.byteCount }
        return count
    }
}
