internal import EventLoops
public import StreamKit

/// A server on loopback that sends back what it receives, on any number of connections, until it is released.
///
/// ```swift
/// let server = try EchoServer()
/// let stream = StreamPair(host: "127.0.0.1", port: server.port)
/// ```
public final class EchoServer: Sendable {
    /// The port on 127.0.0.1 where the server listens.
    public let port: UInt16

    private let listener: StreamListener

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - tls: TLS for every connection; nil for none.
    ///   - closes: whether the server closes a connection after the first bytes it has sent back.
    /// - Throws: `EADDRINUSE` if no port is free; `EMFILE` if no descriptor is free; `TLSFailure.badConfiguration` if
    ///   `tls` has no identity.
    public init(tls: TLSConfiguration? = nil, closes: Bool = false) throws(StreamError) {
        var configuration = StreamListener.Configuration()
        configuration.tls = tls
        listener = try StreamListener(address: .ip(.v4(.loopback), port: 0), configuration: configuration)
        guard let port = listener.port else { throw .closed }
        self.port = port
        Task { [listener] in
            try await listener.run { client in
                do {
                    for try await chunk in client.input.chunks() {
                        try await client.output.writeAll(chunk)
                        if closes { break }
                    }
                    try await client.output.finish()
                } catch {
                    // A client may disconnect at any time.
                }
            }
        }
    }

    deinit { listener.stop(within: .zero) }
}

/// A server on loopback that sends the same answers on every connection and records the requests.
///
/// ```swift
/// import StreamKit
/// import StreamKitTesting
/// import Testing
///
/// let server = try AnsweringServer("HTTP/1.1 204 No Content\r\n\r\n")
/// let pair = StreamPair(host: "127.0.0.1", port: server.port)
/// try pair.open()
/// try await pair.output.writeAll("GET / HTTP/1.1\r\n\r\n")
/// _ = try await pair.input.read(upTo: 100)
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

/// A TCP port on loopback that refuses connections: it stays reserved, without a listener, while this object lives.
///
/// ```swift
/// let refused = try RefusedPort()
/// let stream = StreamPair(host: "127.0.0.1", port: refused.port)
/// ```
///
/// A port that is merely free may be taken by another program before the test connects to it.
public final class RefusedPort: Sendable {
    /// 127.0.0.1 and the port.
    public let address: SocketAddress

    /// The port on 127.0.0.1.
    public let port: UInt16

    // Bound but not listening.
    private let holder: Socket

    /// Reserves a free port.
    ///
    /// - Throws: `EADDRINUSE` if no port is free; `EMFILE` if no descriptor is free.
    public init() throws(StreamError) {
        holder = try Socket(boundTo: .ip(.v4(.loopback), port: 0), .stream)
        guard let address = holder.localAddress, let port = address.port else { throw .closed }
        self.address = address
        self.port = port
    }
}
