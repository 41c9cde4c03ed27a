import FoundationEssentials
import WebSocketStream

/// Returns each message to its sender: `autobahn-agent server PORT` to the suite's clients, `autobahn-agent client URL` to its server.
@main struct Agent {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch (arguments.first, arguments.last) {
        case ("server"?, let port?): try await serve(UInt16(port) ?? 0)
        case ("client"?, let url?): try await connect(url)
        default: fatalError("usage: autobahn-agent server PORT | client URL")
        }
    }

    private static var configuration: WebSocket.Configuration {
        var configuration = WebSocket.Configuration()
        configuration.compression = WebSocketCompression()
        configuration.compression?.minimumLength = 0
        configuration.keepAlive = nil
        return configuration
    }

    private static func serve(_ port: UInt16) async throws {
        let server = try HTTPServer(port: port, isLocal: true)
        try await server.run { exchange in
            let socket = try await exchange.acceptWebSocket(configuration, origins: .any)
            try? await echo(socket)  // most cases end with an error
        }
    }

    private static func connect(_ url: String) async throws {
        let count = try await ask("\(url)/getCaseCount").flatMap(Int.init) ?? 0
        guard count > 0 else { fatalError("the suite has no cases") }
        for number in 1...count {
            do {
                try await echo(open("\(url)/runCase?case=\(number)&agent=WebSocketStream"))
            } catch {
                continue  // most cases end with an error
            }
        }
        _ = try await ask("\(url)/updateReports?agent=WebSocketStream")
    }

    private static func open(_ text: String) async throws -> WebSocket {
        guard let url = URL(string: text) else { fatalError("invalid URL: \(text)") }
        return try await WebSocket.connect(url, configuration: configuration)
    }

    /// The first message of a resource.
    private static func ask(_ url: String) async throws -> String? {
        let socket = try await open(url)
        var answer: String?
        for try await message in socket.messages { answer = message.text }
        return answer
    }

    private static func echo(_ socket: WebSocket) async throws {
        for try await message in socket.messages { try await socket.send(message) }
    }
}
