import FoundationEssentials
import WebSocketStream

/// Serves an echo, and connects to it: with compression and a subprotocol, and from a page of another origin, which is refused.
@main struct Consumer {
    static func main() async throws {
        let server = try HTTPServer(port: 0, isLocal: true)
        let running = Task { try await server.run(echo) }
        guard let url = URL(string: "ws://127.0.0.1:\(server.port ?? 0)/echo") else { return }

        var configuration = WebSocket.Configuration()
        configuration.subprotocols = ["echo"]
        configuration.compression = WebSocketCompression()
        let socket = try await WebSocket.connect(url, configuration: configuration)
        try await socket.send(.text(String(repeating: "hello ", count: 1000)))
        try await socket.send(.binary([1, 2, 3]))
        try await socket.ping()
        var lengths: [Int] = []
        for try await message in socket.messages {
            lengths.append(message.bytes.count)
            if lengths.count == 2 { break }
        }
        try await socket.close(code: .goingAway)
        print(lengths, socket.subprotocol ?? "", socket.compression != nil, socket.closure?.code ?? .abnormalClosure)

        guard let http = URL(string: "http://127.0.0.1:\(server.port ?? 0)/echo") else { return }
        var request = try HTTPRequest(method: .get, url: http)
        try request.fields.set("https://evil.example", for: "Origin")
        do throws(WebSocketError) {
            _ = try await WebSocket.connect(request)
        } catch {
            print(error)
        }
        server.stop()
        try await running.value
    }

    @Sendable static func echo(_ exchange: HTTPServerExchange) async throws {
        var configuration = WebSocket.Configuration()
        configuration.subprotocols = ["echo"]
        configuration.compression = WebSocketCompression()
        let socket = try await exchange.acceptWebSocket(configuration)
        for try await message in socket.messages { try await socket.send(message) }
    }
}
