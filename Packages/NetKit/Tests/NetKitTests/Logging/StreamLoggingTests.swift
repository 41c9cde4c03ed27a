#if Logging
import EventLoops
import HostResolver
import InMemoryLogging
import Logging
import NetKit
import Testing

@_spi(Packages) @testable import StreamKit

/// A stream's log messages, with the trait `Logging`.
@Suite(.timeLimit(.minutes(5))) struct StreamLoggingTests {
    private let log = InMemoryLogHandler()

    private var logger: Logger {
        var logger = Logger(label: "test") { [log] _ in log }
        logger.logLevel = .trace
        return logger
    }

    /// A server on this machine that serves each client with a script.
    private func server(_ script: @escaping @Sendable (StreamPair) async throws -> Void = { _ in }) throws
        -> StreamListener
    {
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        Task { try await listener.run { client in try? await script(client) } }
        return listener
    }

    private func address(of listener: StreamListener) throws -> SocketAddress {
        .ip(.v4(.loopback), port: try #require(listener.port))
    }

    /// Opens the stream, and returns its log messages with their levels.
    private func messages(_ pair: StreamPair) async throws -> [String] {
        try pair.set(.logger, to: logger)
        do throws(StreamError) {
            try pair.open()
            try await pair.input.opened()
        } catch {}
        pair.close()
        return log.entries.map { "\($0.level) \($0.message)" }
    }

    @Test("a refusing address is logged at info, the connected one at debug, with metadata")
    func addresses() async throws {
        let listener = try server()
        defer { listener.stop(within: .zero) }
        let open = try address(of: listener)
        let closed = SocketAddress.ip(.v4(.loopback), port: 1)
        let lines = try await messages(StreamPair(addresses: [closed, open], name: "www.test"))
        try #require(lines.count == 2, "\(lines)")
        #expect(lines[0].hasPrefix("info connect 127.0.0.1:1: ") && lines[0].contains("refused"))
        #expect(lines[1] == "debug connect \(open): connected")
        let metadata = log.entries.map(\.metadata)
        try #require(metadata.count == 2)
        #expect(metadata[0]["outcome"] == "failed" && metadata[0]["step"] == "connect")
        #expect(metadata[0]["error-domain"] == "\(StreamErrorDomain.posix)" && metadata[0]["error-code"] == "111")
        #expect(metadata[1]["outcome"] == "succeeded" && metadata[1]["target"] == "\(open)")
        #expect(metadata.allSatisfy { $0["milliseconds"] != nil })
    }

    @Test("a failed lookup")
    func lookup() async throws {
        let pair = StreamPair(host: "nowhere.test", port: 80)
        try pair.set(.resolver, to: ResolverWithoutHosts())
        let lines = try await messages(pair)
        #expect(lines.count == 1 && lines[0].hasPrefix("info lookup nowhere.test: "), "\(lines)")
    }

    @Test("a proxy and its connection, once each, and never the password")
    func proxy() async throws {
        let proxy = try server { client in
            guard try await client.input.readExactly(4) == [5, 2, 0, 2] else { return }
            try await client.output.writeAll([5, 2])
            guard try await client.input.readExactly(12) == [1, 3] + Array("joe".utf8) + [6] + Array("hidden".utf8)
            else { return }
            try await client.output.writeAll([1, 0])
            _ = try await client.input.readExactly(5 + 8 + 2)
            try await client.output.writeAll([5, 0, 0, 1, 127, 0, 0, 1, 0, 9])
        }
        defer { proxy.stop(within: .zero) }
        let port = try #require(proxy.port)
        let pair = StreamPair(host: "www.test", port: 80)
        let socks = SOCKSProxy(host: "127.0.0.1", port: port, user: "joe", password: "hidden")
        try pair.set(.proxies, to: [ProxyRoute(socks)])
        let lines = try await messages(pair)
        try #require(lines.count == 2, "\(lines)")
        #expect(lines[0] == "debug connect 127.0.0.1:\(port): connected")
        #expect(lines[1].hasPrefix("debug SOCKS5 proxy 127.0.0.1:\(port): connected to www.test:80"))
        #expect(!"\(log.entries)".contains("hidden") && !"\(log.entries)".contains("joe"))
    }

    @Test("a failed handshake")
    func handshake() async throws {
        let server = try server { client in
            _ = try await client.input.read(upTo: 1000)
            try await client.output.writeAll(Array("220 no TLS here\r\n".utf8))
            _ = try await client.input.read(upTo: 1000)
        }
        defer { server.stop(within: .zero) }
        let pair = StreamPair(address: try address(of: server))
        try pair.set(.tls, to: TLSConfiguration())
        let lines = try await messages(pair)
        #expect(lines.count == 2 && lines[1].hasPrefix("info TLS "), "\(lines)")
    }

    @Test("nothing below the logger's level, and nothing without a logger")
    func levels() async throws {
        let listener = try server()
        defer { listener.stop(within: .zero) }
        let address = try address(of: listener)
        let pair = StreamPair(address: address)
        var logger = logger
        logger.logLevel = .info
        try pair.set(.logger, to: logger)
        try pair.open()
        try await pair.input.opened()
        #expect(throws: StreamError.self) { try pair.set(.logger, to: logger) }
        let silent = StreamPair(address: address)
        try silent.open()
        try await silent.input.opened()
        #expect(log.entries == [])
    }

    @Test("the query of a URL is not logged")
    func queries() {
        let request = ConnectionReport.Kind.request("GET", "https://www.test/a?token=hidden")
        ConnectionReport.Step(kind: request, start: .zero, time: .milliseconds(12), outcome: .succeeded("200"))
            .log(to: logger)
        ConnectionReport.Step(kind: .tls(nil), start: .zero).log(to: logger)
        #expect(
            log.entries.map { "\($0.message)" } == [
                "GET https://www.test/a?…: 200", "TLS without a name: in progress",
            ])
        #expect(
            log.entries.first?.metadata == [
                "step": "GET", "target": "https://www.test/a?…", "outcome": "succeeded", "milliseconds": "12.0",
            ])
        #expect(log.entries.last?.metadata["milliseconds"] == nil)
    }

    /// The lines of a log handler, and a logger to which it logs while it is called.
    private final class HandlerState: Sendable {
        let lines = Locked<[String]>([])
        let nested = Locked<Logger?>(nil)
    }

    private struct NestedHandler: LogHandler {
        let state: HandlerState
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let value = event.metadata?["a"].map { " \($0)" } ?? ""
            state.lines.withLock { $0.append("\(event.message)\(value)") }
            if "\(event.message)" == "two" { state.nested.withLock { $0 }?.info("nested") }
        }
    }

    @Test("a deferred log keeps lines while it is suspended, in their order, also if a handler logs")
    func deferred() throws {
        let state = HandlerState()
        var lines: [String] { state.lines.withLock { $0 } }
        #expect(DeferredLog(StreamProperties()) == nil)
        var properties = StreamProperties()
        properties[.logger] = Logger(label: "test") { _ in NestedHandler(state: state) }
        let log = try #require(DeferredLog(properties))
        log.install(in: &properties)
        let logger = try #require(properties[.logger])
        state.nested.withLock { $0 = logger }
        #expect(logger.label == "test" && logger.logLevel == .info)
        logger.info("one", metadata: ["a": "b"])
        logger.debug("below the level")
        log.suspend()
        logger.info("two")
        logger.info("three")
        #expect(lines.isEmpty)
        log.resume()
        #expect(lines == ["one b", "two", "three", "nested"])
        log.resume()
        logger.info("at once")
        #expect(lines.count == 5)
    }
}

private struct ResolverWithoutHosts: Resolver {
    func start(_ request: AddressRequest, _ handler: @escaping @Sendable (AddressEvent) -> Void) -> LookupToken {
        EventLoop.shared.execute { handler(.finished(ResolverError(.hostNotFound))) }
        return LookupToken { true }
    }
}

extension ReadStream {
    /// Reads exactly so many bytes, or fewer at the end.
    fileprivate func readExactly(_ count: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try await read(upTo: count - bytes.count)
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }
}
#endif
