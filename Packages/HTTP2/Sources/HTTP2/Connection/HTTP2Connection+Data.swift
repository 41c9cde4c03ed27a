// MARK: - Data (RFC 9113 §6.1)

extension HTTP2Connection {
    /// Accounts a DATA frame, before anything looks at its stream: what is not delivered is given back at once.
    ///
    /// The whole payload counts, with its padding, from the header of the frame on (RFC 9113 §6.9.1).
    mutating func beginData(_ start: FrameStart) throws(HTTP2Error) {
        let header = start.header
        // What is read of it makes this side send WINDOW_UPDATE.
        try requireRoomForAnswer()
        guard receiveWindow.receive(header.length) else {
            throw .connection(.flowControlError, "RFC 9113 §6.9.1", "the peer exceeds the window of the connection")
        }
        dataFrame = header
        let id = header.stream
        let index = streams.index(of: id)
        if !header.endsStream {
            if start.contentLength == 0 {
                try floods.countEmptyFrame(now: now)
            } else {
                // Another protocol may have messages of any size: a WebSocket sends a frame for each. They pay for nothing else.
                let isTunnel = index.map { streams[$0].incoming } == .tunnel
                if !isTunnel { try floods.countData(start.contentLength, now: now) }
                if !isTunnel || start.contentLength >= FloodGuard.smallDataSize { floods.didCarryData() }
            }
        }
        guard let index, streams[index].state != .closed else {
            receiveWindow.consume(Int64(header.length))
            return try receiveLateData(header)
        }
        guard streams[index].receiveWindow.receive(header.length) else {
            receiveWindow.consume(Int64(header.length))
            return try resetStream(
                id,
                because: .stream(id, .flowControlError, "RFC 9113 §6.9.1", "the peer exceeds the window of the stream"))
        }
        let padding = header.length - start.contentLength
        if padding > 0 { consume(Int64(padding), of: index) }
        try checkData(start, index)
    }

    /// Checks what DATA means for its stream (RFC 9113 §5.1 and §8.1).
    private mutating func checkData(_ start: FrameStart, _ index: Int) throws(HTTP2Error) {
        let id = start.header.stream
        guard try admit(start.header.event, on: id, at: index) != nil else { return }
        switch streams[index].incoming {
        case .head:
            try resetStream(
                id, because: .stream(id, .protocolError, "RFC 9113 §8.1", "DATA before the head of the response"))
        case .content(let remaining?):
            guard Int64(start.contentLength) <= remaining else {
                return try resetStream(id, because: Self.contentLengthError(id))
            }
            streams[index].incoming = .content(remaining: remaining - Int64(start.contentLength))
        case .noContent:
            if start.contentLength > 0 { try resetStream(id, because: Self.noContentError(id)) }
        case .content(nil), .tunnel, .ended: break
        }
    }

    /// DATA on a stream that is not open (RFC 9113 §5.1).
    private mutating func receiveLateData(_ header: FrameHeader) throws(HTTP2Error) {
        dataFrame = nil
        let id = header.stream
        if !isIdle(id) {
            // The rest of a body may be on its way when this side resets its stream. Large frames cost the peer as much.
            if header.length < FloodGuard.smallDataSize { try floods.countFrameWithoutEffect(now: now) }
            if recentStreams.wasResetHere(id) || isIgnored(id) { return }
            // A client has forgotten when it reset the stream, and the server has not seen it.
            if role == .client, streams.index(of: id) == nil, !recentStreams.contains(id) { return }
        }
        _ = try admit(header.event, on: id, at: nil)
    }

    /// Offers a piece of the DATA frame that has begun to the program, and keeps what it does not take. What arrives for a stream that
    /// has ended meanwhile is accounted already.
    mutating func receiveData(_ content: RawSpan, _ take: (StreamID, RawSpan) -> Int) {
        guard let id = dataFrame?.stream, let index = streams.index(of: id), streams[index].state != .closed,
            content.byteCount > 0
        else { return }
        streams[index].lastArrival = now
        guard streams[index].body.count == 0 else { return keep(content, index) }
        let taken = take(id, content)
        precondition((0...content.byteCount).contains(taken), "more bytes were taken than were offered")
        if taken > 0 { consume(Int64(taken), of: index) }
        if taken == content.byteCount { return }
        events.append(.readable(id))
        keep(content.extracting(droppingFirst: taken), index)
    }

    private mutating func keep(_ content: RawSpan, _ index: Int) {
        streams[index].body.append(content, limit: Int(clamping: streams[index].receiveWindow.size))
    }

    mutating func endData() throws(HTTP2Error) {
        guard let frame = dataFrame else { return }
        dataFrame = nil
        guard frame.endsStream, let index = streams.index(of: frame.stream), streams[index].state != .closed else {
            return
        }
        try receiveEndStream(index, .dataEnd)
    }

    /// Acts on END_STREAM, behind the last byte of the peer's message.
    mutating func receiveEndStream(_ index: Int, _ event: StreamState.Event) throws(HTTP2Error) {
        let id = streams[index].id
        guard isContentComplete(index) else { return try resetStream(id, because: Self.contentLengthError(id)) }
        guard case .to(let state) = streams[index].state.transition(event, .receive) else { return }
        events.append(.ended(id))
        enter(state, index)
    }

    /// Whether the message may end here, by its `content-length`.
    func isContentComplete(_ index: Int) -> Bool {
        if case .content(let remaining?) = streams[index].incoming { remaining == 0 } else { true }
    }

    static func contentLengthError(_ id: StreamID) -> HTTP2Error {
        .stream(id, .protocolError, "RFC 9113 §8.1.1", "the content is not as long as content-length says")
    }

    private static func noContentError(_ id: StreamID) -> HTTP2Error {
        .stream(id, .protocolError, "RFC 9110 §6.4.1", "a response to HEAD, 204 or 304 has no content")
    }
}

extension FrameHeader {
    /// What a DATA frame means for the state of its stream.
    fileprivate var event: StreamState.Event { endsStream ? .dataEnd : .data }
}

// MARK: - Reading and credit (RFC 9113 §5.2 and §6.9)

extension HTTP2Connection {
    /// Moves received bytes to the program's memory and gives the peer credit for them.
    mutating func read(
        _ id: StreamID, into target: inout MutableRawSpan, now: Duration
    ) throws(HTTP2Error) -> HTTP2ReadOutcome {
        advance(to: now)
        guard let index = streams.index(of: id) else { throw Self.unknownStream(id) }
        let count = streams[index].body.read(into: &target)
        if count > 0 {
            consume(Int64(count), of: index)
            giveConnectionCredit()
            return .bytes(count)
        }
        if streams[index].body.count > 0 { return .bytes(0) }
        if let failure = streams[index].failure { return .reset(failure) }
        if streams[index].incoming.hasEnded { return .ended }
        return .blocked
    }

    /// See ``HTTP2Machine/hasUnread(_:)``.
    func hasUnread(_ id: StreamID) -> Bool { streams.index(of: id).map { streams[$0].body.count > 0 } ?? false }

    /// Accounts bytes of a stream that were read, or that carry nothing, in both windows.
    ///
    /// Credit comes from here, from ``discardUnread(_:)``, and from ``beginData(_:)`` for frames that no stream receives.
    mutating func consume(_ count: Int64, of index: Int) {
        receiveWindow.consume(count)
        streams[index].receiveWindow.consume(count)
        guard case .to = streams[index].state.transition(.windowUpdate, .send) else { return }
        growWindow(index)
        let window = streams[index].receiveWindow
        guard let credit = streams[index].receiveWindow.takeCredit(threshold: window.size / 2) else { return }
        if window.available == 0 { streams[index].lastArrival = now }
        streams[index].lastCredit = now
        writer.appendWindowUpdate(streams[index].id, increment: credit)
    }

    /// Doubles the window of a stream whose sender uses half of it within two round trips: the window limits the transfer (RFC 9113
    /// §5.2.3).
    private mutating func growWindow(_ index: Int) {
        let window = streams[index].receiveWindow
        guard window.pending >= window.size / 2, let lastCredit = streams[index].lastCredit,
            let roundTrip = liveness.roundTrip, now - lastCredit <= roundTrip * 2,
            window.size * 2 <= limits.maximumStreamWindow,
            receiveWindow.size + window.size + reservedForNewStreams <= limits.maximumConnectionWindow
        else { return }
        streams[index].receiveWindow.grow(by: window.size)
        receiveWindow.grow(by: window.size)
    }

    /// What the windows of the streams need that can still be opened: no window grows at their expense.
    private var reservedForNewStreams: Int64 {
        Int64(max(0, limits.maximumConcurrentStreams - openCount)) * limits.newStreamWindow
    }

    /// Gives back what was read on the connection, once it is half of the reserve.
    ///
    /// As the window consists of the reserve and the windows of all streams, and unread streams hold no more than their own, at least
    /// the other half of the reserve is always available.
    mutating func giveConnectionCredit(threshold: Int64? = nil) {
        if let credit = receiveWindow.takeCredit(threshold: threshold ?? limits.connectionWindowReserve / 2) {
            writer.appendWindowUpdate(.connection, increment: credit)
        }
    }
}
