internal import HPACK
internal import HTTPMessage

// MARK: - Heads (RFC 9113 §8.3)

extension HTTP2Connection {
    /// Sends a request on a new stream. See ``HTTP2ClientMachine/request(_:endsHere:now:)``.
    mutating func request(_ request: HTTP2Request, endsHere: Bool) throws(HTTP2Error) -> StreamID? {
        let (method, target) = (request.head.method, request.head.target)
        let isConnect = method == .connect
        guard let authority = target.authority ?? request.head.fields[.host], !authority.isEmpty else {
            throw .caller(nil, .protocolError, "RFC 9113 §8.3.1", "the request has neither Host nor an absolute target")
        }
        let length = try checkFields(request.head.fields)
        try checkRequest(request, authority, endsHere: endsHere, length)
        guard room > 0 else {
            wantsRoom = true
            return nil
        }
        let id = nextStream
        nextStream = StreamID(id.rawValue + 2)
        var stream = newStream(id)
        stream.incoming = .head(interimCount: 0)
        stream.outgoing = endsHere ? .ended : isConnect ? .tunnel : .content(remaining: length)
        stream.isHead = method == .head
        stream.isConnect = isConnect || request.connectProtocol != nil
        if stream.isConnect, !endsHere { stream.outgoing = .tunnel }
        stream.priority = request.priority
        let place = open(stream)
        setState(place, endsHere ? .halfClosedLocal : .open)
        let frame = writer.beginHeaders(on: id, ends: endsHere)
        encoder.beginBlock(into: &writer.bytes)
        encodePseudoFields(request, method, target, authority)
        encodeFields(request.head.fields, hidesHost: true)
        encodePriority(request)
        writer.endHeaders(frame, on: id)
        return id
    }

    private mutating func encodePseudoFields(
        _ request: HTTP2Request, _ method: HTTPMethod, _ target: RequestTarget, _ authority: String
    ) {
        let name = request.connectProtocol == nil ? method.name : "CONNECT"
        encoder.encode(.method, name.utf8.span.bytes, into: &writer.bytes)
        if method != .connect {
            encoder.encode(.scheme, request.scheme.utf8.span.bytes, into: &writer.bytes)
        }
        encoder.encode(.authority, authority.utf8.span.bytes, into: &writer.bytes)
        if method != .connect {
            let path = Self.path(of: target)
            encoder.encode(.path, path.span.bytes, into: &writer.bytes)
        }
        if let connectProtocol = request.connectProtocol {
            encoder.encode(.protocol, connectProtocol.utf8.span.bytes, into: &writer.bytes)
        }
    }

    /// The `:path`: the target in origin form, or `*`.
    private static func path(of target: RequestTarget) -> [UInt8] {
        guard target.form == .absolute else { return target.bytes }
        let path = target.path ?? ""
        return Array((path.isEmpty ? "/" : path).utf8) + (target.query.map { Array("?\($0)".utf8) } ?? [])
    }

    private mutating func encodePriority(_ request: HTTP2Request) {
        guard request.priority != HTTP2Priority(), !request.head.fields.contains("priority") else { return }
        encoder.encode(
            name: Self.priorityName.span.bytes, value: request.priority.fieldValue.utf8.span.bytes, into: &writer.bytes)
    }

    private static let priorityName = Array("priority".utf8)

    private func checkRequest(
        _ request: HTTP2Request, _ authority: String, endsHere: Bool, _ length: Int64?
    ) throws(HTTP2Error) {
        if let name = request.connectProtocol {
            guard FieldBytes.isToken(name.utf8.span.bytes) else {
                throw .caller(nil, .protocolError, "RFC 8441 §4", "the protocol of an extended CONNECT is not a token")
            }
            guard hasPeerSettings, peerSettings.isConnectProtocolEnabled, request.head.method == .get, !endsHere else {
                throw .caller(
                    nil, .protocolError, "RFC 8441 §4",
                    "extended CONNECT needs a GET whose body is not ended, and a server that has allowed it")
            }
        }
        if request.head.method != .connect {
            guard FieldBytes.isScheme(request.scheme.utf8.span.bytes) else {
                throw .caller(nil, .protocolError, "RFC 9113 §8.3.1", "the request has no valid scheme")
            }
        }
        guard RequestTarget.isAuthority(authority.utf8.span.bytes) else {
            throw .caller(nil, .protocolError, "RFC 9113 §8.3.1", "'\(authority)' is not a host with an optional port")
        }
        if endsHere, let length, length > 0 { throw Self.contentLengthMistake(nil) }
        if length != nil, request.head.method == .connect || request.connectProtocol != nil {
            throw .caller(nil, .protocolError, "RFC 9110 §8.6", "a CONNECT has no content, and so no Content-Length")
        }
    }

    /// Sends the head of an interim or the final response. See ``HTTP2ServerMachine/respond(_:with:endsHere:now:)``.
    mutating func respond(_ id: StreamID, _ response: HTTPResponse, endsHere: Bool) throws(HTTP2Error) {
        let place = try placeToSend(id)
        let status = response.status.code
        guard streams[place].outgoing == .head else {
            throw .caller(id, .protocolError, "RFC 9113 §8.1", "the final response has begun")
        }
        if status == 101 || status < 200 && endsHere {
            throw .caller(
                id, .protocolError, "RFC 9113 §8.6", "an interim response cannot switch protocols or be the last")
        }
        let length = try checkFields(response.fields)
        let isBodiless = streams[place].isHead || status == 204 || status == 304
        if endsHere, !isBodiless, let length, length > 0 { throw Self.contentLengthMistake(id) }
        let frame = writer.beginHeaders(on: id, ends: endsHere)
        encoder.beginBlock(into: &writer.bytes)
        encoder.encode(.status, response.status.description.utf8.span.bytes, into: &writer.bytes)
        encodeFields(response.fields, hidesHost: false)
        writer.endHeaders(frame, on: id)
        if status < 200 { return }
        if streams[place].isConnect, status < 300 {
            streams[place].outgoing = .tunnel
        } else {
            streams[place].outgoing = .content(remaining: isBodiless ? 0 : length)
        }
        if endsHere { didEnd(place) }
    }

    /// Sends trailers, which end the message. See ``HTTP2ClientMachine/sendTrailers(_:on:now:)``.
    mutating func sendTrailers(_ trailers: HTTPFields, on id: StreamID) throws(HTTP2Error) {
        let place = try placeToSend(id)
        guard case .content(let remaining) = streams[place].outgoing else {
            throw .caller(id, .protocolError, "RFC 9113 §8.1", "trailers follow the content of a message")
        }
        guard remaining ?? 0 == 0 else { throw Self.contentLengthMistake(id) }
        _ = try checkFields(trailers)
        for field in trailers where HTTPFieldName.neverSentInTrailers.contains(field.name) {
            throw .caller(id, .protocolError, "RFC 9110 §6.5.1", "\(field.name) is not allowed in trailers")
        }
        let frame = writer.beginHeaders(on: id, ends: true)
        encoder.beginBlock(into: &writer.bytes)
        encodeFields(trailers, hidesHost: false)
        writer.endHeaders(frame, on: id)
        didEnd(place)
    }

    /// Accounts END_STREAM.
    private mutating func didEnd(_ place: Int) {
        streams[place].outgoing = .ended
        streams[place].blockedSince = nil
        order.remove(streams[place].id)
        if case .to(let state) = streams[place].state.transition(.dataEnd, .send) { setState(place, state) }
    }

    /// Returns the place of a stream on which this side may send.
    private func placeToSend(_ id: StreamID) throws(HTTP2Error) -> Int {
        guard let place = streams.place(of: id) else { throw Self.unknownStream(id) }
        if let failure = streams[place].failure { throw failure.error(on: id) }
        guard streams[place].outgoing != .ended else {
            let isStopped = streams[place].state == .closed
            let reason = isStopped ? "the peer wants no more of the message" : "the message is complete"
            throw HTTP2Error(
                code: .streamClosed, scope: .stream(id), fault: isStopped ? .peer : .caller, rule: "RFC 9113 §5.1",
                reason: reason)
        }
        return place
    }

    static func contentLengthMistake(_ id: StreamID?) -> HTTP2Error {
        .caller(id, .protocolError, "RFC 9113 §8.1.1", "the content is not as long as Content-Length says")
    }
}

// MARK: - Fields (RFC 9113 §8.2)

extension HTTP2Connection {
    /// Checks the fields of a message to be sent, and returns its `Content-Length`.
    ///
    /// The fields of a connection of HTTP/1.1 are left out if they only ask for what HTTP/2 does anyway. All others are mistakes.
    private func checkFields(_ fields: HTTPFields) throws(HTTP2Error) -> Int64? {
        var length: Int64?
        var mistake: HTTP2Error?
        fields.forEachRawField { name, value in
            switch name.byteCount {
            case 2 where name.isEqualIgnoringCase("te"):
                if !value.isEqualIgnoringCase("trailers") { mistake = Self.noCounterpart("TE: \(value.text)") }
            case 7 where name.isEqualIgnoringCase("upgrade"): mistake = Self.noCounterpart("Upgrade")
            case 10 where name.isEqualIgnoringCase("connection"):
                let option = fields.connectionOptions.first { !["keep-alive", "close", "te"].contains($0) }
                if let option { mistake = Self.noCounterpart("Connection: \(option)") }
            case 14 where name.isEqualIgnoringCase("content-length"):
                let number = FieldBytes.number(value)
                if number == nil || length != nil {
                    mistake = .caller(
                        nil, .protocolError, "RFC 9110 §8.6",
                        number == nil
                            ? "'\(value.text)' is not a Content-Length" : "there is more than one Content-Length")
                }
                length = number
            case 17 where name.isEqualIgnoringCase("transfer-encoding"):
                if !value.isEqualIgnoringCase("chunked") {
                    mistake = Self.noCounterpart("Transfer-Encoding: \(value.text)")
                }
            default: break
            }
        }
        if let mistake { throw mistake }
        return length
    }

    private static func noCounterpart(_ field: String) -> HTTP2Error {
        .caller(nil, .protocolError, "RFC 9113 §8.2.2", "HTTP/2 has no counterpart of the field \(field)")
    }

    /// Encodes fields, without those that only HTTP/1.1 has.
    private mutating func encodeFields(_ fields: HTTPFields, hidesHost: Bool) {
        fields.forEachRawField { name, value in
            switch name.byteCount {
            case 4 where hidesHost && name.isEqualIgnoringCase("host"): return
            case 10 where name.isEqualIgnoringCase("connection") || name.isEqualIgnoringCase("keep-alive"): return
            case 16 where name.isEqualIgnoringCase("proxy-connection"): return
            case 17 where name.isEqualIgnoringCase("transfer-encoding"): return
            default: encoder.encode(name: name, value: value, into: &writer.bytes)
            }
        }
    }
}

// MARK: - Data (RFC 9113 §6.1 and §6.9)

extension HTTP2Connection {
    /// Sends data as far as the windows, the output and the order of the streams allow. See ``HTTP2ClientMachine/send(_:on:endsHere:now:)``.
    mutating func send(
        _ bytes: RawSpan, on id: StreamID, endsHere: Bool, now: Duration
    ) throws(HTTP2Error) -> HTTP2SendOutcome {
        self.now = max(self.now, now)
        let place = try placeToSend(id)
        switch streams[place].outgoing {
        case .head: throw .caller(id, .protocolError, "RFC 9113 §8.1", "data before the head of the response")
        case .content(let remaining?):
            let count = Int64(bytes.byteCount)
            if count > remaining || endsHere && count < remaining { throw Self.contentLengthMistake(id) }
        case .content(nil), .tunnel, .ended: break
        }
        var sent = 0
        let priority = streams[place].priority
        while canSendNow(id, priority) {
            let rest = bytes.byteCount - sent
            if rest == 0, !endsHere { break }
            let window = max(0, min(streams[place].sendWindow.available, sendWindow.available))
            guard rest == 0 || window > 0, !holdsBack(place, rest: rest, window: window) else { break }
            let count = min(rest, Int(window), FrameParser.maximumFrameSize)
            let ends = endsHere && count == rest
            writer.appendData(bytes.extracting(sent..<sent + count), on: id, ends: ends)
            didSend(count, place)
            sent += count
            if ends {
                didEnd(place)
                return HTTP2SendOutcome(count: sent, isComplete: true)
            }
            if priority.isIncremental, order.first(where: { $0 != id && canSend($0) }) != nil { break }
        }
        let isComplete = sent == bytes.byteCount && !endsHere
        if isComplete { order.remove(id) } else { wait(place, goesOn: sent > 0) }
        return HTTP2SendOutcome(count: sent, isComplete: isComplete)
    }

    private mutating func didSend(_ count: Int, _ place: Int) {
        streams[place].sendWindow.spend(count)
        sendWindow.spend(count)
        streams[place].hold = .none
        streams[place].blockedSince = nil
        if case .content(let remaining?) = streams[place].outgoing {
            streams[place].outgoing = .content(remaining: remaining - Int64(count))
        }
    }

    /// Enters a stream in the order of sending, and notes since when it lacks credit.
    private mutating func wait(_ place: Int, goesOn: Bool) {
        if goesOn { order.remove(streams[place].id) }
        order.add(streams[place].id, streams[place].priority, goesOn: goesOn)
        noteCredit(place)
    }

    /// Notes since when a stream that wants to send lacks credit.
    mutating func noteCredit(_ place: Int) {
        streams[place].blockedSince = hasCredit(place) ? nil : streams[place].blockedSince ?? now
    }

    /// Whether both windows allow a stream to send.
    func hasCredit(_ place: Int) -> Bool {
        min(streams[place].sendWindow.available, sendWindow.available) > 0
    }

    /// Whether DATA of this stream may be written now.
    ///
    /// DATA waits for the peer's SETTINGS: nginx refuses requests whose body arrives before its settings are acknowledged.
    private func canSendNow(_ id: StreamID, _ priority: HTTP2Priority) -> Bool {
        guard hasPeerSettings, failure == nil, writer.count < limits.maximumOutput else { return false }
        return order.isTurn(of: id, priority) { canSend($0) }
    }

    /// Whether the windows allow a stream that waits to send.
    private func canSend(_ id: StreamID) -> Bool {
        guard let place = streams.place(of: id), streams[place].hold != .waiting else { return false }
        return hasCredit(place)
    }

    /// Whether the rest of a window is too small to be worth a frame, as credit is to be expected (RFC 9113 §6.9.1 leaves it open).
    private mutating func holdsBack(_ place: Int, rest: Int, window: Int64) -> Bool {
        guard Int64(rest) > window, streams[place].hold != .released,
            streams[place].sendWindow.isNearlyExhausted || sendWindow.isNearlyExhausted
        else { return false }
        streams[place].hold = .waiting
        if timeouts.smallWindowsUntil == nil { timeouts.smallWindowsUntil = now + limits.smallWindowDelay }
        return true
    }

    /// Returns the next stream that can send, in the order of RFC 9218, and takes it out of the order until it sends again.
    mutating func nextWritable() -> StreamID? {
        guard hasPeerSettings, failure == nil, writer.count < limits.maximumOutput,
            let id = order.first(where: { canSend($0) })
        else { return nil }
        order.remove(id)
        return id
    }
}

extension HTTP2Connection {
    /// Changes a stream's priority; a client tells the server.
    mutating func updatePriority(_ priority: HTTP2Priority, of id: StreamID) {
        guard let place = streams.place(of: id), streams[place].state != .closed else { return }
        setPriority(place, priority)
        if role == .client { writer.appendPriorityUpdate(id, priority.fieldValue) }
    }
}
