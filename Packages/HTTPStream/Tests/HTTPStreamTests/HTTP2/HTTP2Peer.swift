import EventLoops
import Foundation
import Glibc
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// A server of HTTP/2 within the process, which acts on each event as a closure says.
final class HTTP2Peer: Sendable {
    private struct State {
        var requests: [(connection: Int, request: HTTP2Request)] = []
        var bodies: [StreamID: [UInt8]] = [:]
        var events: [HTTP2Event] = []
        var connections: [StreamPair] = []
        var ended = 0

        mutating func record(_ event: HTTP2Event, _ arrived: [UInt8], _ connection: Int) {
            events.append(event)
            switch event {
            case .request(_, let request): requests.append((connection, request))
            case .readable(let stream): bodies[stream, default: []] += arrived
            default: break
            }
        }
    }

    let pool: HTTPConnectionPool
    private let state: SharedState

    private final class SharedState: Sendable {
        let locked = Locked(State())
    }

    /// - Parameters:
    ///   - limits: what the server allows its clients.
    ///   - http1: the numbers of the connections on which the server answers each request of HTTP/1.1 with 200 instead.
    ///   - idleTime: how long the client keeps a connection without requests.
    ///   - isRecorded: whether requests, events and bodies are kept.
    ///   - readsBodies: whether bodies of requests are read; otherwise the client gets no credit.
    ///   - handler: acts on an event; by default, each request is answered with 200 at its end.
    init(
        limits: HTTP2Limits = HTTP2Limits(), http1: ClosedRange<Int> = 0...0,
        idleTime: Duration = .seconds(3600), isRecorded: Bool = true, readsBodies: Bool = true,
        _ handler: @escaping HTTP2Script.Handler = HTTP2Script.answer
    ) {
        let state = SharedState()
        self.state = state
        var kept = HTTPConnectionPool.Limits(idle: idleTime)
        // Of a slow machine, not of a dead server.
        kept.silenceTimeout = .seconds(3600)
        pool = HTTPConnectionPool(limits: kept) { _, loop in
            var ends: [CInt] = [-1, -1]
            precondition(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            let server = StreamPair(descriptor: ends[1], ownership: .owned, loop: loop)
            let number = state.locked.withLock { state in
                state.connections.append(server)
                return state.connections.count
            }
            Task {
                try? server.open()
                if !http1.contains(number) {
                    try? await HTTP2Script.serve(
                        server, number: number, limits: limits, readsBodies: readsBodies, handler
                    ) { event, arrived in
                        if isRecorded { state.locked.withLock { $0.record(event, arrived, number) } }
                    }
                } else {
                    await HTTPServer.serve(server, HTTPServer.Configuration()) { exchange in
                        try await exchange.respond(.ok, body: Array("HTTP/1.1".utf8))
                    }
                }
                server.close()
                state.locked.withLock { $0.ended += 1 }
            }
            return StreamPair(descriptor: ends[0], ownership: .owned, loop: loop)
        }
    }

    /// The requests so far, with the numbers of their connections.
    var requests: [(connection: Int, request: HTTP2Request)] { state.locked.withLock { $0.requests } }
    /// All events so far.
    var events: [HTTP2Event] { state.locked.withLock { $0.events } }
    /// The body that has arrived for each stream.
    var bodies: [StreamID: [UInt8]] { state.locked.withLock { $0.bodies } }
    var connectionCount: Int { state.locked.withLock { $0.connections.count } }
    /// The number of connections that have ended.
    var endedCount: Int { state.locked.withLock { $0.ended } }

    /// The connection that loads share.
    func link() throws -> HTTP2ClientLink {
        let origin = try HTTPOrigin(#require(URL(string: "http://www.example.org/")))
        let key = HTTPConnectionKey(origin, StreamProperties(), loop: .shared)
        return try #require(pool.shared(SharedLinks.Key(connection: key, limits: .default)))
    }

    /// Closes the connection with this number.
    func close(_ number: Int) { state.locked.withLock { $0.connections[number - 1] }.close() }

    // MARK: Requests

    /// The options of loads that lead to this server.
    func options(_ change: (inout HTTPOptions) -> Void = { _ in }) -> HTTPOptions {
        var options = HTTPOptions.userAgent
        options.versions = .http2
        options.pool = pool
        change(&options)
        return options
    }

    /// A session whose loads lead to this server.
    func session(_ change: (inout HTTPSession.Configuration) -> Void = { _ in }) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options = options()
        configuration.proxies = .direct
        change(&configuration)
        return HTTPSession(configuration)
    }

    /// An unopened stream.
    func stream(
        _ method: HTTPMethod = .get, _ path: String = "/", body: HTTPBody? = nil,
        _ change: (inout HTTPOptions) -> Void = { _ in }
    ) throws -> ReadStream {
        let url = try #require(URL(string: "http://www.example.org\(path)"))
        return try ReadStream(request: HTTPRequest(method: method, url: url), body: body, options: options(change))
    }
}

/// Runs a closure on a thread of its own, which it may block.
func onThread<Outcome: Sendable>(_ work: @escaping @Sendable () throws -> Outcome) async throws -> Outcome {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
