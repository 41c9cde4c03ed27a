import WebSocketStream

enum SourcesOfWebSocketStream {
    struct Line: Codable {
        var user: String
        var text: String
    }
    static var socket: WebSocket { preconditionFailure("only compiled") }
    static var server: HTTPServer { preconditionFailure("only compiled") }
    static var response: HTTPResponse { preconditionFailure("only compiled") }
    static var token: String { "" }
    static var request: HTTPRequest {
        get { preconditionFailure("only compiled") }
        set {}
    }
}
