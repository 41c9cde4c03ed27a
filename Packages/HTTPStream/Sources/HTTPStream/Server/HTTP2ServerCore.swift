internal import EventLoops
internal import HTTP2
internal import HTTPMessage
@_spi(Packages) internal import StreamKit

/// The requests on a client's connection of HTTP/2, without I/O: which of them a handler serves, and when the connection ends.
struct HTTP2ServerCore: HTTP2Core, ~Copyable {
    enum Notice: Sendable {
        /// There are requests for ``takeRequest()``.
        case requests
        /// Something has changed for a stream that a handler may wait for.
        case change(HTTP2ServerStream)
        /// The client has ended a stream, or the connection, before its messages were complete.
        case disconnection(HTTP2ServerStream)
        /// The ``activity`` has changed.
        case activity
    }

    var machine: HTTP2ServerMachine
    var phase = HTTP2Phase.open(.none)
    let start: Moment

    /// How many heads of the maximum size all requests may have together, trailers included: small blocks of HPACK can mean large heads.
    private static let maximumLargeHeads = 16

    private let loop: EventLoop
    private let configuration: HTTPServer.Configuration
    private var streams: [StreamID: HTTP2ServerStream] = [:]
    /// The requests that no handler has.
    private var arrived: [HTTP2ServerStream] = []
    /// The number of streams whose handlers wait for more of a request, and until they can send.
    private var waiting = (forRequest: 0, forRoom: 0)
    /// Whether a request has arrived.
    private var hasServed = false
    /// Whether the last stream of a connection that drains has ended.
    private var isDrained = false
    /// The number of bytes written.
    private(set) var written = 0
    /// The size of the heads and trailers of all requests.
    private var fieldSize = 0
    /// The stream that has been told to send more of its body.
    private var turn: StreamID?
    private var reportedActivity = ServedConnection.Activity.idle
    private var notices: [Notice] = []

    init(_ configuration: HTTPServer.Configuration, loop: EventLoop, now: Moment) {
        self.configuration = configuration
        self.loop = loop
        start = now
        machine = HTTP2ServerMachine(
            limits: HTTP2Limits(of: configuration), allowsConnectProtocol: true, now: .zero)
    }

    /// What the connection does.
    var activity: ServedConnection.Activity {
        if waiting.forRequest + waiting.forRoom < streams.count { return .busy }
        if waiting.forRoom > 0, waiting.forRequest == 0 { return .sending }
        // A connection that ends still waits for its client, which may have sent a request before it has heard of the end.
        return isUnused && isOpen ? .idle : .receiving
    }
}

extension HTTP2Limits {
    /// The limits of a client's connection.
    init(of configuration: HTTPServer.Configuration) {
        self.init(of: configuration.limits)
        maximumConcurrentStreams = configuration.maximumStreamsPerConnection
        initialStreamWindow = 64 * 1024
        maximumStreamWindow = 1 << 20
        connectionWindowReserve = 64 * 1024
        // Beyond what all streams have from the beginning.
        maximumConnectionWindow =
            connectionWindowReserve + Int64(maximumConcurrentStreams) * initialStreamWindow + 4 << 20
        fieldSectionTimeout = HTTP2Limits.positive(configuration.headTimeout)
        // It is noticed up to a quarter late.
        creditTimeout = HTTP2Limits.positive(configuration.writeTimeout - configuration.writeTimeout / 4)
        // The handler's wait has its own limit, and a client may wait for the handler.
        bodyTimeout = .seconds(1 << 32)
        // The PING of a shut-down follows all that the client has still to read.
        pingTimeout = creditTimeout
    }

    private static func positive(_ wait: Duration) -> Duration { max(wait, .milliseconds(1)) }
}

// MARK: - The life of the connection

extension HTTP2ServerCore {
    var isUnused: Bool { streams.isEmpty }

    mutating func drain(now: Moment) {
        guard isOpen else { return }
        phase = .draining
        machine.shutDown(now: elapsed(now))
    }

    mutating func endWait(now: Moment) {
        if hasServed { return drain(now: now) }
        // A client that has not even sent a request is not waited for.
        phase = .open(.none)
        machine.abort(.noError, now: elapsed(now))
    }

    /// As long as the client may take for the rest of a response.
    var lastWriteTimeout: Duration { configuration.writeTimeout }

    mutating func fail(_ error: StreamError, now: Moment) {
        if hasEnded { return }
        endMachine(error, now: now)
        settle(now: now)
    }

    mutating func endIfOver(now: Moment) {
        if hasEnded { return }
        if let failure = machine.failure {
            phase = .ended(.http2(failure))
        } else if isUnused {
            if isDrained {
                endOnceWritten(now: now)
            } else if case .open(.none) = phase {
                phase = .open(
                    .request(until: now + (hasServed ? configuration.idleTimeout : configuration.headTimeout)))
            }
        }
    }

    mutating func receive(_ bytes: RawSpan, now: Moment, take: (StreamID, RawSpan) -> Int) {
        pass(bytes, now: now, take: take)
    }

    mutating func didWrite(_ count: Int) {
        machine.didWrite(count)
        written += count
        // The time counts from the last bytes that the client has taken.
        if case .writingLast = phase { phase = .draining }
        noteWritable()
    }

    mutating func settle(now: Moment) {
        while let event = machine.nextEvent() { handle(event, now: now) }
        noteWritable()
        if activity != reportedActivity {
            reportedActivity = activity
            notices.append(.activity)
        }
    }

    mutating func takeNotices() -> [Notice] {
        if notices.isEmpty { return [] }
        let taken = notices
        notices = []
        return taken
    }

    private mutating func handle(_ event: HTTP2Event, now: Moment) {
        switch event {
        case .request(let identifier, let request):
            let stream = HTTP2ServerStream(identifier, request, loop: loop)
            hasServed = true
            if isOpen { phase = .open(.none) }
            guard (fieldSize + stream.fieldSize) / HTTP2ServerCore.maximumLargeHeads <= configuration.limits.headLength
            else {
                return machine.refuse(identifier, now: elapsed(now))
            }
            fieldSize += stream.fieldSize
            streams[identifier] = stream
            arrived.append(stream)
            notices.append(.requests)
            if !configuration.keepsConnections { drain(now: now) }
        case .readable(let identifier): noteChange(identifier) { _ in }
        case .trailers(let identifier, let trailers):
            guard let stream = streams[identifier] else { return }
            fieldSize -= stream.fieldSize
            stream.trailers = trailers
            fieldSize += stream.fieldSize
            notices.append(.change(stream))
        case .ended(let identifier): noteChange(identifier) { $0.hasEnded = true }
        case .reset(let identifier, _):
            if let stream = streams[identifier] { notices.append(.disconnection(stream)) }
        case .goAway: drain(now: now)
        case .drained: isDrained = true
        case .settings, .response, .interim, .sendingStopped, .room: break
        @unknown default: break
        }
    }

    /// Notes the stream that can send more of its body. The next one follows when it has: a hundred streams that wait for room in the output
    /// would otherwise all be woken, to find that the first one has taken it.
    private mutating func noteWritable() {
        while turn == nil, let identifier = machine.nextWritable() {
            guard let stream = streams[identifier] else { continue }
            if stream.isFull {
                // The user of another protocol may have nothing more to send.
                stream.isFull = false
            } else if stream.wait == .room {
                turn = identifier
            } else {
                continue
            }
            notices.append(.change(stream))
        }
    }

    /// Lets other streams send, because the handler of this one does not want to any more.
    mutating func endTurn(of stream: HTTP2ServerStream) {
        setWait(.none, of: stream)
        if turn == stream.identifier { turn = nil }
    }

    private mutating func noteChange(_ identifier: StreamID, _ body: (HTTP2ServerStream) -> Void) {
        guard let stream = streams[identifier] else { return }
        body(stream)
        notices.append(.change(stream))
    }
}

// MARK: - Requests

extension HTTP2ServerCore {
    /// Returns a request that no handler has; nil if there is none at present.
    mutating func takeRequest() -> HTTP2ServerStream? { arrived.isEmpty ? nil : arrived.removeFirst() }

    /// Sends the head of a response.
    mutating func respond(
        _ stream: HTTP2ServerStream, _ response: HTTPResponse, endsHere: Bool, now: Moment
    ) throws(HTTP2Error) {
        try machine.respond(stream.identifier, with: response, endsHere: endsHere, now: elapsed(now))
    }

    /// Sends a part of a response's body. The stream's point is signalled when the rest can be sent.
    mutating func send(
        _ bytes: RawSpan, endsHere: Bool, on stream: HTTP2ServerStream, now: Moment
    ) throws(HTTP2Error) -> HTTP2SendOutcome {
        endTurn(of: stream)
        let outcome = try machine.send(bytes, on: stream.identifier, endsHere: endsHere, now: elapsed(now))
        // A connection with another protocol does not count as one that waits for its client.
        if stream.isSwitched {
            stream.isFull = !outcome.isComplete
        } else if !outcome.isComplete {
            setWait(.room, of: stream)
        }
        return outcome
    }

    mutating func sendTrailers(
        _ trailers: HTTPFields, on stream: HTTP2ServerStream, now: Moment
    ) throws(HTTP2Error) {
        try machine.sendTrailers(trailers, on: stream.identifier, now: elapsed(now))
    }

    /// Reads a part of a request's body. The stream's point is signalled when there is more.
    mutating func read(
        _ stream: HTTP2ServerStream, into target: inout MutableRawSpan, now: Moment
    ) throws(HTTP2Error) -> HTTP2ReadOutcome {
        defer { if stream.hasEnded { setWait(.none, of: stream) } }
        return try machine.read(stream.identifier, into: &target, now: elapsed(now))
    }

    var streamCount: Int { streams.count }

    /// Notes what the handler of a stream waits for.
    mutating func setWait(_ wait: HTTP2ServerStream.Wait, of stream: HTTP2ServerStream) {
        guard streams[stream.identifier] === stream else { return }
        count(stream.wait, -1)
        stream.wait = wait
        count(wait, 1)
    }

    private mutating func count(_ wait: HTTP2ServerStream.Wait, _ change: Int) {
        switch wait {
        case .none: break
        case .request: waiting.forRequest += change
        case .room: waiting.forRoom += change
        }
    }

    /// Ends the use of a stream, when its handler has returned.
    mutating func close(_ stream: HTTP2ServerStream, _ code: ErrorCode?, now: Moment) {
        endTurn(of: stream)
        guard streams.removeValue(forKey: stream.identifier) != nil else { return }
        fieldSize -= stream.fieldSize
        // A call of another task may still wait.
        notices.append(.change(stream))
        machine.close(stream.identifier, code: code, now: elapsed(now))
    }
}
