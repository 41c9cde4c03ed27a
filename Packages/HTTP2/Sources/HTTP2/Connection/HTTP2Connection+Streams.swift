// MARK: - Streams from opening to closing (RFC 9113 §5.1)

/// How a stream ends, and which function ends it:
///
/// | what happens | function | the peer is sent | the program gets |
/// |---|---|---|---|
/// | the peer ends its message | ``receiveEndStream(_:_:)`` | | `.ended` |
/// | the program ends its message | ``didSendEndStream(_:_:)`` | END_STREAM | |
/// | the peer violates a rule on it, or lets it wait | ``resetStream(_:because:)`` | RST_STREAM | `.reset` |
/// | the peer resets it | ``receiveReset(_:_:)`` | | `.reset` |
/// | GOAWAY excludes it | ``receiveGoAway(_:)`` | | `.reset`, and it may be repeated |
/// | the connection ends | ``endAllStreams(_:)`` | | `.reset` |
/// | the program closes it | ``close(_:_:)`` | RST_STREAM, if it is not complete | |
/// | a request exceeds the limit of streams | ``refuseWithoutFault(_:)``, ``resetStream(_:because:)`` | RST_STREAM | |
/// | a request exceeds the limits of fields | ``refuseLargeRequest(_:)`` | 431 | |
///
/// The last two never open a stream. All others but closing keep it in the table, with what the program has not read, until the program
/// closes it: then ``forget(_:)`` removes it. Each end before both messages are complete goes through ``endEarly(_:_:)``, which
/// decides what the program gets: a server's program that has not taken the request gets nothing, and the stream is forgotten at once; a
/// client's that has the whole response gets `.sendingStopped`.
extension HTTP2Connection {
    /// Opens a stream with the windows that both sides have agreed on. The window of the connection grows by that of the stream.
    mutating func open(_ id: StreamID, incoming: IncomingMessage, outgoing: OutgoingMessage) -> Int {
        // Until the peer has acknowledged SETTINGS, it may count on the initial value (RFC 9113 §6.9.2).
        let window = limits.initialStreamWindow
        let size = settingsSentAt == nil ? window : max(window, SendWindow.initial)
        receiveWindow.grow(by: size)
        if openCount == 0 { liveness.noteSign(now: now) }
        openCount += 1
        floods.didOpenStream()
        if timeouts.nextStreamCheck == nil { timeouts.nextStreamCheck = now + streamCheckInterval }
        return streams.insert(
            id, ReceiveWindow(size: size), SendWindow(size: peerSettings.initialWindowSize), incoming: incoming,
            outgoing: outgoing, now: now)
    }

    /// The state of a stream at this index of the table, or of one that is not in the table.
    @inline(__always)
    func state(of id: StreamID, at index: Int?) -> StreamState {
        if let index { streams[index].state } else { isIdle(id) ? .idle : .closed }
    }

    /// Looks a received frame up in the table of states. Returns the index of its stream if the frame has an effect.
    ///
    /// Throws errors of the connection. An error of the stream has ended it, and a frame to ignore is counted, when this returns nil.
    mutating func admit(_ event: StreamState.Event, on id: StreamID, at index: Int?) throws(HTTP2Error) -> Int? {
        let state = state(of: id, at: index)
        switch state.transition(event, .receive) {
        case .to: return index
        case .connectionError(let code): throw Self.stateError(code, event, id, state)
        case .streamError(let code):
            try resetStream(
                id, because: .stream(id, code, "RFC 9113 §5.1", "\(event.frame) after the end of the message"))
        case .ignore, .forbidden: try floods.countFrameWithoutEffect(now: now)
        }
        return nil
    }

    static func stateError(
        _ code: ErrorCode, _ event: StreamState.Event, _ id: StreamID, _ state: StreamState
    ) -> HTTP2Error {
        .connection(code, "RFC 9113 §5.1", "\(event.frame) on stream \(id), which is \(state)")
    }

    /// Moves a stream to a state. If both sides have ended it, gives up the window and the memory that it does not need any more, and
    /// reports what becomes possible.
    mutating func enter(_ state: StreamState, _ index: Int) {
        if streams[index].state == .closed { return }
        streams[index].enter(state)
        guard state == .closed else { return }
        openCount -= 1
        order.remove(streams[index].id)
        receiveWindow.shrink(by: streams[index].receiveWindow.shrinkToUnread())
        if streams[index].body.capacity > BodyRing.keptCapacity { streams[index].body.trim() }
        reportRoom()
        reportDrained()
    }

    /// Returns whether no frame was exchanged on a stream that could still be opened (RFC 9113 §5.1.1).
    func isIdle(_ stream: StreamID) -> Bool {
        switch role {
        case .client: !stream.isClientInitiated || stream >= nextStream
        case .server: !stream.isClientInitiated || stream > highestPeerStream
        }
    }

    /// Ends a stream because of the peer: RST_STREAM, and a report to the program if it knows the stream (RFC 9113 §5.4.2).
    ///
    /// On a server, such streams count as resets (``HTTP2Limits/resets``): the peer can cause any number of them.
    mutating func resetStream(_ id: StreamID, because error: HTTP2Error) throws(HTTP2Error) {
        try requireRoomForAnswer()
        let index = streams.index(of: id)
        sendReset(id, error.code, at: index)
        if let index, streams[index].state != .closed {
            if hasWholeResponse(index) { discardAnnounced(index) } else { discardUnread(index) }
            endEarly(index, HTTP2StreamFailure(code: error.code, cause: .violation(error), processing: .unknown))
        }
        if role == .server { try floods.countReset(now: now) }
    }

    /// Why a server that has as many streams as the limit refuses another one; nil if some of them do not count.
    ///
    /// Open streams count, and those that have failed until the program closes them: their handlers run. A stream that both sides have
    /// ended does not (RFC 9113 §5.1.2), as long as there are not as many of them again, and its window is left.
    var refusal: HeaderBlock.Refusal? {
        let failedCount = streams.indices.count { streams[$0].failure != nil }
        if openCount + failedCount >= limits.maximumConcurrentStreams { return .tooManyStreams }
        return canHoldAnotherStream ? nil : .tooManyHeldStreams
    }

    /// Whether there is memory for another stream beside those that the program holds, most of which both sides have ended.
    private var canHoldAnotherStream: Bool {
        if streams.count < limits.maximumConcurrentStreams { return true }
        return streams.count < 2 * limits.maximumConcurrentStreams
            && receiveWindow.size + limits.newStreamWindow <= maximumReceiveWindow
    }

    /// Refuses a request that the program does not serve. See ``HTTP2Machine/refuse(_:now:)``.
    mutating func refuse(_ id: StreamID) {
        guard failure == nil, streams.index(of: id) != nil else { return }
        close(id, .refusedStream)
        do throws(HTTP2Error) { try floods.countReset(now: now) } catch { fail(error) }
    }

    /// Refuses a request of a client that keeps its limit: this does not count as a reset.
    mutating func refuseWithoutFault(_ id: StreamID) throws(HTTP2Error) {
        try requireRoomForAnswer()
        sendReset(id, .refusedStream, at: nil)
        try floods.countFrameWithoutEffect(now: now)
    }

    /// Sends RST_STREAM, if the table of states allows it. The caller moves the stream to the state closed.
    private mutating func sendReset(_ id: StreamID, _ code: ErrorCode, at index: Int?) {
        if case .forbidden = state(of: id, at: index).transition(.resetStream, .send) { return }
        writer.appendReset(id, code)
        recentStreams.insert(id, wasResetHere: true)
    }

    /// Closes a stream before both messages are complete, and tells the program.
    ///
    /// On a client, a response that is complete stays so: only the request stops (RFC 9113 §8.1).
    mutating func endEarly(_ index: Int, _ failure: HTTP2StreamFailure) {
        let id = streams[index].id
        let isWhole = hasWholeResponse(index)
        var failure = failure
        // A server that has begun to respond has processed the request, whatever it says afterwards.
        if streams[index].incoming != .head(after: .none) { failure.processing = .unknown }
        if !isWhole { streams[index].failure = failure }
        let isUnknown = role == .server && events.removeRequest(on: id)
        if !isUnknown { events.append(isWhole ? .sendingStopped(id, failure) : .reset(id, failure)) }
        // The events of what becomes possible follow.
        enter(.closed, index)
        if isUnknown { forget(index) }
    }

    /// Whether a client has received the whole response.
    private func hasWholeResponse(_ index: Int) -> Bool { role == .client && streams[index].incoming.hasEnded }

    /// Gives the connection credit for the DATA frame that has begun: nothing of it is kept.
    private mutating func discardAnnounced(_ index: Int) {
        consume(streams[index].receiveWindow.unread - Int64(streams[index].body.count), of: index)
    }

    /// Removes what a stream has received and will not be read, and gives the connection credit for it.
    mutating func discardUnread(_ index: Int) {
        let unread = streams[index].receiveWindow.unread
        streams[index].body.removeAll()
        streams[index].receiveWindow.consume(unread)
        receiveWindow.consume(unread)
    }

    /// Removes a stream from the table. Its part of the connection's window goes with it.
    mutating func forget(_ index: Int) {
        discardUnread(index)
        receiveWindow.shrink(by: streams[index].receiveWindow.size)
        recentStreams.insert(streams[index].id, wasResetHere: false)
        streams.remove(index)
    }

    /// Ends all streams with the connection. Those above the last one of a GOAWAY have ended with it.
    mutating func endAllStreams(_ error: HTTP2Error) {
        for index in streams.indices where streams[index].state != .closed {
            endEarly(index, HTTP2StreamFailure(code: error.code, cause: .connection(error), processing: .unknown))
        }
    }

    /// Ends the program's interest in a stream. See ``HTTP2Machine/close(_:code:now:)``.
    mutating func close(_ id: StreamID, _ code: ErrorCode?) {
        guard let index = streams.index(of: id) else { return }
        if streams[index].state != .closed {
            let hasResponded = role == .server && streams[index].outgoing.hasEnded
            sendReset(id, code ?? (hasResponded ? .noError : .cancel), at: index)
            enter(.closed, index)
        }
        forget(index)
        giveConnectionCredit()
        reportRoom()
    }

    /// Reports that a request can be sent, if one could not before.
    @inline(__always)
    mutating func reportRoom() {
        guard wantsRoom, room > 0 else { return }
        wantsRoom = false
        events.append(.room)
    }

    /// Reports the end of the last stream after a GOAWAY.
    mutating func reportDrained() {
        guard isDraining, openCount == 0, !isDrainedReported, failure == nil else { return }
        switch shutdown {
        // A client may still have requests on their way, also one that has sent GOAWAY: it does not tell which was its last one.
        case .notBegun: if role == .server { return }
        case .announced: return
        case .final: break
        }
        isDrainedReported = true
        events.append(.drained)
    }

    /// The number of requests that a client can send now.
    @inline(__always)
    var room: Int {
        if isDraining || failure != nil || !canHoldAnotherStream { return 0 }
        let maximum = peerSettings.maximumConcurrentStreams ?? (hasPeerSettings ? .max : Self.earlyStreams)
        return max(0, min(limits.maximumConcurrentStreams, maximum) - openCount)
    }

    /// The number of streams that a client opens before it knows the server's limit: servers should not have a lower one (RFC 9113 §6.5.2).
    private static var earlyStreams: Int { 100 }

    /// Whether a GOAWAY was sent or received, or a client has no identifier left but the last, which it does not use.
    var isDraining: Bool { shutdown != .notBegun || peerGoAway != nil || nextStream == .highest }

    static func unknownStream(_ id: StreamID) -> HTTP2Error {
        .caller(.streamClosed, "RFC 9113 §5.1", "stream \(id) was never opened, or the program has closed it")
    }
}
