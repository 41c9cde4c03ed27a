import EventLoops
import HTTPMessage
import HTTPStreamTesting
import StreamKit

@testable import HTTPStream

extension HTTPServer {
    /// Serves one connection whose client has sent bytes before: a time limit that ends at once can then not pass before they have
    /// arrived, however slow the machine is.
    ///
    /// - Parameters:
    ///   - sent: what the client has sent.
    ///   - change: changes the configuration of the server.
    ///   - handler: the handler of the server.
    ///   - body: acts as the client.
    static func serving<Result: Sendable>(
        _ sent: String, _ change: (inout Configuration) -> Void = { _ in },
        answering handler: @escaping Handler = { try await $0.respond(.ok) },
        during body: (StreamPair) async throws -> Result
    ) async throws -> Result {
        var configuration = Configuration.patient
        change(&configuration)
        let (near, far) = try Socket.pair()
        let (client, server) = (try near.makeStreams(), try far.makeStreams())
        for pair in [client, server] { try pair.open() }
        defer { client.close() }
        try await client.output.writeAll(sent)
        let running = Task(executorPreference: server.input.waitPoint.loop) { [configuration] in
            await HTTPServer.serve(server, configuration, handler)
            server.close()
        }
        let result: Result
        do {
            result = try await body(client)
        } catch {
            running.cancel()
            throw error
        }
        client.close()
        await running.value
        return result
    }
}

extension StreamPair {
    /// Everything that arrives until the end.
    func rest() async throws -> String {
        var bytes: [UInt8] = []
        while case let more = try await input.read(upTo: 65536), !more.isEmpty { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }
}
