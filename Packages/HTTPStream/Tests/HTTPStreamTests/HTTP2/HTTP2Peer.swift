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
    /// Acts on an event. The connections are numbered from 1.
    typealias Handler = @Sendable (inout HTTP2ServerMachine, HTTP2Event, _ connection: Int) throws -> Action?

    /// What a handler cannot do with the machine.
    enum Action: Sendable {
        /// Sends this body after the head of a response, as the client gives credit, and ends the stream.
        case send([UInt8], on: StreamID)
        /// Writes these bytes, without a word from the machine.
        case write([UInt8])
        /// Closes the connection, after these bytes.
        case close([UInt8] = [])
        /// Closes the connection once all frames have been written, after these bytes.
        case finish([UInt8] = [])
        /// Takes all that the client sends from now on without an answer, also to PINGs.
        case fallSilent
        /// Returns what has just arrived of a request's body, as the client gives credit. The head has been sent.
        case echo(StreamID)
        /// Ends a response after all that has been returned, with these trailers.
        case end(StreamID, HTTPFields = HTTPFields())
    }

    private struct State {
        var requests: [(connection: Int, request: HTTP2Request)] = []
        var bodies: [StreamID: [UInt8]] = [:]
        var events: [HTTP2Event] = []
        var connections: [StreamPair] = []
        var ended = 0
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
        _ handler: @escaping Handler = HTTP2Peer.answer
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
                    try? await HTTP2Peer.serve(
                        server, number, limits, state, isRecorded: isRecorded, readsBodies: readsBodies, handler)
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

    /// What is left to send of a response.
    private struct Rest {
        var bytes: ArraySlice<UInt8> = []
        /// The fields after the last byte; nil if more bytes follow.
        var trailers: HTTPFields?
    }

    private static func serve(
        _ pair: StreamPair, _ number: Int, _ limits: HTTP2Limits, _ state: SharedState, isRecorded: Bool = true,
        readsBodies: Bool = true, _ handler: Handler
    ) async throws {
        var machine = HTTP2ServerMachine(limits: limits, now: .zero)
        var rests: [StreamID: Rest] = [:]
        func send(_ stream: StreamID, _ machine: inout HTTP2ServerMachine) throws {
            guard let rest = rests[stream] else { return }
            let endsHere = rest.trailers?.isEmpty == true
            let sent = try machine.send(Array(rest.bytes).span.bytes, on: stream, endsHere: endsHere, now: .zero)
            rests[stream] =
                sent.isComplete ? nil : Rest(bytes: rest.bytes.dropFirst(sent.count), trailers: rest.trailers)
            guard sent.isComplete, let trailers = rest.trailers else { return }
            if !trailers.isEmpty { try machine.sendTrailers(trailers, on: stream, now: .zero) }
            machine.close(stream, now: .zero)
        }
        func flush(_ machine: inout HTTP2ServerMachine) async throws {
            while true {
                while let stream = machine.nextWritable() { try send(stream, &machine) }
                if machine.outputCount == 0 { break }
                let bytes = machine.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } }
                machine.didWrite(bytes.count)
                try await pair.output.writeAll(bytes)
            }
        }
        while true {
            try await flush(&machine)
            let bytes = try await pair.input.read(upTo: 65536)
            if bytes.isEmpty { return }
            try machine.receive(bytes.span.bytes, now: .zero)
            while let event = machine.nextEvent() {
                var arrived: [UInt8] = []
                if isRecorded { state.locked.withLock { $0.events.append(event) } }
                switch event {
                case .reset(let stream, _): rests[stream] = nil
                case .request(_, let request) where isRecorded:
                    state.locked.withLock { $0.requests.append((number, request)) }
                case .readable(let stream) where readsBodies:
                    var buffer = [UInt8](repeating: 0, count: 65536)
                    reading: while true {
                        var span = buffer.mutableSpan
                        var memory = span.mutableBytes
                        // The handler may have closed the stream.
                        switch (try? machine.read(stream, into: &memory, now: .zero)) ?? .ended {
                        case .bytes(let count): arrived += buffer.prefix(count)
                        case .blocked, .ended, .reset: break reading
                        @unknown default: break reading
                        }
                    }
                    if isRecorded { state.locked.withLock { $0.bodies[stream, default: []] += arrived } }
                default: break
                }
                switch try handler(&machine, event, number) {
                case .write(let bytes): try await pair.output.writeAll(bytes)
                case .close(let bytes):
                    try await pair.output.writeAll(bytes)
                    return
                case .finish(let bytes):
                    try await flush(&machine)
                    try await pair.output.writeAll(bytes)
                    return
                case .fallSilent:
                    while try await !pair.input.read(upTo: 65536).isEmpty {}
                    return
                case .send(let body, let stream):
                    rests[stream] = Rest(bytes: body[...], trailers: [:])
                    try send(stream, &machine)
                case .echo(let stream):
                    rests[stream, default: Rest()].bytes += arrived
                    try send(stream, &machine)
                case .end(let stream, let trailers):
                    rests[stream, default: Rest()].trailers = trailers
                    try send(stream, &machine)
                case nil: break
                }
            }
        }
    }

    /// Serves one connection.
    static func serve(_ pair: StreamPair, readsBodies: Bool = true, _ handler: Handler = answer) async throws {
        try await serve(pair, 1, HTTP2Limits(), SharedState(), readsBodies: readsBodies, handler)
    }

    // MARK: Answers

    /// Answers each request with 200 and its own path, once it has ended.
    static let answer: Handler = { (machine, event, _) in
        if case .ended(let stream) = event { try machine.answer(stream) }
        return nil
    }

    /// GOAWAY, whatever the machine knows.
    static func goAway(last stream: UInt32, _ code: ErrorCode = .noError) -> [UInt8] {
        [0, 0, 8, 7, 0, 0, 0, 0, 0] + bigEndian(stream) + bigEndian(code.rawValue)
    }

    /// RST_STREAM, whatever the machine knows.
    static func reset(_ stream: StreamID, _ code: ErrorCode) -> [UInt8] {
        [0, 0, 4, 3, 0] + bigEndian(stream.rawValue) + bigEndian(code.rawValue)
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

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

extension HTTP2Machine where Side == HTTP2ServerSide {
    /// Sends a whole response, as far as the client's windows allow.
    mutating func answer(
        _ stream: StreamID, _ status: HTTPStatus = .ok, fields: HTTPFields = HTTPFields(), body: [UInt8] = []
    ) throws(HTTP2Error) {
        guard var response = try? HTTPResponse(status: status) else { return }
        response.fields = fields
        try respond(stream, with: response, endsHere: body.isEmpty, now: .zero)
        if !body.isEmpty { _ = try send(body.span.bytes, on: stream, endsHere: true, now: .zero) }
        close(stream, now: .zero)
    }
}

/// Runs a closure on a thread of its own, which it may block.
func onThread<Outcome: Sendable>(_ work: @escaping @Sendable () throws -> Outcome) async throws -> Outcome {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
