import EventLoops
import HTTP2
import HTTPMessage
import StreamKit

/// What a server of HTTP/2 does with one connection, as a closure says.
///
/// Like ``HarshServer`` and ``RequestCrowd``, it uses public declarations only: a row of the benchmarks compiles the same file.
enum HTTP2Script {
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

    /// What is left to send of a response.
    private struct Rest {
        var bytes: ArraySlice<UInt8> = []
        /// The fields after the last byte; nil if more bytes follow.
        var trailers: HTTPFields?
    }

    /// Serves one connection until the client or the handler ends it.
    ///
    /// - Parameters:
    ///   - number: the number of the connection, for the handler.
    ///   - limits: what the server allows its client.
    ///   - readsBodies: whether bodies of requests are read; otherwise the client gets no credit.
    ///   - record: is called with each event before the handler, with the bytes of a body that have just arrived.
    static func serve(
        _ pair: StreamPair, number: Int = 1, limits: HTTP2Limits = HTTP2Limits(), readsBodies: Bool = true,
        _ handler: Handler = answer, record: (HTTP2Event, _ arrived: [UInt8]) -> Void = { _, _ in }
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
                switch event {
                case .reset(let stream, _): rests[stream] = nil
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
                default: break
                }
                record(event, arrived)
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
