internal import EventLoops
public import StreamKit

/// A server on loopback that says the same on every connection, whatever it is asked, and keeps what that was.
///
/// ```swift
/// let server = try AnsweringServer("HTTP/1.1 204 No Content\r\n\r\n")
/// let stream = StreamPair(host: "127.0.0.1", port: server.port)
/// …
/// #expect(server.requests == ["GET / HTTP/1.1\r\n\r\n"])
/// ```
///
/// It hangs up when it has said everything, and ends when it is let go.
public final class AnsweringServer: Sendable {
    /// The port of 127.0.0.1 where it listens.
    public let port: UInt16

    /// What has come; the handler has it too, and not the server, which ends when its user lets go.
    private final class Record: Sendable {
        let connections = Locked(0)
        let requests = Locked<[String]>([])
    }

    private let listener: StreamListener
    private let record = Record()

    /// Listens from here on.
    ///
    /// - Parameters:
    ///   - greeting: what it says before it is asked.
    ///   - answers: what it says, in turn, each time that something has come from the client; an empty one is silence.
    /// - Throws: `EADDRINUSE` if there is no free port, `EMFILE` without a free descriptor.
    public init(greeting: String = "", _ answers: String...) throws(StreamError) {
        listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        guard let port = listener.port else { throw .closed }
        self.port = port
        Task { [listener, record] in
            try await listener.run { client in
                record.connections.withLock { $0 += 1 }
                do {
                    try await client.output.writeAll(Array(greeting.utf8))
                    for answer in answers {
                        let request = try await client.input.read(upTo: 8192)
                        if !request.isEmpty {
                            record.requests.withLock { $0.append(String(decoding: request, as: UTF8.self)) }
                        }
                        try await client.output.writeAll(Array(answer.utf8))
                    }
                    try await client.output.finish()
                } catch {
                    // A client may leave whenever it likes.
                }
            }
        }
    }

    deinit { listener.stop(within: .zero) }

    /// How many connections have come.
    public var connections: Int { record.connections.withLock { $0 } }

    /// What has come from clients: a request for each answer that was given to one, unless the client had said nothing.
    public var requests: [String] { record.requests.withLock { $0 } }
}
