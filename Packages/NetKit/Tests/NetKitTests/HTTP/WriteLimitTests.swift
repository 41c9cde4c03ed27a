import FoundationEssentials
import NetKit
import Testing

/// A server that reads nothing of an upload.
@Suite(.timeLimit(.minutes(1))) struct WriteLimitTests {
    /// A port whose connections wait in the kernel's queue, for nobody to accept them.
    private static func deafServer() throws -> (socket: Socket, url: URL) {
        let socket = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        let port = try #require(socket.localAddress?.port)
        return (socket, try #require(URL(string: "http://127.0.0.1:\(port)/")))
    }

    /// More than the socket buffers of both ends take.
    private static let body = [UInt8](repeating: 7, count: 64 << 20)

    @Test(
        "an upload that the server does not take ends with the limit for writing, set before or after opening",
        arguments: [false, true])
    func fires(_ isLate: Bool) async throws {
        let (socket, url) = try Self.deafServer()
        defer { socket.invalidate() }
        let stream = ReadStream(request: try HTTPRequest(method: .put, url: url), body: .bytes(Self.body))
        if !isLate { try stream.set(.writeLimit, to: .milliseconds(20)) }
        try stream.open()
        if isLate { try stream.set(.writeLimit, to: .milliseconds(20)) }
        #expect(stream[.writeLimit] == .milliseconds(20))
        let error = await #expect(throws: StreamError.self) { _ = try await stream.response() }
        #expect(error == .timedOut && error?.description.contains("sending the request") == true)
        #expect((stream[.httpBodyBytesSent] ?? .max) < Self.body.count)
    }

    @Test("a server that takes its time, but takes it, does not run into the limit")
    func progress() async throws {
        let server = try HTTPServer(
            port: 0, isLocal: true,
            configuration: {
                var configuration = HTTPServer.Configuration()
                configuration.limits.bodyLength = .max
                return configuration
            }())
        let serving = Task {
            try await server.run { exchange in
                var count = 0
                while true {
                    let piece = try await exchange.readBody()
                    if piece.isEmpty { break }
                    count += piece.count
                }
                try await exchange.respond(.ok, body: Array("\(count)".utf8))
            }
        }
        defer { serving.cancel() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port ?? 0)/"))
        let stream = ReadStream(request: try HTTPRequest(method: .put, url: url), body: .bytes(Self.body))
        try stream.set(.writeLimit, to: .seconds(30))
        try stream.open()
        #expect(try await stream.readAll(limit: 100) == Array("\(Self.body.count)".utf8))
    }
}
