import EventLoops
import HTTP2
import HTTPMessage
import StreamKit

@testable import HTTPStream

/// A client of HTTP/2 that sends what a test says, to a server in the same process. Used by one task.
final class HTTP2Client {
    private(set) var machine: HTTP2ClientMachine
    let pair: StreamPair
    /// All events so far.
    private(set) var events: [HTTP2Event] = []
    private(set) var bodies: [StreamID: [UInt8]] = [:]
    /// Whether data is read as it arrives; otherwise it waits, and the server gets no more credit.
    var reads = true
    /// Whether the server has closed the connection.
    private(set) var hasEnded = false

    init(_ pair: StreamPair, _ limits: HTTP2Limits = HTTP2Limits()) {
        self.pair = pair
        machine = HTTP2ClientMachine(limits: limits, now: .zero)
    }

    /// Runs a handler of a server while `body` communicates with it.
    static func serving<Result: Sendable>(
        answering handler: @escaping HTTPServer.Handler = { try await $0.respond(.ok) },
        configuring change: (inout HTTPServer.Configuration) -> Void = { _ in },
        limits: HTTP2Limits = HTTP2Limits(),
        during body: (HTTP2Client) async throws -> Result
    ) async throws -> Result {
        try await HTTPServer.serving(
            "",
            { configuration in
                configuration.acceptsPriorKnowledge = true
                change(&configuration)
            }, answering: handler
        ) { pair in try await body(HTTP2Client(pair, limits)) }
    }

    /// Sends the head of a request.
    func request(
        _ method: HTTPMethod = .get, _ target: String = "/", fields: HTTPFields = HTTPFields(), endsHere: Bool = true
    ) async throws -> StreamID {
        var head = try HTTPRequest(method: method, target: target)
        for field in fields { try head.fields.append(field.value, for: field.name) }
        try head.fields.set("localhost", for: .host)
        guard let stream = try machine.request(HTTP2Request(head, scheme: "http"), endsHere: endsHere, now: .zero)
        else { throw StreamError.busy }
        try await flush()
        return stream
    }

    func send(_ bytes: [UInt8], on stream: StreamID, endsHere: Bool = true) async throws {
        _ = try machine.send(bytes.span.bytes, on: stream, endsHere: endsHere, now: .zero)
        try await flush()
    }

    func change(_ body: (inout HTTP2ClientMachine) throws -> Void) async throws {
        try body(&machine)
        try await flush()
    }

    /// Writes what the machine has to send.
    func flush() async throws {
        while machine.outputCount > 0 {
            let bytes = machine.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } }
            machine.didWrite(bytes.count)
            try await pair.output.writeAll(bytes)
        }
    }

    /// Acts on what the server sends until a condition holds, or the server has closed the connection.
    func run(until isOver: (HTTP2Client) -> Bool) async throws {
        try? await flush()
        while !isOver(self), !hasEnded {
            let bytes = try await pair.input.read(upTo: 65536)
            if bytes.isEmpty {
                hasEnded = true
                do throws(HTTP2Error) { try machine.receiveEnd(now: .zero) } catch {}
            } else {
                do throws(HTTP2Error) { try machine.receive(bytes.span.bytes, now: .zero) } catch {}
            }
            while let event = machine.nextEvent() {
                events.append(event)
                if case .readable(let stream) = event, reads { try read(stream) }
            }
            try? await flush()
        }
    }

    func runToEnd() async throws { try await run { _ in false } }

    /// Acts on what the server sends until these streams have ended.
    func run(toEndOf streams: StreamID...) async throws {
        try await run { client in streams.allSatisfy { client.hasEnded($0) } }
    }

    func hasEnded(_ stream: StreamID) -> Bool {
        events.contains {
            switch $0 {
            case .ended(stream), .reset(stream, _): true
            default: false
            }
        }
    }

    func read(_ stream: StreamID) throws {
        var memory = [UInt8](repeating: 0, count: 65536)
        while true {
            var span = memory.mutableSpan
            var target = span.mutableBytes
            guard case .bytes(let count) = try machine.read(stream, into: &target, now: .zero) else { return }
            bodies[stream, default: []] += memory[..<count]
        }
    }

    /// The response on a stream.
    func response(_ stream: StreamID) -> HTTPResponse? {
        for case .response(stream, let response) in events { return response }
        return nil
    }

    func text(_ stream: StreamID) -> String { String(decoding: bodies[stream] ?? [], as: UTF8.self) }

    func failure(_ stream: StreamID) -> HTTP2StreamFailure? {
        for case .reset(stream, let failure) in events { return failure }
        return nil
    }

    /// The GOAWAY frames so far.
    var goAways: [HTTP2GoAway] {
        events.compactMap { if case .goAway(let goAway) = $0 { goAway } else { nil } }
    }
}
