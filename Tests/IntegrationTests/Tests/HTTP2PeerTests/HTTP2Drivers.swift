import HTTP2
import Peers
import StreamKit

/// Carries the bytes of a machine over a stream, for the application of either side. It contains no rule of the protocol.
final class HTTP2Driver<Side: HTTP2Side> {
    var machine: HTTP2Machine<Side>
    private let pair: StreamPair
    private let start: ContinuousClock.Instant
    /// What was not sent of each body.
    private var unsent: [StreamID: ArraySlice<UInt8>] = [:]

    init(_ pair: StreamPair, _ machine: consuming HTTP2Machine<Side>, start: ContinuousClock.Instant) {
        self.pair = pair
        self.machine = machine
        self.start = start
    }

    var now: Duration { start.duration(to: .now) }

    /// Repeats until `isDone` says so or the connection has ended: writes all output, waits, and passes on what has happened.
    ///
    /// As all output is written before the driver reads, `isOutputFull` is never true when it does.
    func run(until isDone: () throws -> Bool, _ act: (HTTP2Event) throws -> Void) async throws {
        while true {
            let isLast = try isDone()
            while let stream = machine.nextWritable() { try send(unsent[stream] ?? [], on: stream) }
            let output = machine.withOutput { $0.withUnsafeBytes { Array($0) } }
            if !output.isEmpty { try await pair.output.writeAll(output) }
            machine.didWrite(output.count)
            // What has left makes room for more.
            if !output.isEmpty { continue }
            if isLast || machine.failure != nil { return }
            try await receive()
            while let event = machine.nextEvent() { try act(event) }
        }
    }

    private func receive() async throws {
        let input = try await read(until: machine.nextDeadline)
        do throws(HTTP2Error) {
            switch input {
            case nil: try machine.tick(now: now)
            case []: try machine.receiveEnd(now: now)
            case let bytes?: try machine.receive(bytes.span.bytes, now: now)
            }
        } catch {}  // The events tell the end of each stream.
    }

    /// Returns bytes, none at the end, or nil at the deadline.
    private func read(until deadline: Duration?) async throws -> [UInt8]? {
        try pair.set(.readTimeout, to: deadline.map { max(.milliseconds(1), $0 - now) })
        do throws(StreamError) {
            return try await pair.input.read(upTo: 65_536)
        } catch {
            // A peer that closes with unread bytes resets the connection, which is an end as well.
            return error == .timedOut ? nil : []
        }
    }

    /// Sends a body, which ends the message: as much as can leave now, and the rest when its turn comes. Returns whether it is complete.
    @discardableResult
    func send(_ body: ArraySlice<UInt8>, on stream: StreamID) throws -> Bool {
        let bytes = Array(body)
        let outcome = try machine.send(bytes.span.bytes, on: stream, endsHere: true, now: now)
        unsent[stream] = outcome.isComplete ? nil : body.dropFirst(outcome.count)
        return outcome.isComplete
    }

    /// Whether a stream waits to send.
    func isSending(_ stream: StreamID) -> Bool { unsent[stream] != nil }

    func close(_ stream: StreamID) {
        unsent[stream] = nil
        machine.close(stream, now: now)
    }

    /// Returns what can be read of a stream.
    func read(_ stream: StreamID) throws -> [UInt8] {
        var (all, memory): ([UInt8], _) = ([], [UInt8](repeating: 0, count: 16_384))
        while true {
            var span = memory.mutableSpan
            var target = span.mutableBytes
            guard case .bytes(let count) = try machine.read(stream, into: &target, now: now) else { return all }
            all += memory[..<count]
        }
    }
}

/// A client that loads lists of requests.
final class HTTP2Client {
    struct Answer {
        var status = 0
        var interim: [Int] = []
        var fields: HTTPFields = [:]
        var body: [UInt8] = []
        var trailers: HTTPFields?
        var failure: HTTP2StreamFailure?
        fileprivate var isComplete = false
    }

    private let driver: HTTP2Driver<HTTP2ClientSide>
    private let pair: StreamPair
    private var answers: [StreamID: Answer] = [:]

    init(port: Int, isSecure: Bool) throws {
        pair = StreamPair(host: "localhost", port: UInt16(port))
        if isSecure {
            var configuration = TLSConfiguration()
            configuration.trust = .only(file: try CertificateAuthority.shared().root)
            configuration.applicationProtocols = ["h2"]
            try pair.set(.tls, to: configuration)
        }
        try pair.open()
        driver = HTTP2Driver(pair, HTTP2ClientMachine(now: .zero), start: .now)
    }

    deinit { pair.close() }

    /// Sends requests at once, as far as the server allows, and returns their answers when all are complete.
    func load(_ requests: [(request: HTTP2Request, body: [UInt8])]) async throws -> [Answer] {
        var rest = requests[...]
        var streams: [StreamID] = []
        try await driver.run {
            while let next = rest.first,
                let stream = try driver.machine.request(next.request, endsHere: next.body.isEmpty, now: driver.now)
            {
                rest = rest.dropFirst()
                streams.append(stream)
                answers[stream] = Answer()
                if !next.body.isEmpty { try driver.send(next.body[...], on: stream) }
            }
            return streams.allSatisfy { answers[$0]?.isComplete ?? true } && (rest.isEmpty || driver.machine.isDraining)
        } _: { event in
            try act(on: event)
        }
        return streams.compactMap { answers[$0] }
    }

    private func act(on event: HTTP2Event) throws {
        switch event {
        case .interim(let stream, let response): answers[stream]?.interim.append(response.status.code)
        case .response(let stream, let response):
            answers[stream]?.status = response.status.code
            answers[stream]?.fields = response.fields
        case .readable(let stream): answers[stream]?.body += try driver.read(stream)
        case .trailers(let stream, let trailers): answers[stream]?.trailers = trailers
        case .ended(let stream): try complete(stream)
        case .reset(let stream, let failure):
            answers[stream]?.failure = failure
            try complete(stream)
        default: break
        }
    }

    private func complete(_ stream: StreamID) throws {
        answers[stream]?.body += try driver.read(stream)
        answers[stream]?.isComplete = true
        driver.close(stream)
    }
}

/// A server with a small application: `GET /bytes/N`, and an echo of each body.
final class HTTP2Responder {
    private let driver: HTTP2Driver<HTTP2ServerSide>
    private var requests: [StreamID: HTTP2Request] = [:]
    private var bodies: [StreamID: [UInt8]] = [:]
    private var answered: [StreamID] = []

    init(_ pair: StreamPair) {
        driver = HTTP2Driver(pair, HTTP2ServerMachine(now: .zero), start: .now)
    }

    /// Serves until the client has closed the connection.
    func run() async throws {
        try await driver.run {
            for stream in answered where !driver.isSending(stream) { driver.close(stream) }
            answered.removeAll { !driver.isSending($0) }
            return false
        } _: { event in
            try act(on: event)
        }
    }

    private func act(on event: HTTP2Event) throws {
        switch event {
        case .request(let stream, let request): requests[stream] = request
        case .readable(let stream): bodies[stream, default: []] += try driver.read(stream)
        case .ended(let stream):
            bodies[stream, default: []] += try driver.read(stream)
            try answer(stream)
        case .reset(let stream, _):
            answered.removeAll { $0 == stream }
            driver.close(stream)
        default: break
        }
    }

    private func answer(_ stream: StreamID) throws {
        guard let request = requests.removeValue(forKey: stream) else { return }
        let received = bodies.removeValue(forKey: stream) ?? []
        let path = request.head.target.path ?? ""
        let count = path.hasPrefix("/bytes/") ? Int(path.dropFirst(7)) ?? 0 : 0
        let body = received.isEmpty ? [UInt8](repeating: 0x78, count: count) : received
        let isWhole = request.head.method == .head || body.isEmpty
        var response = try HTTPResponse(status: .ok, fields: ["Content-Type": "text/plain"])
        try response.fields.set("\(body.count)", for: .contentLength)
        try driver.machine.respond(stream, with: response, endsHere: isWhole, now: driver.now)
        if !isWhole { try driver.send(body[...], on: stream) }
        answered.append(stream)
    }
}
