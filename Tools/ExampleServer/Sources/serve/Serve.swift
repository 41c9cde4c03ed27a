import Dispatch
import EventLoops
import Glibc
import HTTPMessage
import NetKit
import StreamKit

/// A small HTTP server: an example of `HTTPServer`, and the server that the tests load with curl and wrk.
@main
enum Serve {
    static func main() async {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            let loops = (0..<options.threads).map { EventLoop(name: "serve-\($0)") }
            var configuration = HTTPServer.Configuration()
            configuration.connections.loops = loops
            configuration.connections.maximumConnections = options.connections
            configuration.limits.bodyLength = 64 << 20
            configuration.headTimeout = .seconds(options.head)
            configuration.idleTimeout = .seconds(options.idle)
            configuration.connections.tls = try options.tls()
            // For the clients of the tests that begin with HTTP/2.
            configuration.acceptsPriorKnowledge = options.certificate == nil
            configuration.connections.onFailure = { error, peer in report("\(peer?.description ?? "-"): \(error)") }
            configuration.onError = { report("a handler failed: \($0)") }
            let server = try HTTPServer(port: options.port, isLocal: true, configuration: configuration)
            // For Ctrl-C and service managers: requests in progress have five seconds to finish.
            let signals = [SIGINT, SIGTERM].map { number in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
                source.setEventHandler { server.stop(within: .seconds(5)) }
                source.resume()
                return source
            }
            print("listening on \(options.certificate == nil ? "http" : "https")://localhost:\(server.port ?? 0)/")
            fflush(nil)
            try await server.run(answer)
            withExtendedLifetime(signals) {}
        } catch {
            report("\(error)")
            exit(1)
        }
    }

    /// Responds to every request.
    @Sendable static func answer(_ exchange: HTTPServerExchange) async throws {
        let path = exchange.request.target.description
        switch (exchange.request.method, path) {
        case (.get, "/"), (.head, "/"):
            try await exchange.respond(.ok, fields: ["Content-Type": "text/plain"], body: Array("hello\n".utf8))
        case (.post, "/echo"), (.put, "/echo"):
            // Copies piece by piece, so that no body is held in memory. The first piece is read before the response begins,
            // because a client may wait for 100 (Continue).
            var piece = try await exchange.readBody()
            try await exchange.begin(HTTPResponse(status: .ok))
            while !piece.isEmpty {
                try await exchange.write(piece)
                piece = try await exchange.readBody()
            }
        case (.get, _) where path.hasPrefix("/bytes/"):
            guard let count = Int(path.dropFirst(7)), 0...(1 << 30) ~= count else {
                return try await exchange.respond(.badRequest)
            }
            try await exchange.begin(HTTPResponse(status: .ok), length: Int64(count))
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65536)
            var rest = count
            while rest > 0 {
                try await exchange.write(rest < piece.count ? Array(piece.prefix(rest)) : piece)
                rest -= min(rest, piece.count)
            }
        case (.get, "/whoami"):
            let tls = exchange.tlsInformation
            let name = tls?.peerCertificates.first?.subject ?? "unknown client"
            let security = tls.map { "\($0.version), \($0.applicationProtocol ?? "no ALPN")" } ?? "no TLS"
            try await exchange.respond(.ok, body: Array("\(name), \(security)\n".utf8))
        case (.get, _), (.head, _):
            try await exchange.respond(.notFound, body: Array("\(path) does not exist\n".utf8))
        default:
            try await exchange.respond(405, fields: ["Allow": "GET, HEAD"])
        }
    }

    @Sendable static func report(_ text: String) {
        let line = Array("serve: \(text)\n".utf8)
        write(STDERR_FILENO, line, line.count)
    }
}
