import WebSocketStream

enum WebSocketStreamPage {
    static var socket: WebSocket { get async throws { fatalError("an example is not run") } }
}
