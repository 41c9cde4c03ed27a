public import HTTPMessage
public import HostResolver

extension HTTPServer {
    /// A request and its response, after the response has been sent or cut off.
    public struct Record: Sendable {
        /// The head of the request; nil if the server has refused it before its head was understood.
        public let request: HTTPRequest?
        /// The status of the response; nil if the connection ended before the response began.
        public let status: HTTPStatus?
        /// The number of bytes of the response's body that were sent, without chunk framing. A piece counts once all of it has been
        /// sent: if a body was cut off, its client may have received more.
        public let bodyLength: Int64
        /// Whether the whole response was sent.
        public let isComplete: Bool
        /// The address of the client, or of the proxy in front of it.
        public let remoteAddress: SocketAddress?
        /// The time from the end of the request's head to the end of the response; nil for a request that the server has refused itself.
        public let duration: Duration?

        /// Makes a record, for tests of code that receives records.
        public init(
            request: HTTPRequest?, status: HTTPStatus?, bodyLength: Int64, isComplete: Bool = true,
            remoteAddress: SocketAddress? = nil, duration: Duration? = nil
        ) {
            self.request = request
            self.status = status
            self.bodyLength = bodyLength
            self.isComplete = isComplete
            self.remoteAddress = remoteAddress
            self.duration = duration
        }
    }
}
