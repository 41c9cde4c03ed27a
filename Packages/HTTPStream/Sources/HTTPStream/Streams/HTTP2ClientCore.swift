internal import EventLoops
internal import HTTP2
internal import HTTPMessage
internal import StreamKit

/// The requests that share a connection of HTTP/2, without I/O: which of them has a stream, what has arrived for each, and when the
/// connection takes no further ones.
///
/// Its notices are the points of the streams to signal.
struct HTTP2ClientCore: HTTP2Core, ~Copyable {
    /// How long a server may send nothing while a request waits for it; then it is sent a PING.
    static let pingInterval = Duration.seconds(30)
    /// How long a server may send nothing after that; then the connection is dead. A server that answers may take any time for its response.
    static let pingTimeout = Duration.seconds(15)

    /// How long requests wait for a stream of a connection that has none.
    static let queueTimeout = Duration.seconds(30)
    /// How long a connection is kept at least for its first request.
    private static let firstRequestTimeout = Duration.seconds(1)

    var machine: HTTP2ClientMachine
    var phase = HTTP2Phase.open(.none)
    private var streams: [StreamID: HTTP2ClientStream] = [:]
    /// The requests that wait until the server allows another stream.
    private var queue = HTTP2RequestQueue()
    /// The requests for other protocols that wait for the server's SETTINGS, which tell whether it accepts them.
    private var unsettled = HTTP2RequestQueue()
    /// The number of requests sent so far.
    private(set) var sentCount = 0
    /// The number of bytes written.
    private var written = 0
    /// When the server sent something last.
    private(set) var lastInput: Moment
    let lastWriteTimeout = Duration.seconds(1)
    /// Whether the server has answered a request.
    private(set) var hasAnswered = false
    private var signals: [WaitPoint] = []
    let start: Moment
    /// How long the connection outlives its streams; nil if no pool keeps it.
    private let idleTimeout: Duration?
    private let silenceTimeout: Duration

    /// - Parameters:
    ///   - limits: the limits of responses.
    ///   - idleTimeout: how long the connection is kept without streams; nil if it ends with its first one.
    ///   - silenceTimeout: how long a server that leaves a request without an answer may send nothing at all; then no further request uses the
    ///     connection, which may be dead.
    init(limits: HTTPLimits, idleTimeout: Duration?, silenceTimeout: Duration, now: Moment) {
        var protocolLimits = HTTP2Limits(ofClient: limits)
        protocolLimits.pingInterval = HTTP2ClientCore.pingInterval
        protocolLimits.pingTimeout = HTTP2ClientCore.pingTimeout
        machine = HTTP2ClientMachine(limits: protocolLimits, now: .zero)
        (start, lastInput) = (now, now)
        self.idleTimeout = idleTimeout
        self.silenceTimeout = silenceTimeout
    }
}

// MARK: - The life of the connection

extension HTTP2ClientCore {
    /// Whether further requests may share the connection.
    var isShareable: Bool { isOpen && idleTimeout != nil && !machine.isDraining }

    /// Whether no request uses the connection, which is open.
    var isIdle: Bool { isOpen && isUnused }

    var isUnused: Bool { streams.isEmpty && queue.isEmpty && unsettled.isEmpty }

    /// Whether the server accepts requests for other protocols (RFC 8441 §3); nil before its SETTINGS.
    var acceptsConnectProtocol: Bool? { machine.peerSettings.isConnectProtocolEnabled }

    mutating func drain(now: Moment) {
        guard isOpen else { return }
        phase = .draining
        machine.shutDown(now: elapsed(now))
        giveUpQueue()
    }

    mutating func endWait(now: Moment) { drain(now: now) }

    mutating func fail(_ error: StreamError, now: Moment) {
        if hasEnded { return }
        endMachine(error, now: now)
        settle(now: now)
        giveUpQueue()
    }

    mutating func endIfOver(now: Moment) {
        if hasEnded { return }
        if let failure = machine.failure {
            phase = .ended(.http2(failure))
        } else if case .open(let wait) = phase {
            phase = .open(next(wait, now: now))
        } else if isUnused {
            endOnceWritten(now: now)
        }
        if hasEnded { giveUpQueue() }
    }

    /// Returns what the open connection waits for from now on.
    private func next(_ wait: HTTP2Phase.Wait, now: Moment) -> HTTP2Phase.Wait {
        guard streams.isEmpty else { return .none }
        if !isUnused {
            if case .permission = wait { return wait }
            // Not the time of the pool, which may keep connections for an instant only.
            return .permission(until: now + HTTP2ClientCore.queueTimeout)
        }
        if case .request = wait { return wait }
        guard let idleTimeout else { return .none }
        return .request(
            until: now + (sentCount > 0 ? idleTimeout : max(idleTimeout, HTTP2ClientCore.firstRequestTimeout)))
    }

    /// Lets the requests that wait for a stream continue on another connection.
    private mutating func giveUpQueue() {
        signals += (queue.removeAll() + unsettled.removeAll()).map(\.stream.point)
    }
}

// MARK: - Requests

extension HTTP2ClientCore {
    /// Sends a request, at once or when the server allows another stream: then, its point is signalled. See ``hasSent(_:)``.
    ///
    /// - Parameter endsHere: whether the request has no body.
    mutating func send(
        _ request: HTTP2Request, endsHere: Bool, as stream: HTTP2ClientStream, now: Moment
    ) throws(HTTP2LinkFailure) {
        try requireOpen()
        stream.progress = .waiting(since: now)
        let element = HTTP2RequestQueue.Element(request: request, endsHere: endsHere, stream: stream)
        if request.connectProtocol != nil, acceptsConnectProtocol == nil {
            unsettled.append(element)
        } else if !queue.isEmpty || !begin(element, now: now) {
            queue.append(element)
        }
        // Before the deadline of a connection without requests could pass.
        if case .open(let wait) = phase { phase = .open(next(wait, now: now)) }
    }

    /// Whether the request has been sent.
    func hasSent(_ stream: HTTP2ClientStream) throws(HTTP2LinkFailure) -> Bool {
        switch stream.progress {
        case .refused(let error): throw .protocolError(error)
        case .sent: return true
        case .unsent, .waiting:
            // A request that waits continues on another connection.
            try requireOpen()
            return false
        }
    }

    private func requireOpen() throws(HTTP2LinkFailure) {
        switch phase {
        case .open:
            // On the loop's thread, the phase changes only at the end of the turn.
            if let failure = machine.failure { throw .connection(.http2(failure)) }
            if machine.isDraining { throw .unavailable }
        case .draining, .writingLast: throw .unavailable
        case .ended(let error): throw .connection(error)
        }
    }

    /// Sends the requests that wait, as far as the server allows.
    private mutating func sendQueued(now: Moment) {
        while let element = queue.first(), begin(element, now: now) {
            queue.remove(element.stream)
            signal(element.stream.point)
        }
    }

    /// Sends a request, unless HTTP/2 cannot carry it. Returns false if the server does not allow another stream yet.
    private mutating func begin(_ element: HTTP2RequestQueue.Element, now: Moment) -> Bool {
        let stream = element.stream
        do throws(HTTP2Error) {
            let identifier = try machine.request(element.request, endsHere: element.endsHere, now: elapsed(now))
            guard let identifier else { return false }
            let requested = if case .waiting(let start) = stream.progress { start } else { now }
            stream.progress = .sent(
                .init(
                    identifier: identifier, requested: requested, start: now, others: streams.count,
                    headEnd: written + machine.outputCount))
            stream.isRequestEnded = element.endsHere
            streams[identifier] = stream
            sentCount += 1
        } catch {
            stream.progress = .refused(error)
        }
        return true
    }

    /// Sends data of a request's body. Returns the number of bytes taken, or nil if none were; the stream's point is signalled then.
    mutating func send(
        _ bytes: RawSpan, endsHere: Bool, on stream: HTTP2ClientStream, now: Moment
    ) throws(HTTP2LinkFailure) -> Int? {
        guard let identifier = stream.identifier else { throw .unavailable }
        if let failure = stream.failure { throw .stream(failure) }
        do throws(HTTP2Error) {
            let outcome = try machine.send(bytes, on: identifier, endsHere: endsHere, now: elapsed(now))
            if outcome.isComplete, endsHere { stream.isRequestEnded = true }
            stream.isFull = !outcome.isComplete
            return outcome.taken
        } catch {
            throw .protocolError(error)
        }
    }

    /// Ends a request whose body has been taken completely.
    mutating func sendTrailers(
        _ trailers: HTTPFields, on stream: HTTP2ClientStream, now: Moment
    ) throws(HTTP2LinkFailure) {
        guard let identifier = stream.identifier else { throw .unavailable }
        if let failure = stream.failure { throw .stream(failure) }
        do throws(HTTP2Error) {
            try machine.sendTrailers(trailers, on: identifier, now: elapsed(now))
        } catch {
            throw .protocolError(error)
        }
        stream.isRequestEnded = true
    }

    /// Reads data of a response.
    mutating func read(
        _ stream: HTTP2ClientStream, into target: inout MutableRawSpan, now: Moment
    ) throws(HTTP2LinkFailure) -> HTTP2ReadOutcome {
        guard let identifier = stream.identifier else { throw .unavailable }
        do throws(HTTP2Error) {
            let outcome = try machine.read(identifier, into: &target, now: elapsed(now))
            stream.isReadable = machine.hasUnread(identifier)
            return outcome
        } catch {
            throw .protocolError(error)
        }
    }

    /// Ends the use of a stream. What the server still sends on it is dropped.
    mutating func close(_ stream: HTTP2ClientStream, now: Moment) {
        guard let opening = stream.opening else {
            queue.remove(stream)
            unsettled.remove(stream)
            return
        }
        guard streams.removeValue(forKey: opening.identifier) != nil else { return }
        machine.close(opening.identifier, now: elapsed(now))
        if !stream.hasEnded, lastInput < opening.start, opening.start + silenceTimeout <= now { drain(now: now) }
    }
}

// MARK: - Bytes and events

extension HTTP2ClientCore {
    mutating func didWrite(_ count: Int) {
        machine.didWrite(count)
        written += count
        signalWritable()
    }

    mutating func receive(_ bytes: RawSpan, now: Moment, take: (StreamID, RawSpan) -> Int) {
        lastInput = now
        pass(bytes, now: now, take: take)
    }

    mutating func settle(now: Moment) {
        while let event = machine.nextEvent() { handle(event, now: now) }
        signalWritable()
        if isOpen { sendQueued(now: now) }
        // There are no more identifiers of streams.
        if isOpen, machine.isDraining { drain(now: now) }
    }

    mutating func takeNotices() -> [WaitPoint] {
        if signals.isEmpty { return [] }
        let taken = signals
        signals = []
        return taken
    }

    private mutating func signal(_ point: WaitPoint) {
        // Most events of one response come one after the other: one signal is enough.
        if signals.last !== point { signals.append(point) }
    }

    /// Signals the point of a stream and returns the stream, for a change of it; nil if its load has closed it.
    private mutating func signal(_ identifier: StreamID) -> HTTP2ClientStream? {
        guard let stream = streams[identifier] else { return nil }
        signal(stream.point)
        return stream
    }

    /// Signals the streams that can send more of their bodies.
    private mutating func signalWritable() {
        while let identifier = machine.nextWritable() {
            signal(identifier)?.isFull = false
        }
    }

    private mutating func handle(_ event: HTTP2Event, now: Moment) {
        switch event {
        case .interim(let identifier, let head), .response(let identifier, let head):
            hasAnswered = true
            signal(identifier)?.heads.append(head)
        case .readable(let identifier):
            // A caller that has taken data from the input may have read all of it since.
            signal(identifier)?.isReadable = machine.hasUnread(identifier)
        case .trailers(let identifier, let trailers): signal(identifier)?.trailers = trailers
        case .ended(let identifier): signal(identifier)?.hasEnded = true
        case .reset(let identifier, var failure):
            guard let stream = signal(identifier) else { return }
            // A head that has not left this side cannot have been processed.
            if let opening = stream.opening, written < opening.headEnd { failure.processing = .notProcessed }
            stream.failure = failure
        case .sendingStopped(let identifier, _): signal(identifier)?.isSendingStopped = true
        case .goAway: drain(now: now)
        case .settings: for element in unsettled.removeAll() { queue.append(element) }
        case .room, .drained, .request: break
        @unknown default: break
        }
    }
}

/// Why a request cannot go on.
enum HTTP2LinkFailure: Error {
    /// The connection takes no further requests; this one was not sent.
    case unavailable
    /// The connection has ended.
    case connection(StreamError)
    /// The stream has ended.
    case stream(HTTP2StreamFailure)
    /// HTTP/2 cannot carry the request, or the stream has ended.
    case protocolError(HTTP2Error)
}
