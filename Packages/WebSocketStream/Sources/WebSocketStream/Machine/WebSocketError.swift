public import HTTPMessage
public import StreamKit

/// The reason why a WebSocket failed. Switch on ``code``; print the error for the message.
///
/// ```swift
/// do {
///     for try await message in socket.messages { print(message) }
/// } catch {
///     guard error.code == .connectionLost else { throw error }
///     print("reconnecting:", error)
/// }
/// ```
public struct WebSocketError: Error, Sendable {
    /// The kinds of failures.
    public enum Code: Hashable, Sendable {
        /// The server did not switch to the WebSocket protocol; ``WebSocketError/response`` is its response, if it sent one.
        case handshakeRefused
        /// The handshake of the peer is invalid: a server received no valid request, or a client no valid response.
        case invalidHandshake
        /// The URL, a message, a close code or an option cannot be used.
        case invalidArgument
        /// The peer has violated the protocol. The connection was closed with ``WebSocketCloseCode/protocolError``.
        case protocolError
        /// The peer has sent text that is not UTF-8, or invalid compressed data. The connection was closed with
        /// ``WebSocketCloseCode/invalidPayload``.
        case invalidPayload
        /// The peer has sent a message beyond a limit. The connection was closed with ``WebSocketCloseCode/messageTooBig``.
        case messageTooLong
        /// The socket was closed, on this side or by the peer, before or during the call.
        case closed
        /// The connection was lost without a closing handshake; ``WebSocketError/underlying`` is the cause, if it is known.
        case connectionLost
        /// The peer did not respond in time.
        case timedOut
        /// The server has its maximum of long-lived connections (`HTTPServer.Configuration.maximumLongLivedConnections`).
        case tooManyConnections
        /// The task was cancelled.
        case cancelled
    }

    /// The kind of failure.
    public let code: Code

    /// What happened, for people.
    public let reason: String

    /// The server's response, if it refused the handshake.
    public let response: HTTPResponse?

    /// The failure of the connection, if that is the cause.
    public let underlying: StreamError?

    /// Makes an error.
    public init(_ code: Code, reason: String, response: HTTPResponse? = nil, underlying: StreamError? = nil) {
        self.code = code
        self.reason = reason
        self.response = response
        self.underlying = underlying
    }

    /// The code of the Close frame with which the connection fails; nil if no frame is sent.
    var closeCode: WebSocketCloseCode? {
        switch code {
        case .protocolError: .protocolError
        case .invalidPayload: .invalidPayload
        case .messageTooLong: .messageTooBig
        case .timedOut: .goingAway
        case .handshakeRefused, .invalidHandshake, .invalidArgument, .closed, .connectionLost, .tooManyConnections,
            .cancelled:
            nil
        }
    }
}

extension WebSocketError: CustomStringConvertible {
    /// The message.
    public var description: String { underlying.map { "\(reason) \($0)" } ?? reason }
}

extension WebSocketError {
    static func protocolError(_ violation: String) -> WebSocketError {
        WebSocketError(.protocolError, reason: "The peer violates the WebSocket protocol: \(violation).")
    }

    static func invalidText(_ what: String) -> WebSocketError {
        WebSocketError(.invalidPayload, reason: "The peer sent \(what) that is not UTF-8.")
    }

    static let invalidCompression = WebSocketError(
        .invalidPayload, reason: "The peer sent a compressed message that cannot be decompressed.")

    static func tooLong(_ what: String, limit: Int) -> WebSocketError {
        WebSocketError(.messageTooLong, reason: "The peer sent \(what); the limit is \(limit).")
    }

    static func invalidArgument(_ reason: String) -> WebSocketError {
        WebSocketError(.invalidArgument, reason: reason)
    }

    static func invalidHandshake(_ reason: String, response: HTTPResponse? = nil) -> WebSocketError {
        WebSocketError(.invalidHandshake, reason: "The WebSocket handshake is invalid: \(reason).", response: response)
    }

    static let closed = WebSocketError(.closed, reason: "The WebSocket is closed.")

    static let cancelled = WebSocketError(.cancelled, reason: "The task was cancelled.")

    static let lost = WebSocketError(
        .connectionLost, reason: "The connection ended without a closing handshake (code 1006).")

    static func tooManyConnections(_ error: StreamError) -> WebSocketError {
        WebSocketError(.tooManyConnections, reason: "The WebSocket cannot be accepted:", underlying: error)
    }

    static func timedOut(_ what: String) -> WebSocketError {
        WebSocketError(.timedOut, reason: "The peer did not respond in time: \(what).")
    }

    /// The failure of the connection.
    init(_ error: StreamError) {
        if error.isCancellation {
            self = .cancelled
        } else if error.isTimeout {
            self.init(.timedOut, reason: "The connection timed out:", underlying: error)
        } else {
            self.init(.connectionLost, reason: "The connection was lost:", underlying: error)
        }
    }
}
