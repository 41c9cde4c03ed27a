import Foundation
import Testing

@testable import FTPStream

/// Servers of `ftps` URLs that greet in plaintext, but only after the silence that means implicit TLS.
@Suite(.timeLimit(.minutes(5))) struct LateGreetingTests {
    /// A server whose first connections stay silent until the client sends something, and then greet.
    private final class LateServer: Sendable {
        let port: UInt16
        private let listener: StreamListener
        private let seen = Record()

        private final class Record: Sendable {
            let lines = Locked<[String]>([])
        }

        /// What each connection has received: `TLS` for the beginning of a handshake, and commands.
        var lines: [String] { seen.lines.withLock { $0 } }

        /// - Parameters:
        ///   - lateCount: the number of connections that greet late.
        ///   - greeting: the late greeting.
        init(lateCount: Int, greeting: String) throws {
            listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
            port = listener.port ?? 0
            Task { [listener, seen] in
                try await listener.run { client in
                    if seen.lines.withLock({ $0.count }) < lateCount {
                        guard let bytes = try? await client.input.read(upTo: 4096) else { return }
                        seen.lines.withLock { $0.append(bytes.first == 22 ? "TLS" : "other bytes") }
                        try? await client.output.writeAll(Array((greeting + "\r\n").utf8))
                        return
                    }
                    try? await client.output.writeAll(Array("220 Hi.\r\n".utf8))
                    while let bytes = try? await client.input.read(upTo: 4096), !bytes.isEmpty {
                        seen.lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
                        try? await client.output.writeAll(Array("502 No.\r\n".utf8))
                    }
                }
            }
        }

        deinit { listener.stop(within: .zero) }
    }

    /// Runs a command at a server, and returns its failure.
    private func failure(at server: LateServer) async throws -> StreamError? {
        var options = FTPOptions()
        options.pool = FTPSessionPool()
        options.password = "secret"
        options.turningPoints.silence = .milliseconds(10)
        let location = try FTPLocation(try #require(URL(string: "ftps://ann@127.0.0.1:\(server.port)/")))
        var conversation = try FTPConversation(location, .raw(FTPCommand("STAT")), options, loop: .shared) {}
        defer { conversation.close() }
        do throws(StreamError) {
            while !conversation.isDone, !Task.isCancelled {
                _ = try conversation.advance()
                await Task.yield()
            }
            return nil
        } catch {
            return error
        }
    }

    /// The second connection waits for the greeting, and sends nothing but AUTH TLS in clear.
    @Test func theSessionBeginsAgainWithAUTH() async throws {
        let server = try LateServer(lateCount: 1, greeting: "220 Hello.")
        let error = try await failure(at: server)
        #expect((error?.underlying as? FTPError)?.code == .notSecure, "\(error.debugDescription)")
        #expect(server.lines == ["TLS", "AUTH TLS\r\n"])
    }

    /// Another protocol is no late greeting: the failure of the handshake stands.
    @Test func anotherProtocolIsNotTriedAgain() async throws {
        let server = try LateServer(lateCount: 2, greeting: "HTTP/1.1 400 Bad Request")
        let error = try await failure(at: server)
        #expect(error?.reason == .foreignProtocol)
        #expect(server.lines == ["TLS"])
    }
}
