internal import EventLoops
public import StreamKit

/// A server on loopback that sends the same answers on every connection and records the requests.
///
/// ```swift
/// let server = try AnsweringServer("HTTP/1.1 204 No Content\r\n\r\n")
/// let stream = StreamPair(host: "127.0.0.1", port: server.port)
/// …
/// #expect(server.requests == ["GET / HTTP/1.1\r\n\r\n"])
/// ```
///
/// It ends its sending direction after the last answer, and stops when it is released.
public final class AnsweringServer: Sendable {
    /// The port on 127.0.0.1 where the server listens.
    public let port: UInt16

    /// The received data. Shared with the handler, which must not keep the server alive.
    private final class Record: Sendable {
        let connections = Locked(0)
        let requests = Locked<[String]>([])
    }

    private let listener: StreamListener
    private let record = Record()

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - greeting: what the server sends before it receives anything.
    ///   - answers: what the server sends, in turn, each time it receives something; an empty answer sends nothing.
    /// - Throws: `EADDRINUSE` if no port is free; `EMFILE` if no descriptor is free.
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
                    // A client may disconnect at any time.
                }
            }
        }
    }

    deinit { listener.stop(within: .zero) }

    /// The number of connections accepted so far.
    public var connections: Int { record.connections.withLock { $0 } }

    /// The data received so far: one element per answer, except for answers sent to a client that had ended without
    /// sending more.
    public var requests: [String] { record.requests.withLock { $0 } }
}
