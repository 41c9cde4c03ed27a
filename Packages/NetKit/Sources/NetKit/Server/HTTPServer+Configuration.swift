public import HTTPMessage
public import StreamKit

extension HTTPServer {
    /// What a server accepts, and how long it waits. Every limit has a default.
    public struct Configuration: Sendable {
        /// The connections: TLS, how many, backlog, loops.
        ///
        /// With TLS and no application protocols, `http/1.1` and `http/1.0` are spoken.
        public var connections = StreamListener.Configuration()

        /// What a request may have: 8 KiB a line, 64 KiB a head, 100 fields, 1 MiB of body. Beyond, the answer is 414, 431 or
        /// 413, and the connection ends.
        public var limits: HTTPLimits

        /// The longest from a connection's first byte, or a request's, to the end of the head. Default 10 s; then the answer is
        /// 408.
        public var headLimit: Duration = .seconds(10)

        /// How long a connection may be idle before a request. Default 60 s; then it is closed without a word.
        public var idleLimit: Duration = .seconds(60)

        /// The longest wait for a further piece of a request's body. Default 30 s; then the answer is 408.
        public var bodyLimit: Duration = .seconds(30)

        /// How fast a client must send a request's body, in bytes a second: every wait counts but for the first ``bodyLimit`` of
        /// them. Default 500; 0 for any rate. Below, the answer is 408.
        public var minimumBodyRate = 500

        /// The longest wait until the client takes a further piece of a response. Default 30 s; then the connection is closed.
        public var writeLimit: Duration = .seconds(30)

        /// How fast a client must take a response's body, in bytes a second: every wait counts but for the first ``writeLimit`` of
        /// them. Default 500; 0 for any rate. Below, the connection is closed. Responses of up to 16 KiB that are sent whole are
        /// not measured.
        public var minimumResponseRate = 500

        /// What may be left of a request's body that the handler did not read: so many bytes are read and thrown away so that
        /// the connection can be kept. Default 256 KiB.
        public var unreadLimit: Int64 = 256 * 1024

        /// How long what a client still sends is read and thrown away after the last answer on its connection, which closing at once
        /// could destroy (RFC 9112 §9.6). Default 2 s.
        public var lingerLimit: Duration = .seconds(2)

        /// Whether connections are kept for further requests. Default true.
        public var keepsConnections = true

        /// Told of errors that handlers threw: the client got a 500, or a response that is visibly cut short. Not of clients that went
        /// away.
        public var onError: (@Sendable (any Error) -> Void)?

        /// The defaults stated at each property.
        public init() {
            var limits = HTTPLimits.default
            limits.lineLength = 8 * 1024
            limits.headLength = 64 * 1024
            limits.fieldCount = 100
            limits.bodyLength = 1 << 20
            self.limits = limits
        }
    }
}
