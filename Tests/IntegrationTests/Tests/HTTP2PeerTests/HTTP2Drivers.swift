import HTTP2
import Peers
import StreamKit

/// Carries the bytes of a client machine over a stream. It holds no rule of the protocol.
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

    private(set) var machine: HTTP2ClientMachine
    private let pair: StreamPair
    private let start = ContinuousClock.now
    private var answers: [StreamID: Answer] = [:]
    /// What was not sent of each request's body.
    private var unsent: [StreamID: ArraySlice<UInt8>] = [:]

    init(port: Int, isSecure: Bool) throws {
        pair = StreamPair(host: "localhost", port: UInt16(port))
        if isSecure {
            var configuration = TLSConfiguration()
            configuration.trust = .only(file: try CertificateAuthority.shared().root)
            configuration.applicationProtocols = ["h2"]
            try pair.set(.tls, to: configuration)
        }
        try pair.open()
        machine = HTTP2ClientMachine(now: .zero)
    }

    deinit { pair.close() }

    private var now: Duration { start.duration(to: .now) }

    /// Sends requests at once, as far as the server allows, and returns their answers when all are complete.
    func load(_ requests: [(request: HTTP2Request, body: [UInt8])]) async throws -> [Answer] {
        var rest = requests[...]
        var streams: [StreamID] = []
        while true {
            while let next = rest.first,
                let stream = try machine.request(next.request, endsHere: next.body.isEmpty, now: now)
            {
                rest = rest.dropFirst()
                streams.append(stream)
                answers[stream] = Answer()
                unsent[stream] = next.body.isEmpty ? nil : next.body[...]
                try send(stream)
            }
            while let stream = machine.nextWritable() { try send(stream) }
            let output = machine.withOutput { $0.withUnsafeBytes { Array($0) } }
            machine.didWrite(output.count)
            if !output.isEmpty { try await pair.output.writeAll(output) }
            let areComplete = streams.allSatisfy { answers[$0]?.isComplete ?? true }
            if areComplete, rest.isEmpty || machine.isDraining { break }
            if output.isEmpty { try await receive() }
        }
        return streams.compactMap { answers[$0] }
    }

    private func receive() async throws {
        // A server that closes with unread bytes resets the connection, which is an end as well.
        let input = (try? await pair.input.read(upTo: 65_536)) ?? []
        do throws(HTTP2Error) {
            if input.isEmpty {
                try machine.receiveEnd(now: now)
            } else {
                try machine.receive(input.span.bytes, now: now)
            }
        } catch {}  // The events tell the end of each stream.
        while let event = machine.nextEvent() { try act(on: event) }
    }

    private func act(on event: HTTP2Event) throws {
        switch event {
        case .interim(let stream, let response): answers[stream]?.interim.append(response.status.code)
        case .response(let stream, let response):
            answers[stream]?.status = response.status.code
            answers[stream]?.fields = response.fields
        case .readable(let stream): try read(stream)
        case .trailers(let stream, let trailers): answers[stream]?.trailers = trailers
        case .ended(let stream):
            try read(stream)
            complete(stream)
        case .reset(let stream, let failure):
            try read(stream)
            answers[stream]?.failure = failure
            complete(stream)
        default: break
        }
    }

    private func complete(_ stream: StreamID) {
        answers[stream]?.isComplete = true
        unsent[stream] = nil
        machine.close(stream)
    }

    private func read(_ stream: StreamID) throws {
        var memory = [UInt8](repeating: 0, count: 16_384)
        while true {
            var span = memory.mutableSpan
            var target = span.mutableBytes
            guard case .bytes(let count) = try machine.read(stream, into: &target, now: now) else { return }
            answers[stream]?.body += memory[..<count]
        }
    }

    private func send(_ stream: StreamID) throws {
        guard let body = unsent[stream] else { return }
        let bytes = Array(body)
        let outcome = try machine.send(bytes.span.bytes, on: stream, endsHere: true, now: now)
        unsent[stream] = outcome.isComplete ? nil : body.dropFirst(outcome.count)
    }
}

/// Carries the bytes of a server machine over a stream, with a small application: `GET /bytes/N`, and an echo of each body.
final class HTTP2Responder {
    private var machine: HTTP2ServerMachine
    private let pair: StreamPair
    private let start = ContinuousClock.now
    private var requests: [StreamID: HTTP2Request] = [:]
    private var bodies: [StreamID: [UInt8]] = [:]
    private var unsent: [StreamID: ArraySlice<UInt8>] = [:]

    init(_ pair: StreamPair) {
        self.pair = pair
        machine = HTTP2ServerMachine(now: .zero)
    }

    private var now: Duration { start.duration(to: .now) }

    /// Serves until the client has closed the connection.
    func run() async throws {
        while true {
            while let stream = machine.nextWritable() { try send(stream) }
            let output = machine.withOutput { $0.withUnsafeBytes { Array($0) } }
            machine.didWrite(output.count)
            if !output.isEmpty { try await pair.output.writeAll(output) }
            if !output.isEmpty { continue }
            if machine.failure != nil { return }
            let input = try await pair.input.read(upTo: 65_536)
            if input.isEmpty { return }
            do throws(HTTP2Error) { try machine.receive(input.span.bytes, now: now) } catch {}
            while let event = machine.nextEvent() { try act(on: event) }
        }
    }

    private func act(on event: HTTP2Event) throws {
        switch event {
        case .request(let stream, let request): requests[stream] = request
        case .readable(let stream): try read(stream)
        case .ended(let stream):
            try read(stream)
            try answer(stream)
        case .reset(let stream, _):
            unsent[stream] = nil
            machine.close(stream)
        default: break
        }
    }

    private func answer(_ stream: StreamID) throws {
        guard let request = requests.removeValue(forKey: stream) else { return }
        let received = bodies.removeValue(forKey: stream) ?? []
        let path = request.head.target.path ?? ""
        let count = path.hasPrefix("/bytes/") ? Int(path.dropFirst(7)) ?? 0 : 0
        let body = received.isEmpty ? [UInt8](repeating: 0x78, count: count) : received
        let isHead = request.head.method == .head
        var response = try HTTPResponse(status: .ok, fields: ["Content-Type": "text/plain"])
        try response.fields.set("\(body.count)", for: .contentLength)
        try machine.respond(stream, with: response, endsHere: isHead || body.isEmpty, now: now)
        if isHead || body.isEmpty { return machine.close(stream) }
        unsent[stream] = body[...]
        try send(stream)
    }

    private func read(_ stream: StreamID) throws {
        var memory = [UInt8](repeating: 0, count: 16_384)
        while true {
            var span = memory.mutableSpan
            var target = span.mutableBytes
            guard case .bytes(let count) = try machine.read(stream, into: &target, now: now) else { return }
            bodies[stream, default: []] += memory[..<count]
        }
    }

    private func send(_ stream: StreamID) throws {
        guard let body = unsent[stream] else { return }
        let bytes = Array(body)
        let outcome = try machine.send(bytes.span.bytes, on: stream, endsHere: true, now: now)
        unsent[stream] = outcome.isComplete ? nil : body.dropFirst(outcome.count)
        if outcome.isComplete { machine.close(stream) }
    }
}
