internal import EventLoops
internal import HTTPMessage
internal import HostResolver
internal import StreamKit

/// What carries one request and its response for an ``HTTPServerExchange``: a connection of HTTP/1.1, or a stream of HTTP/2.
///
/// Used by one call at a time, except for ``abandon()`` and the constants ``context``, ``pair``, ``observedAddress``, ``request`` and
/// ``task``.
protocol ServerCarrier: AnyObject {
    var context: ServerContext { get }
    /// The streams of the connection.
    var pair: StreamPair { get }
    /// The address of the client, also once it has disconnected; nil unless the configuration's observer needs it.
    var observedAddress: SocketAddress? { get }
    /// The head of the request.
    var request: HTTPRequest { get }
    /// The fields after the body, once it has ended.
    var trailers: HTTPFields { get }
    /// The task of the handler, which is cancelled once the client has disconnected.
    var task: ExchangeTask { get }
    /// Whether nothing can be sent to the client any more: it has disconnected, or takes too little.
    var isClientGone: Bool { get set }
    /// What the server responds if the handler does not; nil for a 500.
    var refusal: RequestRefusal? { get }

    /// Returns the next piece of the request's body; empty at the end.
    ///
    /// - Throws: an error for a body that is malformed, too long or too slow, with a ``refusal``, or that of the connection.
    func readBody(upTo limit: Int) async throws(StreamError) -> [UInt8]

    /// Permits the connection to be long-lived; nil at the maximum of such connections.
    func takePermit() -> LongLivedLimit.Permit?

    /// Sets the ``refusal``.
    func refuse(_ refusal: RequestRefusal)

    /// Makes the head of the response, which the next call sends. Returns what follows it.
    ///
    /// - Parameter length: the length of the body; nil if it is unknown.
    func makeHead(_ response: HTTPResponse, length: Int64?) throws(StreamError) -> ResponsePlan.Body

    /// Sends the head.
    func sendHead() async throws(StreamError)

    /// Sends the head and the whole body.
    func sendWhole(_ bytes: [UInt8]) async throws(StreamError)

    /// Sends a piece of the body, unless the client receives it too slowly.
    func send(_ piece: [UInt8]) async throws(StreamError)

    /// Ends the response, whose body has been sent.
    func endResponse(_ trailers: HTTPFields) async throws(StreamError)

    /// Throws unless the client has offered to switch to a protocol, and its body has been read.
    func requireOffer(of protocolName: String) throws(StreamError)

    /// Responds with 101, or over HTTP/2 with 200, and lets the connection, or the stream, carry the other protocol.
    ///
    /// - Parameter willSend: called with the status once the response can be sent.
    func switchProtocols(
        to protocolName: String, _ fields: HTTPFields, willSend: (HTTPStatus) -> Void
    ) async throws(StreamError) -> HTTPUpgradedConnection

    /// Responds in place of the handler. Returns false if the client is gone.
    func respond(with refusal: RequestRefusal) async -> Bool

    /// Ends the exchange after a response of the handler. Returns whether the connection can carry another one.
    func end() async -> Bool

    /// Gives up what the exchange has of the connection, after its end.
    ///
    /// - Parameter isComplete: whether the whole response was sent.
    func close(isComplete: Bool) async

    /// As ``close(isComplete:)``, while a call of another task is still in progress.
    func abandon()
}
