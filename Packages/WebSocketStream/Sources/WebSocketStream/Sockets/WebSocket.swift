public import FoundationEssentials
public import HTTPMessage
public import HTTPStream
internal import StreamKit

/// A connection on which both sides send messages at any time (RFC 6455).
///
/// ```swift
/// let socket = try await WebSocket.connect(URL(string: "wss://chat.example.org/")!)
/// try await socket.send(.text("hello"))
/// for try await message in socket.messages {
///     print(message.text ?? "\(message.bytes.count) bytes")
/// }
/// ```
///
/// A server makes one with `exchange.acceptWebSocket()` in the handler of an `HTTPServer`.
///
/// Messages are received in the background, and pings are answered, whether or not the program reads ``messages``. Messages that
/// wait to be read are limited (``WebSocketLimits/queueLength``); beyond the limit, nothing is received, so that a slow reader
/// slows the peer down. ``send(_:)`` waits until the message has been passed to the system, so that a slow peer slows the sender
/// down. Messages are sent in the order of the calls and never interleaved.
///
/// Call ``close(code:reason:)`` at the end. A socket that is released without it closes the connection at once, which the peer
/// sees as the code 1006.
public final class WebSocket: Sendable {
    /// The subprotocol that the server has chosen from ``Configuration/subprotocols``; nil for none.
    public let subprotocol: String?

    /// The agreed compression; nil for none.
    public let compression: WebSocketCompressionAgreement?

    /// The response of the handshake: a 101, or a 2xx over HTTP/2. Nil on a server.
    public let response: HTTPResponse?

    private let connection: WebSocketConnection

    init(
        _ upgraded: HTTPUpgradedConnection, _ role: WebSocketMachine.Role, _ configuration: Configuration,
        _ agreement: WebSocketAgreement, response: HTTPResponse?
    ) throws(WebSocketError) {
        subprotocol = agreement.subprotocol
        compression = agreement.compression
        self.response = response
        connection = WebSocketConnection(upgraded.pair, role, configuration, agreement)
        try connection.start(upgraded.received)
    }

    deinit { connection.abandon() }

    /// The messages of the peer, until it closes the connection.
    ///
    /// The sequence ends after the closing handshake, see ``closure``, and after a call of ``close(code:reason:)``. It throws if
    /// the connection is lost or the peer violates the protocol. Each message is delivered once: several tasks that iterate share
    /// the messages. A cancelled wait takes no message, and the socket stays usable.
    public var messages: Messages { Messages(socket: self) }

    /// Waits for the next message; nil once the connection has been closed. As ``messages``, one at a time.
    ///
    /// ```swift
    /// try await socket.send(.text("ping"))
    /// print(try await socket.receive()?.text ?? "closed")
    /// ```
    ///
    /// - Throws: the failure of the socket; ``WebSocketError/Code/cancelled``.
    public func receive() async throws(WebSocketError) -> WebSocketMessage? {
        try await connection.nextMessage()
    }

    /// The code and the reason with which the peer has closed the connection, or has confirmed ``close(code:reason:)``; nil before
    /// that, and if the connection was lost.
    public var closure: WebSocketClosure? { connection.closure }

    /// Sends a message. Returns once it has been passed to the system.
    ///
    /// If the task is cancelled while the message waits for earlier ones, nothing is sent. If it is cancelled later, a part may
    /// have been sent, and the connection fails.
    ///
    /// - Throws: ``WebSocketError/Code/closed`` after the close of either side; the failure of the connection, such as
    ///   ``WebSocketError/Code/timedOut`` after ``Configuration/writeTimeout``.
    public func send(_ message: WebSocketMessage) async throws(WebSocketError) {
        try await connection.send(message)
    }

    /// Sends a ping, and waits for the pong.
    ///
    /// - Parameter limit: The longest time to wait for the pong. The peer answers only while it reads.
    /// - Returns: The time until the pong arrived.
    /// - Throws: ``WebSocketError/Code/timedOut``, after which the socket stays usable; as ``send(_:)``.
    @discardableResult
    public func ping(within limit: Duration = .seconds(10)) async throws(WebSocketError) -> Duration {
        try await connection.ping(within: limit)
    }

    /// Closes the connection with the closing handshake (RFC 6455 §7.1.2). Has no effect on a closed socket.
    ///
    /// Messages that are being sent are completed first. Messages that arrive afterwards are dropped. Returns when the peer has
    /// confirmed and the connection is closed, or after ``Configuration/closeTimeout``, when the connection is closed in any case;
    /// ``closure`` tells the two apart.
    ///
    /// - Parameters:
    ///   - code: The reason as a number.
    ///   - reason: The reason as text, at most 123 bytes of UTF-8.
    /// - Throws: ``WebSocketError/Code/invalidArgument`` for a code that must not be sent, or a reason that is too long.
    public func close(
        code: WebSocketCloseCode = .normalClosure, reason: String = ""
    ) async throws(WebSocketError) {
        try await connection.close(WebSocketClosure(code: code, reason: reason))
    }

}

extension WebSocket {
    /// The messages of a peer: ``WebSocket/messages``.
    public struct Messages: AsyncSequence, Sendable {
        let socket: WebSocket

        /// Takes the messages.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let socket: WebSocket

            /// As ``next(isolation:)``.
            public mutating func next() async throws(WebSocketError) -> WebSocketMessage? {
                try await next(isolation: nil)
            }

            /// The next message; nil once the connection has been closed.
            ///
            /// - Throws: the failure of the socket, or ``WebSocketError/Code/cancelled``.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(WebSocketError) -> WebSocketMessage? {
                try await socket.receive()
            }
        }

        /// Begins to take messages.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }
    }

    /// The options of a socket, for clients and servers.
    public struct Configuration: Sendable, Hashable {
        /// The limits for what the peer sends.
        public var limits = WebSocketLimits()

        /// Compression, if the peer supports it. Default nil: none.
        public var compression: WebSocketCompression?

        /// The subprotocols that this side supports, in order of preference. Default none. The server's preference counts.
        /// Never a secret: the origin to which a redirect leads gets them, too.
        public var subprotocols: [String] = []

        /// Whether a client's handshake follows redirects, also those to `ws` and `wss`. Default true; then
        /// `HTTPOptions.followsRedirects` of the session decides. If not, a redirect refuses the WebSocket.
        public var followsRedirects = true

        /// The time without any bytes from the peer after which a ping is sent; after the same time again, the connection fails
        /// with ``WebSocketError/Code/timedOut``. Default 30 s; nil for no limit.
        public var keepAlive: Duration? = .seconds(30)

        /// The longest time that sending waits for the peer to read. Default 30 s; then the connection fails.
        public var writeTimeout: Duration = .seconds(30)

        /// The time limit of the closing handshake. Default 5 s; then the connection is closed without it.
        public var closeTimeout: Duration = .seconds(5)

        /// The defaults stated at each property.
        public init() {}
    }
}

// MARK: - Connecting

extension WebSocket {
    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - url: A URL with the scheme `ws` or `wss`; `http` and `https` mean the same.
    ///   - configuration: The options of the socket.
    ///   - session: The session that performs the handshake, with its proxies, TLS, cookies, credentials and redirects. HTTP
    ///     proxies establish a tunnel. If it has a connection of HTTP/2 to the server, which accepts WebSockets there (RFC 8441), the
    ///     socket is a stream of that one; otherwise it has a connection of its own.
    ///   - timeout: The time limit of the handshake; nil for that of the session.
    /// - Throws: ``WebSocketError/Code/handshakeRefused`` if the server declines; ``WebSocketError/Code/invalidHandshake``;
    ///   ``WebSocketError/Code/connectionLost`` with the failure of the connection as ``WebSocketError/underlying``.
    public static func connect(
        _ url: URL, configuration: Configuration = Configuration(), session: HTTPSession = HTTPSession(),
        within timeout: Duration? = nil
    ) async throws(WebSocketError) -> WebSocket {
        let request = try request(for: url)
        return try await connect(request, configuration: configuration, session: session, within: timeout)
    }

    /// The request of a handshake, without its fields.
    ///
    /// - Throws: ``WebSocketError/Code/invalidArgument`` for a URL that is not that of a WebSocket.
    static func request(for url: URL) throws(WebSocketError) -> HTTPRequest {
        guard url.fragment == nil else {
            throw .invalidArgument("The URL of a WebSocket has no fragment (RFC 6455 §3).")
        }
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            throw .invalidArgument("The URL cannot be requested.")
        }
        switch parts.scheme?.lowercased() {
        case "ws", "http": parts.scheme = "http"
        case "wss", "https": parts.scheme = "https"
        default: throw .invalidArgument("The URL of a WebSocket has the scheme ws or wss.")
        }
        guard let httpURL = parts.url else { throw .invalidArgument("The URL cannot be requested.") }
        do throws(HTTPMessageError) {
            return try HTTPRequest(method: .get, url: httpURL)
        } catch {
            throw .invalidArgument("The URL cannot be requested: \(error).")
        }
    }

    /// Connects to a server with a request of the caller, such as one with fields of its own.
    ///
    /// ```swift
    /// var request = try HTTPRequest(method: .get, url: URL(string: "https://chat.example.org/")!)
    /// try request.fields.set("Bearer \(token)", for: .authorization)
    /// let socket = try await WebSocket.connect(request)
    /// ```
    ///
    /// - Parameters:
    ///   - request: A GET request for a URL with the scheme `http` or `https`, which stand for `ws` and `wss`.
    ///   - configuration: The options of the socket.
    ///   - session: The session that performs the handshake.
    ///   - timeout: The time limit of the handshake; nil for that of the session.
    /// - Throws: As ``connect(_:configuration:session:within:)``.
    public static func connect(
        _ request: HTTPRequest, configuration: Configuration = Configuration(), session: HTTPSession = HTTPSession(),
        within timeout: Duration? = nil
    ) async throws(WebSocketError) -> WebSocket {
        guard request.method == .get, request.body.isEmpty else {
            throw .invalidArgument("The handshake of a WebSocket is a GET request without a body.")
        }
        let handshake = try WebSocketClientHandshake(
            subprotocols: configuration.subprotocols, compression: configuration.compression)
        var request = request
        try handshake.addFields(to: &request)
        let upgrade: HTTPUpgrade
        do throws(StreamError) {
            upgrade = try await session.upgrade(
                request, to: "websocket", followsRedirects: configuration.followsRedirects, within: timeout)
        } catch {
            throw WebSocketError(error)
        }
        switch upgrade {
        case .declined(let response, let stream):
            stream.close()
            _ = try handshake.agreement(with: response)
            throw .invalidHandshake("the server declined with a 101", response: response)
        case .switched(let response, let connection):
            let agreement: WebSocketAgreement
            do throws(WebSocketError) {
                agreement = try handshake.agreement(with: response)
            } catch {
                connection.pair.close()
                throw error
            }
            return try WebSocket(connection, .client, configuration, agreement, response: response)
        }
    }
}
