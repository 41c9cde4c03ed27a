internal import HPACK
@_spi(Packages) internal import HTTPMessage

// MARK: - Heads (RFC 9113 §8.3)

extension HTTP2Connection {
    /// Sends a request on a new stream. See ``HTTP2Machine/request(_:endsHere:now:)``.
    mutating func request(_ request: HTTP2Request, endsHere: Bool) throws(HTTP2Error) -> StreamID? {
        let fields = request.head.fields
        let traits = try Self.checkFields(fields, hidesHost: true)
        let allowsExtended = peerSettings.isConnectProtocolEnabled == true
        try Self.check(request, endsHere: endsHere, traits.contentLength, allowsExtended: allowsExtended)
        return try request.withParts { method, authority, path throws(HTTP2Error) in
            let pseudoFields = try SentPseudoFields(request, method, authority, path)
            let priority = Self.priorityValue(of: request)
            let prioritySize = priority.map {
                HPACKFields.size(name: Self.priorityName.count, value: $0.utf8.count)
            }
            try requireAccepted(traits.listSize + pseudoFields.listSize + (prioritySize ?? 0))
            let isConnect = pseudoFields.opensTunnel
            let isPeerDoubtful = liveness.isDoubtful(limits, now: now)
            guard let index = openRequest(isConnect ? .tunnel : .content(remaining: traits.contentLength)) else {
                return nil
            }
            let id = streams[index].id
            streams[index].setRequest(
                isConnect ? .connect : method.isEqual("HEAD") ? .head : .ordinary, request.priority)
            if case .to(let state) = StreamState.idle.transition(endsHere ? .headersEnd : .headers, .send) {
                enter(state, index)
            }
            // Before the head, whose end tells a driver whether the request has left.
            if isPeerDoubtful { writer.appendPing(liveness.ask(now: now), isAcknowledgment: false) }
            let frame = writer.beginHeaders(on: id, ends: endsHere)
            encoder.beginBlock(into: &writer.bytes)
            pseudoFields.encode(request, method, authority, path, with: &encoder, into: &writer.bytes)
            encode(fields, traits, hidesHost: true)
            if let priority {
                encoder.encode(
                    name: Self.priorityName.span.bytes, value: priority.utf8.span.bytes, into: &writer.bytes)
            }
            writer.endHeaders(frame, on: id)
            return id
        }
    }

    /// Opens the stream of a request. Returns nil if there is no room for it.
    private mutating func openRequest(_ message: OutgoingMessage) -> Int? {
        guard room > 0 else {
            wantsRoom = true
            return nil
        }
        let id = nextStream
        nextStream = StreamID(id.rawValue + 2)
        return open(id, incoming: .head(after: .none), outgoing: message)
    }

    /// The value of the field `Priority` that is added to a request; nil if it has the default priority or such a field.
    private static func priorityValue(of request: HTTP2Request) -> String? {
        guard request.priority != HTTP2Priority(), !request.head.fields.contains("priority") else { return nil }
        return request.priority.fieldValue
    }

    private static let priorityName = Array("priority".utf8)

    private static func check(
        _ request: HTTP2Request, endsHere: Bool, _ length: Int64?, allowsExtended: Bool
    ) throws(HTTP2Error) {
        if let name = request.connectProtocol {
            guard FieldBytes.isToken(name) else {
                throw .caller(.protocolError, "RFC 8441 §4", "the protocol of an extended CONNECT is not a token")
            }
            guard allowsExtended, request.head.method == .get, !endsHere else {
                throw .caller(
                    .protocolError, "RFC 8441 §4",
                    "extended CONNECT needs a GET whose body is not ended, and a server that has allowed it")
            }
        }
        if endsHere, let length, length > 0 { throw lengthDiffers }
        if length != nil, request.head.method == .connect || request.connectProtocol != nil {
            throw .caller(.protocolError, "RFC 9110 §8.6", "a CONNECT has no content, and so no Content-Length")
        }
    }

    /// Sends the head of an interim or the final response. See ``HTTP2Machine/respond(_:with:endsHere:now:)``.
    mutating func respond(_ id: StreamID, _ response: HTTPResponse, endsHere: Bool) throws(HTTP2Error) {
        let (index, traits, outgoing) = try plan(response, on: id, endsHere: endsHere)
        let frame = writer.beginHeaders(on: id, ends: endsHere)
        encoder.beginBlock(into: &writer.bytes)
        encode(response.status)
        encode(response.fields, traits, hidesHost: false)
        writer.endHeaders(frame, on: id)
        guard let outgoing else { return }
        streams[index].outgoing = outgoing
        if endsHere { didSendEndStream(index, .headersEnd) }
    }

    /// Checks that a response can be sent. See ``HTTP2Machine/check(_:on:endsHere:)``.
    func check(_ response: HTTPResponse, on id: StreamID, endsHere: Bool) throws(HTTP2Error) {
        _ = try plan(response, on: id, endsHere: endsHere)
    }

    /// Returns what follows the head of a response, nil for an interim one.
    private func plan(
        _ response: HTTPResponse, on id: StreamID, endsHere: Bool
    ) throws(HTTP2Error) -> (index: Int, FieldTraits, OutgoingMessage?) {
        let index = try indexToSend(endsHere ? .headersEnd : .headers, on: id)
        let status = response.status.code
        guard case .head = streams[index].outgoing else {
            throw .caller(.protocolError, "RFC 9113 §8.1", "the final response has begun")
        }
        if status < 200 { try Self.requireInterim(status, endsHere: endsHere, on: id) }
        let traits = try Self.checkFields(response.fields, hidesHost: false)
        try requireAccepted(traits.listSize + HPACKFields.size(name: ":status".utf8.count, value: 3))
        let opensTunnel = status < 300 && streams[index].requestKind == .connect
        let isBodiless = status == 204 || status == 304 || streams[index].requestKind == .head
        if let length = traits.contentLength, length > 0 {
            if status < 200 || status == 204 || opensTunnel { throw Self.lengthNotAllowed }
            if endsHere, !isBodiless { throw Self.lengthDiffers }
        }
        if status < 200 { return (index, traits, nil) }
        return (
            index, traits,
            opensTunnel ? .tunnel : isBodiless ? .noContent : .content(remaining: traits.contentLength)
        )
    }

    private static func requireInterim(_ status: Int, endsHere: Bool, on id: StreamID) throws(HTTP2Error) {
        if status == 101 {
            throw .caller(.protocolError, "RFC 9113 §8.6", "a response cannot switch protocols")
        }
        if endsHere {
            throw .caller(.protocolError, "RFC 9113 §8.1", "an interim response cannot be the last")
        }
    }

    private static var lengthNotAllowed: HTTP2Error {
        .caller(.protocolError, "RFC 9110 §8.6", "a response that has no content, with a Content-Length")
    }

    private mutating func encode(_ status: HTTPStatus) {
        var digits = InlineArray<3, UInt8>(repeating: UInt8(ascii: "0"))
        digits[0] += UInt8(status.code / 100 % 10)
        digits[1] += UInt8(status.code / 10 % 10)
        digits[2] += UInt8(status.code % 10)
        encoder.encode(.status, digits.span.bytes, into: &writer.bytes)
    }

    /// Sends trailers, which end the message. See ``HTTP2Machine/sendTrailers(_:on:now:)``.
    mutating func sendTrailers(_ trailers: HTTPFields, on id: StreamID) throws(HTTP2Error) {
        let index = try indexToSend(.headersEnd, on: id)
        if streams[index].unsent != .nothing {
            throw .caller(.protocolError, "RFC 9113 §8.1", "the data before the trailers was not sent completely")
        }
        switch streams[index].outgoing {
        case .content(let remaining?): if remaining > 0 { throw Self.lengthDiffers }
        case .content(nil), .noContent: break
        case .head, .tunnel, .ended:
            throw .caller(.protocolError, "RFC 9113 §8.1", "trailers follow the content of a message")
        }
        let traits = try Self.checkFields(trailers, hidesHost: false)
        try requireAccepted(traits.listSize)
        for field in trailers where HTTPFieldName.neverSentInTrailers.contains(field.name) {
            throw .caller(.protocolError, "RFC 9110 §6.5.1", "\(field.name) is not allowed in trailers")
        }
        let frame = writer.beginHeaders(on: id, ends: true)
        encoder.beginBlock(into: &writer.bytes)
        encode(trailers, traits, hidesHost: false)
        writer.endHeaders(frame, on: id)
        didSendEndStream(index, .headersEnd)
    }

    /// Accounts a frame with END_STREAM.
    private mutating func didSendEndStream(_ index: Int, _ event: StreamState.Event) {
        order.remove(streams[index].id)
        if case .to(let state) = streams[index].state.transition(event, .send) { enter(state, index) }
    }

    /// Returns the index of a stream on which the table of states lets this side send a frame.
    @inline(__always)
    private func indexToSend(_ event: StreamState.Event, on id: StreamID) throws(HTTP2Error) -> Int {
        guard let index = streams.index(of: id) else { throw Self.unknownStream(id) }
        let state = streams[index].state
        guard case .forbidden = state.transition(event, .send) else { return index }
        if let failure = streams[index].failure { throw failure.error(on: id) }
        let isStopped = state == .closed
        let reason = isStopped ? "the peer wants no more of the message" : "the message is complete"
        throw HTTP2Error(
            code: .streamClosed, scope: .stream(id), fault: isStopped ? .peer : .caller, rule: "RFC 9113 §5.1",
            reason: reason)
    }

    /// Checks that the peer accepts a list of fields of this size: its SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 §10.5.1).
    @inline(__always)
    private func requireAccepted(_ size: Int) throws(HTTP2Error) {
        guard let maximum = peerSettings.maximumHeaderListSize, size > maximum else { return }
        throw HTTP2Error(
            code: .protocolError, scope: .call, fault: .peer, rule: "RFC 9113 §10.5.1",
            reason: "the peer accepts fields of \(maximum) bytes, and these have \(size)")
    }

    static var lengthDiffers: HTTP2Error {
        .caller(.protocolError, "RFC 9113 §8.1.1", "the content is not as long as Content-Length says")
    }

    private static var contentNotAllowed: HTTP2Error {
        .caller(.protocolError, "RFC 9110 §6.4.1", "a response to HEAD, 204 or 304 has no content")
    }
}

// MARK: - Fields (RFC 9113 §8.2)

extension HTTP2Connection {
    /// What ``checkFields(_:hidesHost:)`` finds.
    private struct FieldTraits: BitwiseCopyable {
        var contentLength: Int64?
        /// The size of the list of those fields that are sent (RFC 9113 §6.5.2).
        var listSize = 0
        /// Whether fields other than `Host` are left out.
        var leavesOut = false
    }

    /// Checks the fields of a message to be sent.
    ///
    /// The fields of a connection of HTTP/1.1 are left out if they only ask for what HTTP/2 does anyway. All others are mistakes.
    private static func checkFields(
        _ fields: HTTPFields, hidesHost: Bool
    ) throws(HTTP2Error) -> FieldTraits {
        var traits = FieldTraits()
        var mistake: HTTP2Error?
        fields.forEachRawField { name, value in
            let kind = SentField(name)
            let isSent = kind == .host ? !hidesHost : kind.isSent
            if isSent { traits.listSize += HPACKFields.size(name: name.byteCount, value: value.byteCount) }
            if !kind.isSent { traits.leavesOut = true }
            switch kind {
            case .ordinary, .host, .persistence: break
            case .te:
                if !value.isEqualIgnoringCase("trailers") { mistake = Self.noCounterpart("TE: \(value.text)") }
            case .upgrade: mistake = Self.noCounterpart("Upgrade")
            case .connection:
                let options = value.text.utf8.split(separator: UInt8(ascii: ",")).map { option in
                    String(
                        decoding: option.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }, as: UTF8.self)
                }
                let option = options.first { !["keep-alive", "close", "te", ""].contains($0.lowercased()) }
                if let option { mistake = Self.noCounterpart("Connection: \(option)") }
            case .contentLength:
                let number = FieldBytes.number(value)
                if number == nil || traits.contentLength != nil {
                    mistake = .caller(
                        .protocolError, "RFC 9110 §8.6",
                        number == nil
                            ? "'\(value.text)' is not a Content-Length" : "there is more than one Content-Length")
                }
                traits.contentLength = number
            case .transferEncoding:
                if !value.isEqualIgnoringCase("chunked") {
                    mistake = Self.noCounterpart("Transfer-Encoding: \(value.text)")
                }
                // The length that a lenient parser of HTTP/1 ignored (RFC 9112 §6.3) is not that of the content.
                if fields.contains(.contentLength) {
                    mistake = .caller(
                        .protocolError, "RFC 9112 §6.3", "there are both a Transfer-Encoding and a Content-Length")
                }
            }
        }
        if let mistake { throw mistake }
        return traits
    }

    private static func noCounterpart(_ field: String) -> HTTP2Error {
        .caller(.protocolError, "RFC 9113 §8.2.2", "HTTP/2 has no counterpart of the field \(field)")
    }

    private mutating func encode(_ fields: HTTPFields, _ traits: FieldTraits, hidesHost: Bool) {
        fields.forEachRawField { name, value in
            if hidesHost, SentField.isHost(name) { return }
            if traits.leavesOut, !SentField(name).isSent { return }
            encoder.encode(name: name, value: value, into: &writer.bytes)
        }
    }
}

/// What the name of a field means for sending it (RFC 9113 §8.2.2).
private enum SentField {
    case ordinary
    /// `Host`: in a request, `:authority` stands for it.
    case host
    case contentLength
    case te
    case upgrade
    case connection
    /// `Keep-Alive` and `Proxy-Connection`, which ask for what HTTP/2 does anyway.
    case persistence
    case transferEncoding

    /// Creates the meaning of a name, which is a token in any case of its letters.
    init(_ name: RawSpan) {
        self =
            switch name.byteCount {
            case 2 where name.isEqualIgnoringCase("te"): .te
            case 4 where Self.isHost(name): .host
            case 7 where name.isEqualIgnoringCase("upgrade"): .upgrade
            case 10 where name.isEqualIgnoringCase("connection"): .connection
            case 10 where name.isEqualIgnoringCase("keep-alive"): .persistence
            case 14 where name.isEqualIgnoringCase("content-length"): .contentLength
            case 16 where name.isEqualIgnoringCase("proxy-connection"): .persistence
            case 17 where name.isEqualIgnoringCase("transfer-encoding"): .transferEncoding
            default: .ordinary
            }
    }

    static func isHost(_ name: RawSpan) -> Bool { name.isEqualIgnoringCase("host") }

    /// Whether the field is sent, if it is no mistake.
    var isSent: Bool {
        switch self {
        case .ordinary, .host, .contentLength, .te: true
        case .upgrade, .connection, .persistence, .transferEncoding: false
        }
    }
}

// MARK: - Data (RFC 9113 §6.1 and §6.9)

extension HTTP2Connection {
    /// Sends data as far as the windows, the output and the order of the streams allow. See ``HTTP2Machine/send(_:on:endsHere:now:)``.
    mutating func send(
        _ bytes: RawSpan, on id: StreamID, endsHere: Bool, now: Duration
    ) throws(HTTP2Error) -> HTTP2SendOutcome {
        advance(to: now)
        defer { if turn == id { turn = nil } }
        let index = try indexToSend(endsHere ? .dataEnd : .data, on: id)
        switch streams[index].outgoing {
        case .head: throw .caller(.protocolError, "RFC 9113 §8.1", "data before the head of the response")
        case .content(let remaining?):
            let count = Int64(bytes.byteCount)
            if count > remaining || endsHere && count < remaining { throw Self.lengthDiffers }
        case .noContent: if bytes.byteCount > 0 { throw Self.contentNotAllowed }
        case .content(nil), .tunnel, .ended: break
        }
        var sent = 0
        let priority = streams[index].priority
        while canSendNow(id, priority) {
            let rest = bytes.byteCount - sent
            if rest == 0, !endsHere { break }
            let window = max(0, min(streams[index].sendWindow.available, sendWindow.available))
            guard rest == 0 || window > 0 else { break }
            if isWorthWaiting(index, rest: rest, window: window) {
                hold(index)
                break
            }
            let count = min(rest, Int(window), FrameParser.maximumFrameSize)
            let ends = endsHere && count == rest
            writer.appendData(bytes.extracting(sent..<sent + count), on: id, ends: ends)
            didSend(count, index)
            sent += count
            if ends {
                didSendEndStream(index, .dataEnd)
                return HTTP2SendOutcome(count: sent, isComplete: true)
            }
            if priority.isIncremental, order.first(where: { $0 != id && canSend($0) }) != nil { break }
        }
        let isComplete = sent == bytes.byteCount && !endsHere
        streams[index].unsent = isComplete ? .nothing : sent < bytes.byteCount ? .data : .end
        if isComplete {
            order.remove(id)
            streams[index].creditWait = nil
        } else {
            enqueue(index, goesOn: sent > 0)
        }
        return HTTP2SendOutcome(count: sent, isComplete: isComplete)
    }

    private mutating func didSend(_ count: Int, _ index: Int) {
        streams[index].didSend(count)
        sendWindow.spend(count)
        if let wait = creditWait { creditWait = wait.afterSending(count) }
        floods.didSendData(count)
    }

    /// Enters a stream in the order of sending, and notes since when it lacks credit.
    private mutating func enqueue(_ index: Int, goesOn: Bool) {
        if goesOn { order.remove(streams[index].id) }
        order.add(streams[index].id, streams[index].priority, goesOn: goesOn)
        noteCredit(index)
    }

    /// Notes since when a stream that wants to send lacks credit, its own or that of the connection.
    mutating func noteCredit(_ index: Int) {
        if streams[index].unsent == .end { return streams[index].creditWait = nil }
        let window = streams[index].sendWindow
        streams[index].creditWait = CreditWait.next(streams[index].creditWait, window, now: now)
        if window.available > 0 { creditWait = CreditWait.next(creditWait, sendWindow, now: now) }
    }

    /// Whether DATA of this stream may be written now.
    ///
    /// DATA waits for the peer's SETTINGS: nginx refuses requests whose body arrives before its settings are acknowledged.
    @inline(__always)
    private func canSendNow(_ id: StreamID, _ priority: HTTP2Priority) -> Bool {
        guard hasPeerSettings, failure == nil, writer.count < limits.maximumOutput else { return false }
        return turn == id || order.isEmpty || order.isTurn(of: id, priority) { canSend($0) }
    }

    /// Whether the windows allow a stream that waits to send.
    @inline(__always)
    func canSend(_ id: StreamID) -> Bool {
        guard let index = streams.index(of: id) else { return false }
        if streams[index].unsent == .end { return true }
        let window = streams[index].sendWindow
        // Credit of the connection ends the wait as well as that of the stream.
        if streams[index].hold == .waiting, window.isNearlyExhausted || sendWindow.isNearlyExhausted { return false }
        return min(window.available, sendWindow.available) > 0
    }

    /// Whether the rest of a window is too small to be worth a frame, as credit is to be expected (RFC 9113 §6.9.1 leaves it open).
    private func isWorthWaiting(_ index: Int, rest: Int, window: Int64) -> Bool {
        Int64(rest) > window && streams[index].hold != .released
            && (streams[index].sendWindow.isNearlyExhausted || sendWindow.isNearlyExhausted)
    }

    /// Lets a stream wait for credit, at most ``HTTP2Limits/smallWindowDelay``.
    private mutating func hold(_ index: Int) {
        streams[index].hold = .waiting
        if timeouts.smallWindowsUntil == nil { timeouts.smallWindowsUntil = now + limits.smallWindowDelay }
    }

    /// Returns the next stream that can send, in the order of RFC 9218. It is out of the order, and has its turn, until it sends.
    mutating func nextWritable() -> StreamID? {
        guard !order.isEmpty, hasPeerSettings, failure == nil, writer.count < limits.maximumOutput,
            let id = order.first(where: { canSend($0) })
        else { return nil }
        order.remove(id)
        turn = id
        return id
    }
}

extension HTTP2Connection {
    /// Changes a stream's priority; a client tells the server.
    mutating func updatePriority(_ priority: HTTP2Priority, of id: StreamID) {
        guard let index = streams.index(of: id), streams[index].state != .closed else { return }
        setPriority(index, priority)
        if role == .client { writer.appendPriorityUpdate(id, priority.fieldValue) }
    }
}
