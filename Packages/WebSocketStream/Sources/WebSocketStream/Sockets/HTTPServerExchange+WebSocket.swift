internal import Glibc
public import HTTPMessage
public import HTTPStream
internal import StreamKit

extension HTTPServerExchange {
    /// Accepts the client's request for a WebSocket (RFC 6455 §4.2).
    ///
    /// ```swift
    /// try await server.run { exchange in
    ///     let socket = try await exchange.acceptWebSocket()
    ///     for try await message in socket.messages { try await socket.send(message) }
    /// }
    /// ```
    ///
    /// The connection ends with the handler. Call ``WebSocket/close(code:reason:)`` before, unless the client has closed it. If the
    /// client disconnects, the messages end; the handler's task is not cancelled.
    ///
    /// - Parameters:
    ///   - configuration: The options of the socket.
    ///   - origins: The origins of web pages whose scripts may connect.
    ///   - fields: Further fields of the response.
    /// - Throws: ``WebSocketError/Code/invalidHandshake`` if the request is not a valid handshake or its origin is not allowed. The
    ///   client has then received a 400, 403 or 426. ``WebSocketError/Code/tooManyConnections`` at the maximum of long-lived
    ///   connections (`HTTPServer.Configuration.maximumLongLivedConnections`): the client receives a 503 unless the handler responds.
    ///   ``WebSocketError/Code/connectionLost`` if the response cannot be sent.
    public func acceptWebSocket(
        _ configuration: WebSocket.Configuration = WebSocket.Configuration(), origins: WebSocketOrigins = .sameHost,
        fields: HTTPFields = HTTPFields()
    ) async throws(WebSocketError) -> WebSocket {
        let handshake: WebSocketServerHandshake
        do throws(WebSocketServerHandshake.Refusal) {
            handshake = try WebSocketServerHandshake(request, origins: origins)
        } catch {
            // The error below is reported in any case.
            try? await respond(error.status, fields: error.fields, body: Array("\(error.reason)\n".utf8))
            throw .invalidHandshake(error.reason)
        }
        let (answer, agreement) = try handshake.accept(
            subprotocols: configuration.subprotocols, compression: configuration.compression)
        var fields = fields
        for field in answer {
            guard !fields.contains(field.name) else {
                throw .invalidArgument("The field \(field.name) is set by the handshake.")
            }
            do throws(HTTPMessageError) {
                try fields.append(field.value, for: field.name)
            } catch {
                throw .invalidArgument("The field \(field.name) cannot be set: \(error).")
            }
        }
        let upgraded: HTTPUpgradedConnection
        do throws(StreamError) {
            upgraded = try await switchProtocols(to: "websocket", fields: fields)
        } catch {
            throw error.isPOSIX(EAGAIN) ? .tooManyConnections(error) : WebSocketError(error)
        }
        return try WebSocket(upgraded, .server, configuration, agreement, response: nil)
    }
}
