// MARK: - Deadlines and ends

extension HTTP2Connection {
    /// The earliest time at which ``tick(now:)`` has something to do. See ``HTTP2Machine/nextDeadline``.
    var nextDeadline: Duration? {
        // Not a comparison with nil, which would copy the error.
        if case .some = failure { return nil }
        var earliest: Duration?
        func consider(_ deadline: Duration?) {
            if let deadline { earliest = min(earliest ?? deadline, deadline) }
        }
        consider(settingsSentAt.map { $0 + limits.settingsTimeout })
        consider(block.map { $0.startedAt + limits.fieldSectionTimeout })
        if case .announced(_, let until) = shutdown { consider(until) }
        consider(liveness.deadline(limits, hasStreams: openCount > 0))
        consider(timeouts.smallWindowsUntil)
        if role == .server { consider(timeouts.nextStreamCheck) }
        return earliest
    }

    /// Acts on deadlines that have passed. See ``HTTP2Machine/tick(now:)``.
    mutating func tick(now: Duration) throws(HTTP2Error) {
        if let failure { throw failure }
        advance(to: now)
        do throws(HTTP2Error) {
            try checkConnectionDeadlines()
            if role == .server, let check = timeouts.nextStreamCheck, check <= self.now { try checkStreams() }
        } catch {
            fail(error)
            throw error
        }
        if let until = timeouts.smallWindowsUntil, until <= self.now {
            timeouts.smallWindowsUntil = nil
            for index in streams.indices where streams[index].hold == .waiting { streams[index].hold = .released }
        }
        giveConnectionCredit()
    }

    private mutating func checkConnectionDeadlines() throws(HTTP2Error) {
        if let settingsSentAt, settingsSentAt + limits.settingsTimeout <= now {
            throw .connection(.settingsTimeout, "RFC 9113 §6.5.3", "the peer has not acknowledged the settings")
        }
        if let block, block.startedAt + limits.fieldSectionTimeout <= now {
            throw .connection(
                .enhanceYourCalm, "fieldSectionTimeout", "the header block of stream \(block.stream) does not end")
        }
        if case .announced(_, let until) = shutdown, until <= now { finishShutdown() }
        switch liveness.check(limits, hasStreams: openCount > 0, now: now) {
        case .fine: break
        case .silent: writer.appendPing(liveness.ask(now: now), isAcknowledgment: false)
        case .unresponsive: throw .connection(.noError, "pingTimeout", "the peer does not answer a PING")
        }
    }

    /// Ends the streams of a server whose client neither sends what it owes nor lets the response leave.
    private mutating func checkStreams() throws(HTTP2Error) {
        try checkOutput()
        try checkCredit()
        var next: Duration?
        for index in streams.indices where streams[index].state != .closed {
            guard let (deadline, wait) = streamDeadline(index) else { continue }
            if deadline <= now {
                try resetStream(streams[index].id, because: wait.error(on: streams[index].id))
            } else {
                next = min(next ?? deadline, deadline)
            }
        }
        let recheck = now + streamCheckInterval
        timeouts.nextStreamCheck =
            streams.count == 0 && writer.count == 0 ? nil : min(next ?? recheck, recheck)
    }

    /// Ends the connection if its output waits and the transport has taken hardly any of it for too long (CVE-2019-9517).
    private mutating func checkOutput() throws(HTTP2Error) {
        guard writer.count > 0 else { return timeouts.outputWait = nil }
        let wait = timeouts.outputWait ?? OutputWait(since: now)
        timeouts.outputWait = wait
        if wait.since + limits.creditTimeout <= now {
            throw .connection(.enhanceYourCalm, "creditTimeout", "the client does not read what this side writes")
        }
    }

    /// Ends the connection if its window keeps all streams from sending that have credit (CVE-2019-9511).
    private mutating func checkCredit() throws(HTTP2Error) {
        creditWait = creditWait.flatMap { CreditWait.next($0, sendWindow, now: now) }
        for id in order.streams {
            if let index = streams.index(of: id) { noteCredit(index) }
        }
        if order.isEmpty { creditWait = nil }
        guard let creditWait, creditWait.since + limits.creditTimeout <= now else { return }
        let hasCredit = order.streams.contains {
            streams.index(of: $0).map { streams[$0].sendWindow.available > 0 } ?? false
        }
        if hasCredit, order.first(where: { canSend($0) }) == nil {
            throw .connection(.enhanceYourCalm, "creditTimeout", "the client gives no credit for the connection")
        }
    }

    /// Whether so much output waits that the driver should write before it reads.
    var isOutputFull: Bool { writer.count > limits.fullOutput }

    /// Accounts output that has left. See ``HTTP2Machine/didWrite(_:)``.
    mutating func didWrite(_ count: Int) {
        writer.didWrite(count)
        if timeouts.outputSince + Self.shortestOutputWait <= now {
            timeouts.outputSince = now
            liveness.noteSign(now: now)
        }
        if let wait = timeouts.outputWait { timeouts.outputWait = writer.count == 0 ? nil : wait.afterWriting(count) }
    }

    /// How long output has waited at least if the transport took it only since the peer had acknowledged earlier bytes, as TCP does.
    private static let shortestOutputWait = Duration.seconds(1)

    /// The time between two looks at all streams. A stream that lacks credit ends at most this much late.
    var streamCheckInterval: Duration { min(limits.creditTimeout, limits.bodyTimeout) / 4 }

    /// When the wait for a stream's client ends, and what for. Nil if the server waits for its own program.
    private func streamDeadline(_ index: Int) -> (deadline: Duration, wait: StreamWait)? {
        let stream = streams[index]
        if let wait = stream.creditWait, stream.sendWindow.available <= 0 || stream.hold == .waiting {
            return (wait.since + limits.creditTimeout, .credit)
        }
        // Of a window of 0, nothing is ever available.
        let window = stream.receiveWindow
        guard case .content = stream.incoming, window.available > 0 || window.size == 0 else { return nil }
        return (stream.lastArrival + limits.bodyTimeout, .body)
    }

    /// The peer sends nothing more. See ``HTTP2Machine/receiveEnd(now:)``.
    mutating func receiveEnd(now: Duration) throws(HTTP2Error) {
        if let failure { throw failure }
        advance(to: now)
        let isClean = openCount == 0 && parser.isBetweenFrames && block == nil && hasPeerSettings
        let error = HTTP2Error.connection(
            peerGoAway?.code ?? .noError, "RFC 9113 §5.4",
            openCount == 0
                ? "the peer has closed the connection" : "the peer has closed the connection with streams open")
        failure = explained(error)
        endAllStreams(failure ?? error)
        if !isClean, let failure { throw failure }
    }

    /// Ends the connection at once. See ``HTTP2Machine/abort(_:now:)``.
    mutating func abort(_ code: ErrorCode) {
        fail(
            HTTP2Error(
                code: code, scope: .connection, fault: .caller, rule: "RFC 9113 §5.4.1", reason: "ended by the program")
        )
    }
}

/// What a server waits for on a stream.
private enum StreamWait {
    case credit
    case body

    /// The error that ends the stream when the client does not do its part in time.
    func error(on stream: StreamID) -> HTTP2Error {
        switch self {
        case .credit:
            .stream(stream, .enhanceYourCalm, "creditTimeout", "the client gives no credit for the response")
        case .body: .stream(stream, .cancel, "bodyTimeout", "the body of the request does not arrive")
        }
    }
}

/// The deadlines of streams. All streams share them, so that a stream needs no timer.
struct Timeouts: Sendable {
    /// When the streams of a server are looked at next.
    var nextStreamCheck: Duration?
    /// When the output was last found empty, or some of it was taken that had waited.
    var outputSince = Duration.zero
    /// Since when output waits, as far as looks at the streams of a server have found it.
    var outputWait: OutputWait?
    /// When streams with little window no longer wait for more.
    var smallWindowsUntil: Duration?
}

/// Since when output waits for the transport. A few bytes now and then do not end the wait, as with ``CreditWait``.
struct OutputWait: Sendable, BitwiseCopyable {
    let since: Duration
    private var written = 0

    init(since: Duration) {
        self.since = since
    }

    /// Returns the wait after bytes were written: none once they are ``SendWindow/smallest``.
    func afterWriting(_ count: Int) -> OutputWait? {
        var wait = self
        wait.written += count
        return wait.written >= SendWindow.smallest ? nil : wait
    }
}

/// Whether the peer is alive, and how long a round trip takes (RFC 9113 §6.7).
///
/// While streams are open, a peer that gives no sign of life for a time is sent a PING. If there is still none for a further time, it is
/// dead. Its answers to PINGs are signs of life, but until it goes on with its messages, it is asked less often.
struct Liveness: Sendable {
    /// When the peer gave the last sign of life, or the first stream was opened since there was none.
    private var lastSign: Duration?
    /// The shortest round trip so far.
    private(set) var roundTrip: Duration?
    private var lastPing: UInt64 = 0
    private var unansweredPing: UnansweredPing?
    /// Whether nothing of a message has arrived since the last answer to a PING.
    private var hasOnlyAnswered = false

    private struct UnansweredPing {
        var opaque: UInt64
        /// The time of an answer counts from here, not from when the network took the bytes.
        var queuedAt: Duration
        /// Whether nothing has arrived since.
        var isAwaited = true
    }

    /// What is to be done about a peer that sends nothing.
    enum Finding {
        case fine
        /// A PING is to be sent.
        case silent
        /// The peer has given no sign of life since it was sent a PING.
        case unresponsive
    }

    /// Notes that bytes have arrived.
    mutating func noteArrival(now: Duration) {
        lastSign = now
        unansweredPing?.isAwaited = false
    }

    /// Notes another sign of life, or the begin of a wait: that the first stream was opened, or that the transport has taken bytes that had to
    /// wait for it.
    mutating func noteSign(now: Duration) { lastSign = now }

    /// Notes that a part of a message has arrived.
    mutating func noteMessage() { hasOnlyAnswered = false }

    /// Returns the opaque bytes of the next PING.
    mutating func nextPing() -> UInt64 {
        lastPing += 1
        return lastPing
    }

    /// Returns the opaque bytes of a PING that asks whether the peer is alive.
    mutating func ask(now: Duration) -> UInt64 {
        let ping = nextPing()
        unansweredPing = UnansweredPing(opaque: ping, queuedAt: now)
        return ping
    }

    /// Notes the length of a round trip.
    mutating func measure(_ time: Duration) {
        roundTrip = min(roundTrip ?? time, time)
    }

    /// Accounts the answer to a PING. Returns false if it answers none.
    mutating func receivePingAcknowledgment(_ ping: UInt64, now: Duration) -> Bool {
        guard let unansweredPing, unansweredPing.opaque == ping else { return false }
        measure(now - unansweredPing.queuedAt)
        self.unansweredPing = nil
        hasOnlyAnswered = true
        return true
    }

    /// Whether a request that is sent now should ask whether the peer is alive.
    func isDoubtful(_ limits: HTTP2Limits, now: Duration) -> Bool {
        guard let interval = limits.pingInterval, let lastSign else { return false }
        return lastSign + interval <= now && unansweredPing?.isAwaited != true
    }

    func deadline(_ limits: HTTP2Limits, hasStreams: Bool) -> Duration? {
        if let unansweredPing, unansweredPing.isAwaited {
            return max(unansweredPing.queuedAt, lastSign ?? .zero) + limits.pingTimeout
        }
        guard let interval = limits.pingInterval, let lastSign, hasStreams else { return nil }
        return lastSign + (hasOnlyAnswered ? max(interval, limits.furtherPingInterval) : interval)
    }

    func check(_ limits: HTTP2Limits, hasStreams: Bool, now: Duration) -> Finding {
        guard let deadline = deadline(limits, hasStreams: hasStreams), deadline <= now else { return .fine }
        return unansweredPing?.isAwaited == true ? .unresponsive : .silent
    }
}
