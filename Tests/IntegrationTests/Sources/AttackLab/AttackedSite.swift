internal import Foundation
internal import HTTPServerKit
internal import NetKit
internal import WebSocketStream

/// The resources of the attacked server.
struct AttackedSite: Sendable {
    private let router: Router
    private static let honest = [UInt8](repeating: 1, count: HostileProcess.honestBodySize)
    private static let large = [UInt8](repeating: 2, count: 8 << 20)

    /// - Parameter folder: a folder for its files.
    init(folder: String) throws {
        let text = (0..<400_000).map { "line \($0)\n" }.joined()
        try text.write(toFile: folder + "/text.txt", atomically: false, encoding: .utf8)
        var router = Router()
        router.compression = ResponseCompression()
        router.files("/files/*path", try StaticFiles(folder))
        router.get("/events") { call in try await call.events { _ in await call.exchange.closed() } }
        self.router = router
    }

    /// Responds to a request.
    @Sendable func respond(_ exchange: HTTPServerExchange) async throws {
        let path = exchange.request.target.path ?? ""
        if path.hasPrefix("/files/") || path == "/events" { return try await router.handle(exchange) }
        if path == "/socket" {
            let socket = try await exchange.acceptWebSocket()
            for try await _ in socket.messages {}
            return
        }
        while try await !exchange.readBody().isEmpty {}
        // A handler may use the runtime's threads and timers, which need descriptors.
        if path == "/honest" { try await Task.sleep(for: .milliseconds(1)) }
        try await exchange.respond(.ok, body: path == "/honest" ? Self.honest : path == "/large" ? Self.large : [])
    }
}
