@testable import HTTP2

/// A server that answers GET and HEAD at once and POST when it has read all, in a conversation of the case file.
struct ScenarioServer: ~Copyable {
    private var machine = HTTP2ServerMachine(allowsConnectProtocol: false, now: .zero)
    private var reaction = ScenarioReaction()
    private var now = Duration.zero
    /// The bytes of each response that were not sent.
    private var unsent: [StreamID: ArraySlice<UInt8>] = [:]
    private var methods: [StreamID: HTTPMethod] = [:]

    static func run(_ steps: [ScenarioStep]) throws -> ScenarioReaction {
        var server = ScenarioServer()
        for step in steps {
            for piece in step.input { server.receive(piece) }
            if step.closes { try? server.machine.receiveEnd(now: server.now) }
            if step.waits { server.wait() }
        }
        return server.reaction
    }

    private mutating func receive(_ bytes: [UInt8]) {
        guard reaction.error == nil else { return }
        now += .microseconds(10)
        do throws(HTTP2Error) { try machine.receive(bytes.span.bytes, now: now) } catch { reaction.error = error }
        serve()
    }

    /// Lets the time pass that a peer is given.
    private mutating func wait() {
        let end = now + .seconds(600)
        while reaction.error == nil, let deadline = machine.nextDeadline, deadline <= end {
            now = max(deadline, now)
            do throws(HTTP2Error) { try machine.tick(now: now) } catch { reaction.error = error }
            serve()
        }
    }

    private mutating func serve() {
        while let event = machine.nextEvent() {
            switch event {
            case .request(let stream, let request):
                reaction.requestCount += 1
                methods[stream] = request.head.method
            case .readable(let stream): discardBody(stream)
            case .ended(let stream): answer(stream)
            case .reset(let stream, _):
                unsent[stream] = nil
                machine.close(stream, now: now)
            default: break
            }
        }
        while let stream = machine.nextWritable() { send(stream) }
        reaction.note(machine.withOutput { $0.withUnsafeBytes { Array($0) } })
        machine.didWrite(machine.outputCount)
    }

    private mutating func discardBody(_ stream: StreamID) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            var span = buffer.mutableSpan
            var target = span.mutableBytes
            guard case .bytes(1...) = try? machine.read(stream, into: &target, now: now) else { return }
        }
    }

    private mutating func answer(_ stream: StreamID) {
        let isHead = methods[stream] == .head
        guard let response = try? HTTPResponse(status: .ok, fields: ["Server": "scenario"]),
            (try? machine.respond(stream, with: response, endsHere: isHead, now: now)) != nil
        else { return }
        if isHead { return machine.close(stream, now: now) }
        unsent[stream] = Array("hello, conversation\n".utf8)[...]
        send(stream)
    }

    private mutating func send(_ stream: StreamID) {
        guard let rest = unsent[stream] else { return }
        let bytes = Array(rest)
        guard let outcome = try? machine.send(bytes.span.bytes, on: stream, endsHere: true, now: now) else { return }
        unsent[stream] = rest.dropFirst(outcome.count)
        if outcome.isComplete {
            unsent[stream] = nil
            machine.close(stream, now: now)
        }
    }
}

/// A client that has sent requests before its peer begins.
struct ScenarioClient: ~Copyable {
    private var machine = HTTP2ClientMachine(now: .zero)
    private var reaction = ScenarioReaction()
    private var now = Duration.zero
    private var statuses: [StreamID: Int] = [:]
    private var bodies: [StreamID: [UInt8]] = [:]
    private var ends: [StreamID: ScenarioReaction.Outcome] = [:]
    /// The bytes of each request's body that were not sent.
    private var unsent: [StreamID: ArraySlice<UInt8>] = [:]

    static func run(_ steps: [ScenarioStep], _ requests: [[String]]) throws -> ScenarioReaction {
        var client = ScenarioClient()
        var streams: [StreamID] = []
        for request in requests {
            if let stream = try client.request(request) { streams.append(stream) }
        }
        for step in steps {
            for piece in step.input { client.receive(piece) }
            if let index = step.cancelled, index < streams.count {
                client.ends[streams[index]] = .cancelled
                client.machine.close(streams[index], now: client.now)
            }
            if step.closes { client.end() }
            if step.waits { client.wait() }
        }
        client.reaction.outcomes = streams.map { client.ends[$0] ?? .unanswered }
        return client.reaction
    }

    private mutating func request(_ request: [String]) throws -> StreamID? {
        guard request.count >= 2, let method = HTTPMethod(request[0]) else {
            throw CaseError("a request of another form")
        }
        var head = try HTTPRequest(method: method, target: request[1])
        if method != .connect { try head.fields.set("localhost", for: .host) }
        let hasBody = method == .connect || request.count > 2
        let stream = try machine.request(
            HTTP2Request(head, scheme: method == .connect ? "" : "https"), endsHere: !hasBody, now: now)
        if let stream, request.count > 2 {
            unsent[stream] = Array(request[2].utf8)[...]
            send(stream)
        }
        return stream
    }

    private mutating func send(_ stream: StreamID) {
        guard let rest = unsent[stream] else { return }
        let bytes = Array(rest)
        guard let outcome = try? machine.send(bytes.span.bytes, on: stream, endsHere: true, now: now) else { return }
        unsent[stream] = outcome.isComplete ? nil : rest.dropFirst(outcome.count)
    }

    private mutating func receive(_ bytes: [UInt8]) {
        guard reaction.error == nil else { return }
        now += .microseconds(10)
        do throws(HTTP2Error) { try machine.receive(bytes.span.bytes, now: now) } catch { reaction.error = error }
        readEvents()
    }

    private mutating func end() {
        try? machine.receiveEnd(now: now)
        readEvents()
    }

    private mutating func wait() {
        let end = now + .seconds(600)
        while reaction.error == nil, let deadline = machine.nextDeadline, deadline <= end {
            now = max(deadline, now)
            do throws(HTTP2Error) { try machine.tick(now: now) } catch { reaction.error = error }
            readEvents()
        }
    }

    private mutating func readEvents() {
        while let event = machine.nextEvent() {
            switch event {
            case .response(let stream, let response): statuses[stream] = response.status.code
            case .readable(let stream): read(stream)
            case .ended(let stream):
                read(stream)
                let body = String(decoding: bodies[stream] ?? [], as: UTF8.self)
                ends[stream] = .answer(statuses[stream] ?? 0, body)
            case .reset(let stream, let failure):
                if ends[stream] == nil {
                    ends[stream] = .failed(mayRepeat: failure.processing == .notProcessed || failure.requiresHTTP11)
                }
            default: break
            }
        }
        while let stream = machine.nextWritable() { send(stream) }
        reaction.note(machine.withOutput { $0.withUnsafeBytes { Array($0) } })
        machine.didWrite(machine.outputCount)
    }

    private mutating func read(_ stream: StreamID) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            var span = buffer.mutableSpan
            var target = span.mutableBytes
            guard case .bytes(let count) = try? machine.read(stream, into: &target, now: now), count > 0 else { return }
            bodies[stream, default: []] += buffer[..<count]
        }
    }
}
