internal import EventLoops
internal import FoundationEssentials
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// One load: from the request to the end of the response body, over any number of connections and redirects.
///
/// Theory of operation. Each member takes one or more steps and never waits; ``block`` holds what to wait for. Closing, returning
/// connections to a pool, and calls of the application's code are collected in ``deferred``. Protocol decisions are made by types
/// that do no I/O: ``RequestPreparation`` (the bytes to send), `HeadParser` and `BodyDecoder` (the bytes received),
/// `ExchangeMachine` (100 (Continue) and persistence), and ``Fetch`` (the next request). The load carries bytes between them and
/// the connection.
///
/// Sending and receiving overlap. A server may respond before it has read the whole request, and a server that writes its
/// response while it reads would block forever if the client stopped sending. A load that waits for the response therefore
/// continues to send, unless the response was a refusal.
struct HTTPLoad: ~Copyable, Sendable {
    private enum Phase: Sendable {
        /// The next request has not begun.
        case idle
        /// The request is being sent; no byte of the response has arrived.
        case sending
        /// The head of the response is being received. The rest of the request, such as a body that waits for 100 (Continue), is
        /// sent meanwhile.
        case receivingHead
        /// The body of a redirect is read and dropped, so that the connection can be used again.
        case discarding
        case receivingBody
        case done
    }

    /// The most bytes of a coded body that one step decodes without output before other work of the loop runs.
    static let turnBudget = 64 * 1024

    /// The most pieces of a body that one step sends before other work of the loop runs: 1 MiB.
    static let piecesPerTurn = 16

    /// Constant once the load has begun.
    var settings: LoadSettings
    /// Unowned, because the ``HTTPExchange`` that owns the load is a point of this loop, and keeps it.
    unowned(unsafe) let loop: EventLoop
    /// The current request and its history.
    private(set) var fetch: Fetch
    /// State of the proxies. Nil for a load without proxies.
    private(set) var proxies: ProxyProgress?
    /// The wait in which the last step ended; nil if it did not end in a wait.
    var block: Block?

    // One byte each, side by side: an exchange has to fit the allocator's cache, see LoadWaitingTests.

    private var phase = Phase.idle
    /// Whether the request needs a new connection, because the idle one was dead.
    private var mustBeNew = false
    /// Whether the connection must be closed although the messages permit another request.
    private var mustClose = false
    private var isHeadUsual = false
    /// Whether at least one byte of the response has arrived.
    private var hasReceived = false
    /// Whether the request was sent just now, so its response cannot have arrived. A caller that blocks need not try a read first.
    var hasJustSent = false
    /// Whether sending the current request had to wait for the connection.
    private var hasBlockedSending = false
    /// Whether a thread waits for the connection's input; see ``lendConnection()``.
    var isConnectionLent = false

    /// Actions to perform once the load's lock has been released; see ``HTTPExchange``.
    var deferred = DeferredActions()
    private(set) var clock = LoadClock()
    var log = LoadLog()
    private(set) var connection: HTTPConnection?
    private var sender: RequestSender?
    /// The states of the current request and its response.
    private var exchange = ExchangeMachine(.client)
    /// The head of the request as sent; empty for the usual one, which is prepared again for ``finalRequest``.
    private var sentHead: [UInt8] = []
    private var lastTLS: LastTLS?
    /// The number of body pieces sent since the last wait.
    private var piecesInTurn = 0
    private(set) var response: HTTPResponse?
    private(set) var interim: [HTTPResponse] = []
    private var responseBody = ResponseBody()

    @inline(__always)
    init(
        _ request: consuming HTTPRequest, body: consuming HTTPBody?, pool: HTTPConnectionPool? = nil, loop: EventLoop
    ) {
        settings = LoadSettings(pool: pool)
        fetch = Fetch(consume request, body: consume body)
        self.loop = loop
    }

    /// Replaces the request. Requires that the load has not begun.
    ///
    /// - Parameter redirects: the responses that led to the request.
    mutating func send(_ request: HTTPRequest, body: HTTPBody?, after redirects: [HTTPResponse]) {
        fetch = Fetch(request, body: body)
        fetch.inherit(redirects)
    }

    // MARK: Observing

    // Getters that read the sender are mutating: it cannot be copied, and `sender?` would consume it otherwise. So is
    // ``finalRequest``, because a borrowed load would be copied for the call of ``usualHead(_:reusing:)``.

    /// Whether the request is being or has been sent.
    var hasBegun: Bool {
        mutating get {
            switch phase {
            case .idle: false
            case .sending: sender?.hasBegun ?? false
            case .receivingHead, .discarding, .receivingBody, .done: true
            }
        }
    }

    /// Whether the body has been read to its end.
    var isOver: Bool {
        if case .done = phase { true } else { false }
    }

    /// The head of the final response; nil for a redirect that is being followed.
    var finalResponse: HTTPResponse? { fetch.hasNext ? nil : response }

    /// The request as it was last sent.
    var finalRequest: HTTPRequest? {
        mutating get {
            guard let url = fetch.url else { return nil }
            if !sentHead.isEmpty { return RequestPreparation.request(from: sentHead, for: url) }
            guard isHeadUsual, let origin = try? fetch.ensureOrigin(), let head = try? usualHead(origin.hostField)
            else { return nil }
            return RequestPreparation.request(from: head.bytes, for: url)
        }
    }

    /// The TLS parameters of the connection used last.
    var tlsInformation: TLSInformation? {
        // The TLS of a connection that ends at a proxy is not the origin's.
        connection?.proxy == nil ? connection?.pair[.tlsInformation] ?? lastTLS?.information : lastTLS?.information
    }

    /// The channel binding of the connection used last.
    var serverEndPointBinding: [UInt8]? {
        connection?.proxy == nil
            ? connection?.pair[.serverEndPointBinding] ?? lastTLS?.serverEndPoint : lastTLS?.serverEndPoint
    }

    var bodyBytesSent: Int64 { mutating get { sender?.bodyBytesSent ?? 0 } }
    var trailers: HTTPFields { responseBody.trailers }
    var droppedTrailers: HTTPFields { responseBody.droppedTrailers }

    /// The length of the body as read, if the head declares it; nil otherwise.
    var bodyLength: Int64? {
        finalResponse == nil ? nil : responseBody.length
    }

    /// The content codings that the body has as it is read; nil if it has none.
    var remainingContentCoding: String? {
        guard let response = finalResponse, !responseBody.isCoded else { return nil }
        let codings = response.fields.contentCodings
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }

    /// The current activity, for messages.
    private var step: String {
        mutating get {
            switch phase {
            case .idle: proxies?.decision == nil ? "connecting" : "waiting for the proxy script"
            case .sending: connection?.pair.output.status == .opening ? openingStep : "sending the request"
            case .receivingHead where sender?.isAwaitingContinue == true: "waiting for 100 (Continue)"
            case .receivingHead: "waiting for the response"
            case .discarding, .receivingBody, .done: "receiving the body"
            }
        }
    }

    private var openingStep: String {
        switch connection?.pair.report.steps.last(where: { $0.outcome == .underway })?.kind {
        case .lookup(let name): "looking up \(name)"
        case .proxy(let kind, let address): "connecting through the \(kind) proxy \(address)"
        case .tls: "waiting for the TLS handshake"
        case .connect, .request, nil: "connecting"
        }
    }
}

// MARK: - Up to the body

extension HTTPLoad {
    /// The outcome of several steps.
    enum Progress {
        /// The load has reached the requested state.
        case done
        /// The load has to wait; see ``block``.
        case blocked(Interest)
        /// The ``deferred`` actions have to be performed first: the next step may need their results.
        case again
    }

    /// Takes steps until the request is being sent, or a wait is necessary.
    mutating func begin() throws(StreamError) -> Progress {
        while !hasBegun {
            if let interest = try advance(), !hasBegun { return blockedUnlessFetching(interest) }
            if !deferred.isEmpty { return .again }
        }
        if hasJustSent { _ = waiting(.connection(.readable)) }
        return .done
    }

    /// Takes steps until the head of the final response has been received, or a wait is necessary.
    @inline(__always)
    private mutating func advanceToBody() throws(StreamError) -> Progress {
        while !isAtBody {
            if let interest = try advance() { return blockedUnlessFetching(interest) }
            if !deferred.isEmpty, !isAtBody { return .again }
        }
        return .done
    }

    /// A wait for a fetch that this same step requested ends as soon as the fetch has been performed.
    private func blockedUnlessFetching(_ interest: Interest) -> Progress {
        deferred.fetch == nil ? .blocked(interest) : .again
    }

    private var isAtBody: Bool {
        switch phase {
        case .idle, .sending, .receivingHead, .discarding: false
        case .receivingBody, .done: true
        }
    }

    /// Takes one step. Returns nil if another step may follow.
    private mutating func advance() throws(StreamError) -> Interest? {
        switch phase {
        case .idle:
            if !settings.namesNoProxy, let interest = try awaitDecision() { return interest }
            try beginHop()
            return nil
        case .sending: return try send()
        case .receivingHead: return try receiveHead()
        case .discarding: return try discard()
        case .receivingBody, .done: return nil
        }
    }

    // MARK: Sending

    /// The outcome of sending as much as possible.
    private enum Sending {
        case done
        case awaitsContinue
        case blocked(Interest)
        /// The server has sent bytes: read them before sending more.
        case answered
        case failed(StreamError)
    }

    private mutating func sendMore() throws(StreamError) -> Sending {
        guard let output = connection?.pair.output else { throw .closed }
        while true {
            guard let progress = try sender?.advance(output) else { throw .closed }
            if clock.isStalled { clock.endStall(unlessAt: sender?.taken) }
            switch progress {
            case .done:
                if sender?.isComplete == true { endRequest() }
                stopSending()
                restartResponseClock()
                return .done
            case .awaitsContinue: return .awaitsContinue
            case .failed(let error): return hasInput ? .answered : .failed(error)
            case .sentPiece:
                restartResponseClock()
                if hasInput { return .answered }
            case .connectionBlocks:
                hasBlockedSending = true
                piecesInTurn = 0
                if hasInput { return .answered }
                try recordStall()
                return .blocked(waiting(.connection([.readable, .writable])))
            case .sourceBlocks:
                piecesInTurn = 0
                return hasInput ? .answered : .blocked(waiting(.source))
            case .needsFetch:
                if piecesInTurn == HTTPLoad.piecesPerTurn {
                    piecesInTurn = 0
                    return .blocked(waiting(.turn))
                }
                piecesInTurn += 1
                deferred.fetch = sender?.beginFetch()
                return .blocked(waiting(.fetch))
            case .isFetching:
                return hasInput ? .answered : .blocked(waiting(.fetch))
            }
        }
    }

    /// The connection accepts no bytes. Throws if that has lasted longer than `StreamProperty.writeTimeout`.
    private mutating func recordStall() throws(StreamError) {
        guard clock.isStalled || !settings.properties.isEmpty, let limit = settings.properties[.writeTimeout],
            limit > .zero, let taken = sender?.taken
        else { return }
        if clock.isOverdue(stalledAt: taken, limit) { throw .timedOut(step, after: limit) }
    }

    /// Whether a read from the connection would not wait.
    private var hasInput: Bool { connection?.pair.input.hasBytesAvailable == true }

    private mutating func send() throws(StreamError) -> Interest? {
        switch try sendMore() {
        case .blocked(let interest): return interest
        case .failed(let error): try retry(after: error)
        case .answered: phase = .receivingHead
        case .done:
            phase = .receivingHead
            // After a wait for the connection, the event that ended it may also have announced an early response.
            hasJustSent = !hasBlockedSending
        case .awaitsContinue:
            phase = .receivingHead
            clock.continueDeadline = .now + settings.continueTimeout
        }
        return nil
    }

    /// Continues to send when no bytes can be read. Returns nil if another read may succeed.
    private mutating func interestWhileReceiving() throws(StreamError) -> Interest? {
        if let deadline = clock.continueDeadline, Moment.now >= deadline { releaseBody() }
        guard sender?.isDone == false, sender?.isAwaitingContinue == false else {
            return waiting(.connection(.readable))
        }
        switch try sendMore() {
        case .done, .awaitsContinue: return waiting(.connection(.readable))
        case .blocked(let interest): return interest
        case .answered: return nil
        case .failed:
            stopSending()  // the response that arrived before is valid
            return nil
        }
    }

    // MARK: Receiving

    private mutating func receiveHead() throws(StreamError) -> Interest? {
        guard let connection else { throw .closed }
        while true {
            if !connection.buffer.isEmpty {
                hasReceived = true
                if try parseHead(connection) { return nil }
            }
            if hasJustSent {
                hasJustSent = false
                return waiting(.connection(.readable))
            }
            let count: Int?
            do throws(StreamError) {
                count = try connection.fill()
            } catch {
                try retry(after: error)
                return nil
            }
            switch count {
            case nil:
                if let interest = try interestWhileReceiving() { return interest }
            case 0?:
                try retry(after: hasReceived ? .headCutShort : .connectionLost("without a response"))
                return nil
            default:
                break
            }
        }
    }

    /// Parses the buffered bytes. Returns true if a head was processed, false if more bytes are needed.
    private mutating func parseHead(_ connection: HTTPConnection) throws(StreamError) -> Bool {
        guard try connection.findHead() else { return false }
        try receive(connection.takeHead(inResponseTo: fetch.request), from: connection)
        return true
    }

    private mutating func receive(
        _ head: consuming HTTPResponse, from connection: HTTPConnection
    ) throws(StreamError) {
        let framing: BodyFraming
        let stopsRequest: Bool
        switch try begin(head) {
        case .interim:
            interim.append(consume head)
            return
        case .continueRequest:
            interim.append(consume head)
            return releaseBody()
        case .switchProtocol: return try switchProtocol(head, connection)
        case .body(let found, let stops): (framing, stopsRequest) = (found, stops)
        }
        try rejectUnrequestedCoding(head, framing)
        clock.endWaitForHead()
        log.answered(head, fetch, at: connection.lastRead)
        if proxies != nil || connection.endsAtProxy { recordAnsweringProxy(connection) }
        responseBody = ResponseBody(framing, limits: settings.limits)
        // A server that refuses a large request may not have read it; squid 5.7 then never reads the next request.
        mustClose = head.status.code >= 400 && bodyBytesSent > Int64(RequestSender.smallBody)
        response = consume head
        if try leadsToAnotherRequest() {
            stopSending()
            phase = .discarding
            return
        }
        // A refusal also ends a request whose head is still being sent, and has no effect on a complete one.
        if stopsRequest || (response?.status.code ?? 0) >= 300 { stopSending() }
        if settings.decodesContent, let response {
            responseBody.decodeContent(of: response, limit: settings.decodedLength)
        }
        phase = .receivingBody
        if responseBody.isComplete { releaseConnection() }
    }

    /// Ends the exchange with a 101: the connection belongs to the other protocol, see ``takeSwitched()``.
    ///
    /// - Throws: an error if the server has switched to a protocol that was not offered (RFC 9110 §7.8).
    private mutating func switchProtocol(
        _ head: consuming HTTPResponse, _ connection: HTTPConnection
    ) throws(StreamError) {
        guard let offered = settings.session?.upgrade, let chosen = head.fields[.upgrade],
            chosen.lowercased() == offered.lowercased(), sender?.isComplete == true
        else { throw .switchedProtocols(head.fields[.upgrade] ?? "another protocol") }
        clock.endWaitForHead()
        log.answered(head, fetch, at: connection.lastRead)
        recordAnsweringProxy(connection)
        responseBody = ResponseBody()
        mustClose = true
        response = consume head
        phase = .receivingBody
    }

    /// Returns the connection that carries another protocol now, with the bytes of that protocol received so far; nil if the
    /// server has not switched.
    mutating func takeSwitched() -> (pair: StreamPair, received: [UInt8])? {
        guard exchange.outcome == .switched, let connection else { return nil }
        let received = connection.buffer.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
        if connection.isSecure { lastTLS = LastTLS(connection.pair) }
        rememberProxy()
        log.endConnection()
        stopSending()
        self.connection = nil
        phase = .done
        endPermit()
        return (connection.pair, received)
    }

    /// Reports a head to the exchange. A switch to a protocol that the request has not offered is an error.
    private mutating func begin(_ head: borrowing HTTPResponse) throws(StreamError) -> ExchangeMachine.ResponseAction {
        do throws(HTTPMessageError) {
            return try exchange.beginResponse(head, leniency: .client)
        } catch {
            switch error.code {
            case .outOfOrder: throw .switchedProtocols(head.fields[.upgrade] ?? "another protocol")
            case .tooManyInterimResponses: throw .tooManyInterim(HTTPLimits.interimResponses)
            default: throw StreamError(error)
            }
        }
    }

    /// Rejects a transfer coding besides chunked (RFC 9112 §7.4): the request has not offered any, and the coded bytes would be taken
    /// for the body.
    private func rejectUnrequestedCoding(
        _ head: borrowing HTTPResponse, _ framing: BodyFraming
    ) throws(StreamError) {
        guard framing == .chunked || framing == .untilClose, let coding = head.fields[.transferEncoding] else { return }
        let names = coding.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        guard names.allSatisfy({ $0 == "chunked" || $0 == "identity" }) else { throw .transferCoded(coding) }
    }
}

// MARK: - The body of the response

extension HTTPLoad {
    /// Advances to the body, and reads payload into `target`. Returns nil to be called again after the ``deferred`` actions.
    mutating func read(into target: inout MutableRawSpan) throws(StreamError) -> Attempt? {
        switch try advanceToBody() {
        case .done: nilIfFetching(try readBody(into: &target))
        case .blocked(let interest): .wouldBlock(interest)
        case .again: nil
        }
    }

    /// Returns what a read would, without reading. Returns nil to be called again after the ``deferred`` actions.
    mutating func peek() throws(StreamError) -> Attempt? {
        switch try advanceToBody() {
        case .done: nilIfFetching(try peekBody())
        case .blocked(let interest): .wouldBlock(interest)
        case .again: nil
        }
    }

    /// A wait for a fetch that this same step requested ends as soon as the fetch has been performed.
    private func nilIfFetching(_ attempt: Attempt) -> Attempt? {
        if deferred.fetch != nil, case .wouldBlock = attempt { nil } else { attempt }
    }

    /// Lends the connection to the caller, if the only thing to do now is to wait for its input. Until the caller resets
    /// ``isConnectionLent``, only the caller may use the input and the buffer.
    mutating func lendConnection() -> (connection: HTTPConnection, fills: Bool)? {
        guard let block, block.deadline == nil, block.reason == .connection(.readable), let connection else {
            return nil
        }
        isConnectionLent = true
        // Payload is read directly into the caller's memory, not into the buffer.
        if case .receivingBody = phase, !responseBody.isCoded, responseBody.expectedPayloadCount > 0 {
            return (connection, false)
        }
        return (connection, true)
    }

    private mutating func readBody(into target: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if !responseBody.isCoded { return try readPayload(into: &target) }
        let attempt = try prepareDecoded()
        guard case .moved = attempt else { return attempt }
        return .moved(responseBody.readDecoded(into: &target))
    }

    private mutating func peekBody() throws(StreamError) -> Attempt {
        if responseBody.isCoded { return try prepareDecoded() }
        while true {
            guard let connection, !responseBody.isComplete else { return .ended }
            switch try responseBody.next(connection, upTo: 0) {
            case .end, .payload:
                releaseConnection()
                return .ended
            case .needMore where responseBody.expectedPayloadCount > 0 && !connection.buffer.isEmpty:
                return .moved(Int(min(responseBody.expectedPayloadCount, Int64(connection.buffer.count))))
            case .needMore:
                if let attempt = try fill(connection) { return attempt }
            }
        }
    }

    private mutating func readPayload(into target: inout MutableRawSpan) throws(StreamError) -> Attempt {
        while true {
            guard let connection, !responseBody.isComplete else { return .ended }
            if connection.buffer.isEmpty, responseBody.expectedPayloadCount > 0, target.byteCount >= 1024 {
                if let attempt = try receivePayload(connection, into: &target) { return attempt }
                continue
            }
            switch try responseBody.next(connection, upTo: target.byteCount) {
            case .payload(let range):
                connection.buffer.copy(range, into: &target)
                connection.buffer.remove(range.upperBound)
                if responseBody.isComplete { releaseConnection() }
                return .moved(range.count)
            case .end:
                releaseConnection()
                return .ended
            case .needMore:
                if let attempt = try fill(connection) { return attempt }
            }
        }
    }

    /// Reads payload directly into the caller's memory. Returns nil to try again.
    private mutating func receivePayload(
        _ connection: HTTPConnection, into target: inout MutableRawSpan
    ) throws(StreamError) -> Attempt? {
        let part = 0..<Int(min(responseBody.expectedPayloadCount, Int64(target.byteCount)))
        let read = try target.withPart(part) { (part) throws(StreamError) in
            try connection.pair.input.tryRead(into: &part)
        }
        // The read may have left bytes behind the body in the socket.
        connection.isDrained = false
        guard let count = read else { return try blocked() }
        if count == 0 { return try receiveEnd() }
        try responseBody.advance(count)
        if responseBody.isComplete { releaseConnection() }
        return .moved(count)
    }

    /// Reads into the buffer. Returns nil to try again.
    private mutating func fill(_ connection: HTTPConnection) throws(StreamError) -> Attempt? {
        guard let count = try connection.fill() else { return try blocked() }
        return count == 0 ? try receiveEnd() : nil
    }

    private mutating func blocked() throws(StreamError) -> Attempt? {
        try interestWhileReceiving().map { .wouldBlock($0) }
    }

    /// Handles the end of the connection. Returns nil if it is the proper end of the body.
    private mutating func receiveEnd() throws(StreamError) -> Attempt? {
        try responseBody.receiveEnd()
        if !responseBody.isCoded { releaseConnection() }
        return nil
    }

    // MARK: Decoded bodies

    /// Decodes until there are bytes to read, or the turn's budget is used up: a server can send any amount of data that
    /// decodes to nothing.
    private mutating func prepareDecoded() throws(StreamError) -> Attempt {
        var budget = HTTPLoad.turnBudget
        while true {
            if responseBody.hasDecodedBytes { return .moved(1) }
            guard let connection, !responseBody.isComplete else {
                if budget <= 0 { return .wouldBlock(waiting(.turn)) }
                guard let cost = try responseBody.finishDecoding() else {
                    releaseConnection()
                    return .ended
                }
                budget -= cost
                continue
            }
            // The framing's own bytes first, then all buffered payload at once.
            _ = try responseBody.next(connection, upTo: 0)
            let ahead = Int(min(responseBody.expectedPayloadCount, Int64(connection.buffer.count)))
            if ahead > 0 {
                if budget <= 0 { return .wouldBlock(waiting(.turn)) }
                budget -= try responseBody.decode(ahead, of: connection)
            } else if !responseBody.isComplete, let attempt = try fill(connection) {
                return attempt
            }
        }
    }

    // MARK: Bodies of redirects

    /// Reads and drops a redirect's body, then begins the next request.
    private mutating func discard() throws(StreamError) -> Interest? {
        let deadline = clock.discardDeadline ?? .now + settings.discardTimeout
        clock.discardDeadline = deadline
        if settings.keepsConnection, responseBody.endsByItself, .now < deadline {
            var scrap = [UInt8](repeating: 0, count: 4096)
            var span = scrap.mutableSpan
            var bytes = span.mutableBytes
            do throws(StreamError) {
                while responseBody.payloadCount < Fetch.discardLimit, connection != nil {
                    let attempt = try readPayload(into: &bytes)
                    if case .wouldBlock(let interest) = attempt { return interest }
                    if case .ended = attempt { releaseConnection() }
                }
            } catch {
                // The redirect is known; a failure of its body does not matter.
            }
        }
        clock.discardDeadline = nil
        try followHop()
        return nil
    }
}

// MARK: - From connection to connection

extension HTTPLoad {
    /// Ends the load at once.
    mutating func close() {
        if isOver, proxies == nil { return }  // nothing is left to release
        clock.endRequest()
        if let decision = proxies?.decision { deferred.add(.cancelDecision(decision)) }
        stopSending()
        dropConnection()
        endPermit()
        log.abandon(fetch)
    }

    /// Prepares the request, and finds or opens a connection for it.
    private mutating func beginHop() throws(StreamError) {
        guard let url = fetch.url else { throw .badURL("the request has none.") }
        let now = Moment.now
        if let idle = takeUsualIdle(for: url, at: now) {
            if fetch.isBare {
                let memory = fetch.hasBody ? [] : idle.takeHeadMemory()
                try begin(usualHead(idle.key.origin.hostField, reusing: memory), at: now)
            } else {
                fetch.origin = idle.key.origin
                try begin(prepareHead(of: url, nil, idle), at: now)
            }
            connection = idle
        } else {
            let origin = try fetch.ensureOrigin()
            let custom = try customRoute(to: origin, url)
            let key = HTTPConnectionKey(
                origin, custom?.properties ?? StreamProperties(), loop: loop, ownLogin: ownLogin,
                isTunnelled: settings.offersSwitch)
            let idle = takeIdle(key, at: now)
            if idle == nil, settings.session?.needsIdleConnection == true { throw .connectionGone }
            try begin(try prepareHead(of: url, custom, idle), at: now)
            connection = if let idle { idle } else { try open(key, custom) }
        }
        startSending()
    }

    /// The login of the request that may belong to its connection.
    private var ownLogin: Secret? { settings.pool?.isOfOneLogin == true ? nil : fetch.request.connectionLogin }

    /// Begins an exchange, whose request has this head.
    private mutating func begin(_ head: consuming RequestPreparation.Head, at now: Moment) throws(StreamError) {
        try beginExchange(head)
        if log.deferred == nil { log.deferred = DeferredLog(settings.properties) }
        log.beginRequest(fetch, at: now)
        isHeadUsual = head.isUsual
        sentHead = head.isUsual ? [] : head.bytes
        sender = RequestSender(head)
    }

    private mutating func startSending() {
        if let body = fetch.body {
            sender?.begin(body, loop)
            recordSpentBody()
        }
        clock.endRequest()
        hasReceived = false
        hasBlockedSending = false
        piecesInTurn = 0
        phase = .sending
        restartResponseClock()
    }

    private mutating func beginExchange(_ head: borrowing RequestPreparation.Head) throws(StreamError) {
        let framing: BodyFraming = !fetch.hasBody ? .none : head.bodyLength.map { .length($0) } ?? .chunked
        do throws(HTTPMessageError) {
            try exchange.beginRequest(
                fetch.method, framing: framing, expectsContinue: head.expectsContinue,
                isPersistent: settings.keepsConnection, offersSwitch: settings.offersSwitch)
        } catch {
            throw StreamError(error)
        }
    }

    /// The properties and the route of a connection that differs from the default.
    private final class CustomRoute {
        let properties: StreamProperties
        let route: HTTPRoute

        init(_ properties: StreamProperties, _ route: HTTPRoute) {
            self.properties = properties
            self.route = route
        }
    }

    /// Returns nil for the default, which then costs nothing.
    private mutating func customRoute(to origin: HTTPOrigin, _ url: URL) throws(StreamError) -> CustomRoute? {
        if settings.namesNoProxy, proxies == nil { return nil }
        var properties = try connectionProperties(for: url)
        if !origin.isSecure, !settings.followsRedirects, properties[.tls] != nil { throw .tlsNeverUsed }
        if let tls = properties[.tls] { properties[.tls] = settings.crossOrigin.tls(tls, at: fetch.standing) }
        return CustomRoute(properties, takeRoute(to: origin, properties))
    }

    private mutating func takeIdle(_ key: HTTPConnectionKey, at now: Moment) -> HTTPConnection? {
        guard settings.keepsConnection, !mustBeNew else { return nil }
        let trust = trust
        let idle = (settings.pool ?? .shared).take(key, at: now, trusting: trust) { deferred.add(.close($0.pair)) }
        idle?.accept(settings.limits)
        return idle
    }

    /// Takes an idle connection without making a key, for a request without a route or a login of its own: the common case.
    private mutating func takeUsualIdle(for url: URL, at now: Moment) -> HTTPConnection? {
        guard settings.keepsConnection, !mustBeNew, settings.namesNoProxy, proxies == nil, !settings.offersSwitch,
            fetch.isBare || ownLogin == nil
        else { return nil }
        let trust = trust
        let idle = (settings.pool ?? .shared).takeUsual(
            for: url, loop: ObjectIdentifier(loop), at: now, trusting: trust
        ) { deferred.add(.close($0.pair)) }
        guard let idle else { return nil }
        idle.accept(settings.limits)
        return idle
    }

    /// The time for which an idle connection is not checked. A request that may be sent twice can use a connection that has just
    /// ended; see ``retry(after:)``.
    private var trust: Duration {
        // Mutating although it changes nothing: a borrowed load would be copied for the call.
        mutating get {
            let mayRepeat =
                fetch.method.isIdempotent && fetch.body?.isRepeatable != false
                && settings.session?.needsIdleConnection != true
            return mayRepeat ? HTTPConnectionPool.trust : .zero
        }
    }

    // These members are mutating although they change nothing: a borrowed load would be copied for the call.

    private mutating func prepareHead(
        of url: URL, _ custom: CustomRoute?, _ idle: HTTPConnection?
    ) throws(StreamError) -> RequestPreparation.Head {
        let origin = try fetch.ensureOrigin()
        if custom == nil, !origin.isFTP, fetch.isBare { return try usualHead(origin.hostField) }
        let proxy = if let idle { idle.proxy } else { custom?.route.proxy }
        if origin.isFTP, proxy == nil { throw .ftpNeedsProxy }
        let known: AuthenticationBody = fetch.body == nil ? .bytes(fetch.request.body) : .unknown
        let form = try HTTPRoute.form(
            fetch.request, of: url, for: proxy, owner: proxies?.owner, settings.session?.logins, body: known)
        if proxy?.ownLogin != nil { proxies?.signed = fetch.request.fields.contains(.proxyAuthorization) ? nil : form }
        return try preparation.prepare(
            form, fetch.method, host: host(or: origin.hostField), isBare: form.fields.isEmpty, body: fetch.body)
    }

    /// The head of a request without fields, sent to the origin itself.
    ///
    /// - Parameters:
    ///   - ownHost: the value of `Host` for the origin, unless the application has named another.
    ///   - memory: memory that an earlier request has used; empty if there is none.
    private mutating func usualHead(
        _ ownHost: String, reusing memory: consuming [UInt8] = []
    ) throws(StreamError) -> RequestPreparation.Head {
        let host = host(or: ownHost)
        if !fetch.hasBody,
            let count = preparation.prepareBare(fetch.request, fetch.method, host: host, in: &memory)
        {
            return .init(memory: memory, count: count, isUsual: true)
        }
        var head = try preparation.prepare(
            fetch.request, fetch.method, host: host, isBare: fetch.isBare, body: fetch.body)
        head.isUsual = true
        return head
    }

    private mutating func host(or ownHost: String) -> String {
        fetch.isAtNamedOrigin ? settings.host ?? ownHost : ownHost
    }

    private var preparation: RequestPreparation {
        mutating get {
            RequestPreparation(
                keepsConnection: settings.keepsConnection, decodesContent: settings.decodesContent,
                offersSwitch: settings.offersSwitch, keepsEmptyUserAgent: settings.keepsEmptyUserAgent)
        }
    }

    private mutating func open(_ key: HTTPConnectionKey, _ custom: CustomRoute?) throws(StreamError) -> HTTPConnection {
        if let connect = settings.pool?.connect {
            let pair = connect(key.origin, loop)
            try pair.open()
            return HTTPConnection(pair: pair, key: key, limits: settings.limits)
        }
        var properties = custom?.properties ?? StreamProperties()
        let route = custom?.route ?? HTTPRoute()
        properties[.proxies] = route.routes
        properties[.tls] = route.proxy?.tls
        if key.origin.isSecure {
            var tls = key.tls ?? TLSConfiguration()
            if tls.applicationProtocols.isEmpty { tls.applicationProtocols = ["http/1.1"] }
            properties[.tls] = tls
        }
        properties[.writeTimeout] = nil  // the load enforces the limit itself
        log.deferred?.install(in: &properties)
        properties[.httpEndpoints] = nil  // no property of the connection itself
        let pair: StreamPair
        if let endpoint = settings.endpoint(of: key.origin), route.proxy == nil {
            properties[.proxies] = nil
            pair = StreamPair(to: endpoint, for: key.origin, properties, loop: loop)
        } else {
            let (host, port) = route.proxy.map { ($0.host, $0.port) } ?? (key.origin.host, key.origin.port)
            pair = StreamPair(host: host, port: port, properties: properties, loop: loop)
        }
        log.beginConnection(pair)
        try pair.open()
        return HTTPConnection(pair: pair, key: key, limits: settings.limits, proxy: route.proxy)
    }

    /// Sends the request once more on a new connection, if a pooled connection turns out to be dead and a repetition is safe.
    ///
    /// It is safe if the server cannot have begun to process the request, or if the method is idempotent (RFC 9110 §9.2.2).
    ///
    /// - Throws: `error`, if the request cannot be repeated.
    private mutating func retry(after error: StreamError) throws(StreamError) {
        if try answerForProxy(error) { return }
        log.failed(error, fetch)
        if takeNextRoute(after: error) { return }
        let mayRepeat = sender?.hasBegun != true || fetch.method.isIdempotent
        guard connection?.isReused == true, !mustBeNew, !hasReceived, mayRepeat, !fetch.hasSpentBody else {
            guard let proxy = connection?.proxy, sender?.hasBegun != true, !hasReceived else { throw error }
            throw error.with([.unreachableProxy: .text(proxy.hostAndPort)])
        }
        stopSending()
        if settings.session?.needsIdleConnection == true { throw .connectionGone }
        dropConnection()
        log.emit(.sendsAgain)
        mustBeNew = true
        startOver()
    }

    /// Returns to the state before a request.
    private mutating func startOver() {
        exchange = ExchangeMachine(.client)
        mustClose = false
        phase = .idle
    }

    /// Begins the request of the redirect whose head has arrived.
    private mutating func followHop() throws(StreamError) {
        dropConnection()
        log.keepRequest(fetch, answer: response)
        guard let hop = fetch.followPlan() else { throw .closed }
        let repeats = proxies?.repeats ?? false
        log.emit(repeats ? .sendsAgain : .followsRedirect(hop.url))
        mustBeNew = false
        if repeats { proxies?.repeats = false } else { proxies?.resetForNextURL() }
        response = nil
        interim = []
        startOver()
    }

    /// Whether the response leads to another request. ``followHop()`` then begins it.
    private mutating func leadsToAnotherRequest() throws(StreamError) -> Bool {
        guard proxies != nil || settings.followsRedirects || sender?.isAwaitingContinue == true, let response,
            let next = try hop(after: response)
        else { return false }
        fetch.plan(next)
        return true
    }

    private mutating func hop(after head: HTTPResponse) throws(StreamError) -> Fetch.Hop? {
        if isLoginRequired(head) { return try fetch.round(fetch.request, after: head.status) }
        if head.status.code == 417, sender?.isAwaitingContinue == true {
            // The server does not support expectations: repeat without one (RFC 9110 §10.1.1).
            var plain = fetch.request
            plain.fields.remove(.expect)
            return try fetch.round(plain, after: head.status)
        }
        return settings.followsRedirects ? try fetch.redirect(after: head, settings.crossOrigin) : nil
    }

    /// Ends the use of the connection after the body: returns it to the pool, or closes it.
    private mutating func releaseConnection() {
        rememberProxy()
        // Taken out, so that no second reference to it is made.
        guard let connection = connection.take() else { return }
        phase = .done
        if connection.isSecure { lastTLS = LastTLS(connection.pair) }
        log.endConnection()
        // Fails only after the refusal of a tunnel, which is not a response of this exchange. The connection is closed then.
        try? exchange.endResponse()
        guard exchange.outcome == .reusable, !mustClose, sender?.isComplete == true, connection.buffer.isEmpty else {
            stopSending()
            self.connection = consume connection
            return dropConnection()
        }
        connection.requests += 1
        if isHeadUsual, let memory = sender?.takeMemory() { connection.keepHeadMemory(memory) }
        deferred.connectionReturn = .init(connection: consume connection, pool: settings.pool ?? .shared)
        endPermit()
    }

    /// Allows the sender to send a body that waited for 100 (Continue).
    private mutating func releaseBody() {
        clock.continueDeadline = nil
        exchange.permitBody()
        sender?.releaseBody(fetch.body, loop)
        recordSpentBody()
    }

    /// Reports the end of the request to the exchange, once.
    private mutating func endRequest() {
        if exchange.request == .body { try? exchange.endRequest() }
    }

    private mutating func recordSpentBody() {
        if sender?.hasSpentBody == true { fetch.hasSpentBody = true }
    }

    /// Whether a call opens or reads the stream of the request's body, without the load's lock.
    var isFetching: Bool { mutating get { sender?.isFetching ?? false } }

    /// Ends the wait for a ``DeferredActions/fetch`` that has been performed.
    mutating func endFetch() {
        // The time that the body's stream takes does not count for the server.
        restartResponseClock()
        if block?.reason == .fetch { block = nil }
    }

    /// Stops sending, and closes the body's stream.
    private mutating func stopSending() {
        exchange.abandonRequest()
        if let source = sender?.stop() { deferred.add(.closeBody(source)) }
    }

    private mutating func dropConnection() {
        rememberProxy()
        if let pair = connection?.pair { deferred.add(.close(pair)) }
        connection = nil
        if isOver { endPermit() }
    }

    /// Permits another request of the session, after the connection has been released.
    private mutating func endPermit() {
        if let permit = settings.session?.permit { deferred.add(.endPermit(permit)) }
    }
}

// MARK: - Proxies

extension HTTPLoad {
    /// The last proxy's response to the request for a tunnel.
    var tunnelResponse: HTTPResponse? { connection?.pair[.httpProxyResponse] ?? proxies?.response }

    /// Returns the object for the state of the proxies, made on first use.
    private mutating func proxyProgress() -> ProxyProgress {
        let progress = proxies ?? ProxyProgress()
        proxies = progress
        return progress
    }

    /// Keeps the proxy's response, since the load is about to give up the connection.
    private mutating func rememberProxy() {
        guard let proxies, !proxies.candidates.isEmpty, let connection else { return }
        proxies.response = connection.pair[.httpProxyResponse] ?? proxies.response
    }

    /// Keeps the proxy that sent or forwarded the response.
    private mutating func recordAnsweringProxy(_ connection: HTTPConnection) {
        guard let proxy = connection.proxy else {
            proxies?.answering = nil
            return
        }
        let progress = proxyProgress()
        progress.answering = proxy
        if proxy.tls != nil { progress.binding = connection.pair[.serverEndPointBinding] }
    }

    /// The properties of a connection for this URL: the caller's, with the routes of the proxy settings, and with the caller's
    /// credentials for a proxy, so that no other user's request finds the connection.
    private mutating func connectionProperties(for url: URL) throws(StreamError) -> StreamProperties {
        if settings.namesNoProxy { return settings.properties }
        if settings.endpoint(of: try fetch.ensureOrigin()) != nil {
            var properties = settings.properties
            properties[.proxies] = nil
            properties[.socksProxy] = nil
            return properties
        }
        var routes = settings.properties[.proxies] ?? []
        if let known = settings.usedProxySettings {
            routes =
                if let decision = proxies?.decision { try decision.routes() ?? [] } else { try known.routes(for: url) }
        }
        if routes.isEmpty || routes == [.direct] { return settings.properties }
        var properties = settings.properties
        proxyProgress().owner = HTTPRoute.owner(of: fetch.request, in: routes)
        let known = try HTTPRoute.routes(routes, for: fetch.request)
        let isSecure = url.scheme?.lowercased() == "https" || settings.offersSwitch
        properties[.proxies] = settings.session?.logins.logins(in: known, toSecure: isSecure) ?? known
        properties[.socksProxy] = nil
        return properties
    }

    /// Starts the proxy script for the URL, if a script decides. Returns what to wait for until it has decided.
    private mutating func awaitDecision() throws(StreamError) -> Interest? {
        guard let url = fetch.url, let known = settings.usedProxySettings else { return nil }
        if proxies?.decision == nil {
            if settings.endpoint(of: try fetch.ensureOrigin()) != nil { return nil }
            guard case .script? = known.choices(for: url).first else { return nil }
            proxyProgress().decision = ProxyDecision(known, for: url, loop: loop)
        }
        guard let decision = proxies?.decision, try decision.routes() == nil else { return nil }
        return waiting(.decision)
    }

    /// Returns the route to try now.
    private mutating func takeRoute(to origin: HTTPOrigin, _ properties: StreamProperties) -> HTTPRoute {
        if let first = proxies?.candidates.first { return first }
        guard !properties.isEmpty, let routes = properties[.proxies], !routes.isEmpty else { return HTTPRoute() }
        let candidates = HTTPRoute.all(to: origin, through: routes, inTunnels: settings.offersSwitch)[...]
        proxyProgress().candidates = candidates
        return candidates.first ?? HTTPRoute()
    }

    /// Whether the proxy that received the request requires a login that its own account can provide. If not, the response is
    /// final.
    private mutating func isLoginRequired(_ head: HTTPResponse) -> Bool {
        guard let proxies, let proxy = connection?.proxy, let login = proxy.ownLogin, let signed = proxies.signed
        else { return false }
        let isAnother = login.judge(head, to: signed, from: proxy.space)
        guard isAnother, !fetch.hasSpentBody, proxies.logins < ProxyAccountLogin.maximumRounds else { return false }
        proxies.logins += 1
        proxies.repeats = true
        return true
    }

    /// Changes to the next route if the current one failed (HM-095). Returns false if there is none, or if a peer on the route
    /// has responded.
    private mutating func takeNextRoute(after error: StreamError) -> Bool {
        let isUnreachable = [.posix, .netDB, .ssl].contains(error.domain) && error != .cancelled && error != .closed
        guard let proxies, proxies.candidates.count > 1, isUnreachable, connection?.isReused == false, !hasReceived,
            !fetch.hasSpentBody,
            sender?.hasBegun != true
        else { return false }
        proxies.candidates.removeFirst()
        log.emit(.triesNextProxy)
        stopSending()
        dropConnection()
        startOver()
        return true
    }

    /// Handles the refusal of a tunnel. A proxy that requires a login is treated like a server that does (HM-094): its 407 is the
    /// response, see ``HTTPProxyRefusal/loginResponse``. Any other refusal is a failure.
    private mutating func answerForProxy(_ error: StreamError) throws(StreamError) -> Bool {
        guard let refusal = error.underlying as? HTTPProxyRefusal else { return false }
        let progress = proxyProgress()
        progress.response = refusal.response
        progress.answering = refusal.source
        progress.verdict = refusal.verdict
        guard let head = refusal.loginResponse else { return false }
        log.answered(head, fetch)
        response = head
        mustClose = true
        responseBody = ResponseBody()
        stopSending()
        phase = .receivingBody
        releaseConnection()
        return true
    }
}

// MARK: - Waiting

extension HTTPLoad {
    /// The wait in which a step ended.
    struct Block: Equatable, Sendable {
        enum Reason: Equatable, Sendable {
            /// A proxy script is being evaluated.
            case decision
            /// The connection is not ready for this interest.
            case connection(Interest)
            /// The stream of the request's body has no bytes now, and the server has not responded.
            case source
            /// Another call opens or reads the stream of the request's body, without the load's lock.
            case fetch
            /// The step has used up its ``HTTPLoad/turnBudget``: other work of the loop comes first.
            case turn
        }

        var reason: Reason
        /// The instant at which the wait ends in any case.
        var deadline: Moment?

        /// What the reader of each wait point waits for.
        var interest: Interest {
            if case .connection(let interest) = reason { interest } else { .readable }
        }
    }

    /// Ends a step in a wait. Returns what the stream's caller waits for.
    private mutating func waiting(_ reason: Block.Reason) -> Interest {
        let block = Block(reason: reason, deadline: clock.deadline(of: reason))
        self.block = block
        return block.interest
    }

    /// The wait points of a block; none if a step only ended its turn.
    ///
    /// Mutating although it changes nothing: a borrowed load would be copied for the call.
    mutating func waitPoints(of block: Block) -> (WaitPoint?, WaitPoint?) {
        switch block.reason {
        case .decision: return (proxies?.decision?.point, nil)
        case .connection: return (connection?.pair.input.waitPoint, nil)
        case .source:
            guard let connection, let source = sender?.sourcePoint else { return (nil, nil) }
            return (connection.pair.input.waitPoint, source)
        case .turn, .fetch: return (nil, nil)
        }
    }

    // MARK: Time limits

    /// Starts the total time limit.
    mutating func beginClock() {
        if let limit = settings.totalTimeout, limit > .zero { clock.totalDeadline = .now + limit }
    }

    /// Restarts the time limit of the response head, unless the head has arrived.
    @inline(__always)
    private mutating func restartResponseClock() {
        if let limit = settings.responseTimeout, response == nil { clock.responseDeadline = .now + limit }
    }

    /// - Throws: a time-out, if a time limit has passed.
    @inline(__always)
    mutating func checkTime() throws(StreamError) {
        guard clock.totalDeadline != nil || clock.responseDeadline != nil, !isOver else { return }
        let now = Moment.now
        if let deadline = clock.totalDeadline, now >= deadline { throw .timedOut(step, after: settings.totalTimeout) }
        if let reason = block?.reason, reason == .source || reason == .fetch { return restartResponseClock() }
        if let deadline = clock.responseDeadline, now >= deadline {
            throw .timedOut(step, after: settings.responseTimeout)
        }
    }
}

// MARK: - State outside the load

// A load is moved and destroyed with each of its fields. Few loads need this one, so it is a separate object.

extension HTTPLoad {
    /// The TLS results of the last connection, which the load no longer has.
    private final class LastTLS: Sendable {
        let information: TLSInformation?
        let serverEndPoint: [UInt8]?

        init(_ pair: StreamPair) {
            information = pair[.tlsInformation]
            serverEndPoint = pair[.serverEndPointBinding]
        }
    }
}
