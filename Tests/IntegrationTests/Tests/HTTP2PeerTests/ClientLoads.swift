import Dispatch
import EventLoops
import Foundation
import HTTPStream
import Peers
import Testing

/// The implementations that serve HTTP/2 without mistakes.
let honestServers: [HTTP2Server.Implementation] = [.nghttpd, .nginx, .apache, .hypercorn, .node]

/// Runs a test with a server, which has the file `hello`.
func withServer(
    _ implementation: HTTP2Server.Implementation, isSecure: Bool, requestsPerConnection: Int? = nil,
    _ test: (HTTP2Server) async throws -> Void
) async throws {
    let server = HTTP2Server(implementation, isSecure: isSecure, requestsPerConnection: requestsPerConnection)
    try server.start()
    defer { server.stop() }
    try server.write("hello", Array("hello\n".utf8))
    do {
        try await test(server)
    } catch {
        Issue.record("\(error)\n\(implementation) has logged:\n\(server.log.suffix(4000))")
    }
}

/// The options of loads of a server of the tests: HTTP/2 by ALPN or with prior knowledge, and connections of their own.
func makeOptions(isSecure: Bool) throws -> HTTPOptions {
    var options = HTTPOptions.userAgent
    options.versions = isSecure ? .automatic : .http2
    options.pool = HTTPConnectionPool()
    if isSecure { options.tls.trust = .only(file: try CertificateAuthority.shared().root) }
    return options
}

/// A session with any number of loads at once.
func makeSession(
    isSecure: Bool, _ change: (inout HTTPSession.Configuration) throws -> Void = { _ in }
) throws -> HTTPSession {
    var configuration = HTTPSession.Configuration()
    configuration.options = try makeOptions(isSecure: isSecure)
    configuration.proxies = .direct
    configuration.maximumConnectionsPerOrigin = .max
    try change(&configuration)
    return HTTPSession(configuration)
}

func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

/// Bytes in a pattern that reveals misplaced pieces.
func patterned(_ count: Int) -> [UInt8] {
    let period = (0..<4093).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + period.count)
    while bytes.count < count { bytes += period }
    bytes.removeLast(bytes.count - count)
    return bytes
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Hands out the numbers from 1, each once.
final class Numbers: Sendable {
    private let last = Locked(0)

    func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }
}

/// The styles of using a stream.
enum Style: CaseIterable {
    case task
    case thread
    case client
}

/// Opens a stream and reads it to its end, in a style. Closes it.
func readToEnd(_ stream: ReadStream, _ style: Style) async throws -> [UInt8] {
    defer { stream.close() }
    switch style {
    case .task:
        try stream.open()
        return try await stream.readAll(limit: 1 << 26)
    case .thread:
        return try await onThread {
            try stream.open()
            return try stream.readAll(limit: 1 << 26)
        }
    case .client: return try await ClientReader(stream).run()
    }
}

/// Runs `work` on a thread that may block.
func onThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try work() }) }
    }
}

/// Reads a stream in its events.
private final class ClientReader: Sendable {
    private struct State {
        var body: [UInt8] = []
        var continuation: CheckedContinuation<[UInt8], any Error>?
    }

    private let stream: ReadStream
    private let state = Locked(State())

    init(_ stream: ReadStream) { self.stream = stream }

    func run() async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.continuation = continuation }
            stream.setClient(.all) { [self] stream, event in receive(event, of: stream) }
            stream.schedule(on: .queue(DispatchQueue(label: "load")))
            do { try stream.open() } catch { finish(error) }
        }
    }

    private func receive(_ event: StreamEvent, of stream: ReadStream) {
        switch event {
        case .hasBytesAvailable:
            var buffer = [UInt8](repeating: 0, count: 65536)
            // The event of an error follows.
            guard let count = try? stream.tryRead(into: &buffer) else { return }
            state.withLock { $0.body += buffer[..<count] }
        case .errorOccurred: finish(stream.error)
        case .endEncountered: finish(nil)
        case .openCompleted, .canAcceptBytes: break
        }
    }

    private func finish(_ error: (any Error)?) {
        let (continuation, body) = state.withLock { ($0.continuation.take(), $0.body) }
        if let error { continuation?.resume(throwing: error) } else { continuation?.resume(returning: body) }
    }
}
