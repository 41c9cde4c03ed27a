internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// What carries one request and its response: a connection of HTTP/1.1, or a stream of a connection of HTTP/2.
///
/// A carrier knows no URL, proxy, session or pool. It never waits and sets no time limit. A load calls it under the load's lock, and lends
/// its ``input`` to one thread at a time. What must run without the lock is left in ``DeferredActions``.
///
/// ```
/// advance → needs… → sent → interim… → head or switched      read, peek → payload… → ended
/// ```
protocol HTTPCarrier: AnyObject, Sendable {
    // MARK: Steps

    /// Sends the request, and receives the response up to its final head.
    ///
    /// Sending and receiving overlap. A server may respond before it has read the whole request, and a server that writes its response
    /// while it reads would block forever if the client stopped sending. So a carrier that waits for the response continues to send,
    /// unless the response was a refusal.
    func advance(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep

    /// Reads payload of the response into `target`.
    func read(
        into target: inout MutableRawSpan, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep

    /// Returns what ``read(into:_:)`` would, without reading. The count of ``BodyStep/payload(_:)`` need not be exact.
    func peek(_ deferred: inout DeferredActions) throws(CarrierFailure) -> BodyStep

    /// Ends the exchange if all payload has been delivered; nil otherwise. The connection can then be used again before the caller reads
    /// the end.
    func endIfComplete() throws(CarrierFailure) -> ResponseEnd?

    /// Allows a body that waits for 100 (Continue) to be sent.
    func permitBody()

    /// Removes the content coding of the ``response`` from here on.
    ///
    /// - Parameter limit: the maximum size of the decoded body.
    func decodeContent(limit: Int64)

    /// Stops sending. The response can still be received.
    func stop(_ deferred: inout DeferredActions)

    /// Stops sending, and gives up the connection before the end.
    func abandon(_ deferred: inout DeferredActions)

    /// Gives up the connection after ``HeadStep/switched``. Returns what carries the other protocol, and the bytes of it received so far;
    /// nil once the exchange has ended.
    func takeSwitched(_ deferred: inout DeferredActions) -> (pair: StreamPair, received: [UInt8])?

    // MARK: Waiting

    /// The point at which to wait for the connection; nil once the exchange has ended.
    var waitPoint: WaitPoint? { get }

    /// The point at which to wait for the stream of the request's body.
    var sourcePoint: WaitPoint? { get }

    /// Whether a call opens or reads the stream of the request's body, without the load's lock.
    var isReadingBody: Bool { get }

    /// Whether the connection, for which the request waits, has sent more requests than at the last call.
    func takeQueueProgress() -> Bool

    /// The input of the connection; nil once the exchange has ended, and if a thread cannot wait at it alone. A thread that waits at it keeps it, while another thread may end the
    /// exchange.
    var input: (any CarrierInput)? { get }

    /// Whether the ``input`` may be read before a caller asks for it.
    var fillsBuffer: Bool { get }

    // MARK: Facts

    /// The connection; nil once the exchange has ended, since another request may use it then.
    var connection: HTTPConnection? { get }
    /// The head of the final response, once it has arrived; without the URL, which a carrier does not know.
    var response: HTTPResponse? { get }
    /// Where the request was sent, if others share the connection.
    var streamPlace: StreamPlace? { get }
    /// Whether the request is still being sent, and no response has been looked for.
    var isSending: Bool { get }
    /// The number of bytes that the connection has accepted, head and framing included; over HTTP/2, one for the head.
    var bytesSent: Int { get }
    /// The number of body bytes that the connection has accepted.
    var bodyBytesSent: Int64 { get }
    /// Whether the body may have been used: it did not wait for 100 (Continue), or no longer does.
    var hasBegunRequestBody: Bool { get }
    /// Whether at least one byte of a response has arrived.
    var hasReceived: Bool { get }
    /// Whether the request may be sent again after a failure of the connection.
    var repetition: Repetition { get }
    /// The instant of the last read.
    var lastRead: Moment { get }

    /// Whether the end of the body can be found without the end of the connection.
    var endsByItself: Bool { get }
    /// Whether ``decodeContent(limit:)`` has found a coding.
    var isDecoding: Bool { get }
    /// The length of the body as read, if the head declares it.
    var bodyLength: Int64? { get }
    /// The fields after a body that has ended.
    var trailers: HTTPFields { get }
    /// The fields that were removed from ``trailers``.
    var droppedTrailers: HTTPFields { get }
    /// The request as it was sent, with this URL.
    func sentRequest(at url: URL) -> HTTPRequest?
}

/// The input of a carrier's connection, lent to a thread that waits.
protocol CarrierInput: AnyObject, Sendable {
    /// Waits on the calling thread until there is input.
    ///
    /// - Parameter fills: ``HTTPCarrier/fillsBuffer``, as it was when the input was lent.
    /// - Returns: the error of the wait, if any. The next step reports a failure of the connection again, but not one of the wait alone,
    ///   such as a lack of descriptors.
    func wait(fills: Bool) -> StreamError?
}

/// The outcome of a step up to the head.
enum HeadStep {
    case needs(Need)
    /// The request was sent as far as it can be: to its end, up to 100 (Continue), or until the server has sent bytes; over HTTP/2 first
    /// after the head, and again after the body. With `justNow`, the response cannot have arrived yet.
    case sent(justNow: Bool)
    /// An interim response (1xx).
    case interim(HTTPResponse)
    /// The head of the final response (``HTTPCarrier/response``).
    case head(HeadVerdict)
    /// A 101, or over HTTP/2 a 2xx: the connection, or the stream, carries the protocol that the request has offered.
    case switched
}

/// What the head of a final response means for its request.
enum HeadVerdict {
    /// It is the answer.
    case answer
    /// The request is to be sent again without `Expect`.
    case refusesExpectation
    /// If the connection was idle, the server has not seen the request, which may be sent again on another connection.
    case crossed
}

/// The outcome of a step after the head.
enum BodyStep {
    case needs(Need)
    /// This many bytes of payload.
    case payload(Int)
    case ended(ResponseEnd)
}

/// The end of a response. The carrier has given up the connection, which another request may use if it is reusable.
struct ResponseEnd {
    let connection: HTTPConnection
    let isReusable: Bool
}

/// What a step needs before the next one.
enum Need: Equatable, Sendable {
    /// The decision of a proxy script.
    case decision
    /// The connection has to open, or to accept bytes of the request.
    case room
    /// Input of the connection.
    case input
    /// A 100 (Continue), for a limited time.
    case permission
    /// The end of a ``Standby``, or of the wait for a stream of a shared connection.
    case standby
    /// Bytes from the stream of the request's body, or a response.
    case source
    /// The stream of the request's body is being opened or read by another call, without the load's lock.
    case bodyReading
    /// The step has used up its share of time: other work of the loop comes first.
    case turn

    /// Whether the load waits for the stream of the caller's body.
    var isOwnBody: Bool { self == .source || self == .bodyReading }

    /// What the reader of a wait point waits for.
    var interest: Interest { self == .room ? [.readable, .writable] : .readable }
}

/// The failure of a carrier.
struct CarrierFailure: Error {
    enum Source {
        /// The connection: another one may carry the request.
        case connection
        /// The server, which violates the protocol.
        case server
        /// The caller, whose body cannot be read.
        case caller
    }

    let error: StreamError
    let source: Source

    init(_ error: StreamError, of source: Source) {
        self.error = error
        self.source = source
    }

    /// Messages of the server that violate the protocol.
    init(_ error: HTTPMessageError) {
        self.init(StreamError(error), of: .server)
    }
}
