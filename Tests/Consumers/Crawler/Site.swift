import FoundationEssentials
import HTTPServerKit

/// A site of 200 pages with links, for users who have logged in.
final class Site: Sendable {
    let url: URL
    private let server: HTTPServer
    private let clients = Clients()

    /// The number of connections, counted by their ports.
    private actor Clients {
        private(set) var ports: Set<UInt16> = []
        func add(_ port: UInt16?) { if let port { ports.insert(port) } }
    }

    var connections: Int { get async { await clients.ports.count } }

    init() throws {
        server = try HTTPServer(port: 0, isLocal: true)
        guard let url = URL(string: "http://localhost:\(server.port ?? 0)/") else { fatalError("no URL") }
        self.url = url
    }

    func run() async throws {
        var router = Router()
        router.post("/login") { call in
            guard try await call.form()["password"] == "open sesame" else { throw HTTPProblem(.forbidden) }
            try await call.respond(fields: ["Set-Cookie": "session=7; HttpOnly"])
        }
        router.get("/*page") { [clients] call in
            await clients.add(call.exchange.remoteAddress?.port)
            guard call.request.fields[.cookie] == "session=7" else { throw HTTPProblem(.forbidden) }
            let number = call.path["page"].flatMap { $0.isEmpty ? 0 : Int($0) } ?? -1
            guard 0..<200 ~= number else { throw HTTPProblem(.notFound) }
            let links = [2 * number + 1, 2 * number + 2, number / 2].map { "<a href=\"/\($0)\">\($0)</a>" }
            try await call.respond(text: links.joined(), type: "text/html")
        }
        try await server.run(router)
    }

    func stop() { server.stop(within: .zero) }
}
