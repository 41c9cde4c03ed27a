// MARK: - Streams from opening to closing (RFC 9113 §5.1)

extension HTTP2Connection {
    /// Opens a stream with the windows that both sides have agreed on. The window of the connection grows by that of the stream.
    mutating func open(_ id: StreamID, incoming: IncomingMessage, outgoing: OutgoingMessage) -> Int {
        // Until the peer has acknowledged SETTINGS, it may count on the initial value (RFC 9113 §6.9.2).
        let window = limits.initialStreamWindow
        let size = settingsSentAt == nil ? window : max(window, SendWindow.initial)
        receiveWindow.grow(by: size)
        if openCount == 0 { liveness.begin(now: now) }
        openCount += 1
        if timeouts.nextStreamCheck == nil { timeouts.nextStreamCheck = now + streamCheckInterval }
        return streams.insert(
            id, ReceiveWindow(size: size), SendWindow(size: peerSettings.initialWindowSize), incoming: incoming,
            outgoing: outgoing, now: now)
    }

    /// The state of a stream with this place in the table, or of one that is not in the table.
    @inline(__always)
    func state(of id: StreamID, at place: Int?) -> StreamState {
        if let place { streams[place].state } else { isIdle(id) ? .idle : .closed }
    }

    /// Looks a received frame up in the table of states. Returns the place of its stream if the frame has an effect.
    ///
    /// Throws errors of the connection. An error of the stream has ended it, and a frame to ignore is counted, when this returns nil.
    mutating func admit(_ event: StreamState.Event, on id: StreamID, at place: Int?) throws(HTTP2Error) -> Int? {
        let state = state(of: id, at: place)
        switch state.transition(event, .receive) {
        case .to: return place
        case .connectionError(let code): throw Self.stateError(code, event, id, state)
        case .streamError(let code):
            try endStream(id, .stream(id, code, "RFC 9113 §5.1", "\(event.frame) after the end of the message"))
        case .ignore, .forbidden: try floods.frameWithoutEffect(now: now)
        }
        return nil
    }

    static func stateError(
        _ code: ErrorCode, _ event: StreamState.Event, _ id: StreamID, _ state: StreamState
    ) -> HTTP2Error {
        .connection(code, "RFC 9113 §5.1", "\(event.frame) on stream \(id), which is \(state)")
    }

    /// Moves a stream to a state and, if both sides have ended it, reports what becomes possible.
    mutating func enter(_ state: StreamState, _ place: Int) {
        if streams[place].state == .closed { return }
        streams[place].enter(state)
        guard state == .closed else { return }
        openCount -= 1
        order.remove(streams[place].id)
        reportRoom()
        reportDrained()
    }

    /// Returns whether no frame was exchanged on a stream that could still be opened (RFC 9113 §5.1.1).
    @inline(__always)
    func isIdle(_ stream: StreamID) -> Bool {
        switch role {
        case .client: !stream.isClientInitiated || stream >= nextStream
        case .server: !stream.isClientInitiated || stream > highestPeerStream
        }
    }

    /// Ends a stream because of the peer: RST_STREAM, and a report to the program if it knows the stream (RFC 9113 §5.4.2).
    ///
    /// On a server, such streams count as resets (``HTTP2Limits/resets``): the peer can cause any number of them.
    mutating func endStream(_ id: StreamID, _ error: HTTP2Error) throws(HTTP2Error) {
        try requireReadAnswers()
        let place = streams.place(of: id)
        sendReset(id, error.code, at: place)
        if let place, streams[place].state != .closed {
            if !hasWholeAnswer(place) { discardUnread(place) }
            abandon(place, HTTP2StreamFailure(code: error.code, cause: .violation(error), processing: .unknown))
        }
        if role == .server { try floods.reset(now: now) }
    }

    /// Why a server that has as many streams as the limit refuses another one; nil if some of them do not count.
    ///
    /// Open streams count, and those that have failed until the program closes them: their handlers run. A stream that both sides have
    /// ended does not (RFC 9113 §5.1.2), as long as there are not as many of them again, and its window is left.
    mutating func refusal() -> HeaderBlock.Refusal? {
        var failedCount = 0
        for place in streams.occupied where streams[place].state == .closed {
            if streams[place].failure != nil { failedCount += 1 }
            receiveWindow.shrink(by: streams[place].receiveWindow.shrinkToUnread())
            streams[place].body.trim()
        }
        if openCount + failedCount >= limits.maximumConcurrentStreams { return .tooManyStreams }
        let fits =
            streams.count < 2 * limits.maximumConcurrentStreams
            && receiveWindow.size + limits.newStreamWindow <= limits.largestConnectionWindow
        return fits ? nil : .tooManyHeldStreams
    }

    /// Refuses a request of a client that keeps its limit: this does not count as a reset.
    mutating func refuseWithoutFault(_ id: StreamID) throws(HTTP2Error) {
        try requireReadAnswers()
        sendReset(id, .refusedStream, at: nil)
        try floods.frameWithoutEffect(now: now)
    }

    /// Sends RST_STREAM, if the table of states allows it. The caller moves the stream to the state closed.
    private mutating func sendReset(_ id: StreamID, _ code: ErrorCode, at place: Int?) {
        if case .forbidden = state(of: id, at: place).transition(.resetStream, .send) { return }
        writer.appendReset(id, code)
        recentStreams.insert(id, wasResetHere: true)
    }

    /// Closes a stream before both messages are complete, and tells the program.
    ///
    /// On a client, a response that is complete stays so: only the request stops (RFC 9113 §8.1).
    mutating func abandon(_ place: Int, _ failure: HTTP2StreamFailure) {
        let id = streams[place].id
        let isWhole = hasWholeAnswer(place)
        var failure = failure
        // A server that has begun to respond has processed the request, whatever it says afterwards.
        if streams[place].incoming != .head(after: .none) { failure.processing = .unknown }
        if !isWhole { streams[place].failure = failure }
        let isUnknown = role == .server && events.removeRequest(on: id)
        if !isUnknown { events.append(isWhole ? .sendingStopped(id, failure.code) : .reset(id, failure)) }
        // The events of what becomes possible follow.
        enter(.closed, place)
        if isUnknown { forget(place) }
    }

    /// Whether a client has received the whole response.
    @inline(__always)
    private func hasWholeAnswer(_ place: Int) -> Bool { role == .client && streams[place].incoming.hasEnded }

    /// Removes what a stream has received and will not be read, and gives the connection credit for it.
    mutating func discardUnread(_ place: Int) {
        let unread = streams[place].receiveWindow.unread
        streams[place].body.removeAll()
        streams[place].receiveWindow.consume(unread)
        receiveWindow.consume(unread)
    }

    /// Removes a stream from the table. Its part of the connection's window goes with it.
    mutating func forget(_ place: Int) {
        discardUnread(place)
        receiveWindow.shrink(by: streams[place].receiveWindow.size)
        order.remove(streams[place].id)
        recentStreams.insert(streams[place].id, wasResetHere: false)
        streams.remove(place)
    }

    /// Ends all streams with the connection. Those above the last one of a GOAWAY have ended with it.
    mutating func endAllStreams(_ error: HTTP2Error) {
        for place in streams.occupied where streams[place].state != .closed {
            abandon(place, HTTP2StreamFailure(code: error.code, cause: .connection(error), processing: .unknown))
        }
    }

    /// Ends the program's interest in a stream. See ``HTTP2Machine/close(_:code:)``.
    mutating func close(_ id: StreamID, _ code: ErrorCode?) {
        guard let place = streams.place(of: id) else { return }
        if streams[place].state != .closed {
            let isAnswered = role == .server && streams[place].outgoing.hasEnded
            sendReset(id, code ?? (isAnswered ? .noError : .cancel), at: place)
            enter(.closed, place)
        }
        forget(place)
        giveConnectionCredit()
    }

    /// Reports that a request can be sent, if one could not before.
    mutating func reportRoom() {
        guard wantsRoom, room > 0 else { return }
        wantsRoom = false
        events.append(.room)
    }

    /// Reports the end of the last stream after a GOAWAY.
    mutating func reportDrained() {
        guard isDraining, openCount == 0, !isDrainedReported, failure == nil else { return }
        if case .announced = shutdown { return }
        isDrainedReported = true
        events.append(.drained)
    }

    /// The number of requests that a client can send now.
    @inline(__always)
    var room: Int {
        if isDraining || failure != nil { return 0 }
        return max(0, min(limits.maximumConcurrentStreams, peerSettings.maximumConcurrentStreams) - openCount)
    }

    /// Whether a GOAWAY was sent or received, or a client has used all identifiers.
    @inline(__always)
    var isDraining: Bool { shutdown != .none || peerGoAway != nil || nextStream == .highest }

    static func unknownStream(_ id: StreamID) -> HTTP2Error {
        .caller(id, .streamClosed, "RFC 9113 §5.1", "stream \(id) was never opened, or the program has closed it")
    }
}
