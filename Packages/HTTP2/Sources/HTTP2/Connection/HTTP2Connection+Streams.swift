// MARK: - Streams from opening to closing (RFC 9113 §5.1)

extension HTTP2Connection {
    /// Returns a stream with the windows that both sides have agreed on, in the state idle.
    func newStream(_ id: StreamID) -> Stream {
        // Until the peer has acknowledged SETTINGS, it may count on the initial value (RFC 9113 §6.9.2).
        let window = limits.initialStreamWindow
        let size = settingsSentAt == nil ? window : max(window, 65_535)
        var stream = Stream(
            id: id, state: .idle, receiveWindow: ReceiveWindow(size: size),
            sendWindow: SendWindow(size: peerSettings.initialWindowSize), incoming: .ended, outgoing: .ended)
        stream.lastArrival = now
        return stream
    }

    /// Enters a stream. The window of the connection grows by that of the stream.
    mutating func open(_ stream: consuming Stream) -> Int {
        receiveWindow.grow(by: stream.receiveWindow.size)
        if openCount == 0 { liveness.begin(now: now) }
        openCount += 1
        if timeouts.nextStreamCheck == nil { timeouts.nextStreamCheck = now + streamCheckInterval }
        return streams.insert(stream)
    }

    /// Moves a stream to a state and, if both sides have ended it, reports what becomes possible.
    mutating func setState(_ place: Int, _ state: StreamState) {
        guard streams[place].state != state else { return }
        streams[place].state = state
        guard state == .closed else { return }
        openCount -= 1
        order.remove(streams[place].id)
        streams[place].blockedSince = nil
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
    mutating func endStream(_ id: StreamID, _ error: HTTP2Error) throws(HTTP2Error) {
        try requireReadAnswers()
        writer.appendReset(id, error.code)
        recentStreams.insert(id, wasResetHere: true)
        if let place = streams.place(of: id), streams[place].state != .closed {
            if !hasWholeAnswer(place) { discardUnread(place) }
            end(place, HTTP2StreamFailure(code: error.code, cause: .violation(error), processing: .unknown))
        }
        if role == .server { try floods.reset(now: now) }
    }

    /// Closes a stream before both messages are complete, and tells the program.
    ///
    /// On a client, a response that is complete stays so: only the request stops (RFC 9113 §8.1).
    mutating func end(_ place: Int, _ failure: HTTP2StreamFailure) {
        let id = streams[place].id
        let isWhole = hasWholeAnswer(place)
        var failure = failure
        // A server that has begun to respond has processed the request, whatever it says afterwards.
        if streams[place].incoming != .head(interimCount: 0) { failure.processing = .unknown }
        if !isWhole { streams[place].failure = failure }
        streams[place].incoming = .ended
        streams[place].outgoing = .ended
        setState(place, .closed)
        if isWhole {
            events.append(.sendingStopped(id, failure.code))
        } else if role == .server, events.removeRequest(on: id) {
            forget(place)
        } else {
            events.append(.reset(id, failure))
        }
    }

    /// Whether a client has received the whole response.
    private func hasWholeAnswer(_ place: Int) -> Bool { role == .client && streams[place].incoming == .ended }

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

    /// Ends all streams with the connection.
    mutating func endAllStreams(_ error: HTTP2Error) {
        for place in streams.occupied where streams[place].state != .closed {
            let isAbove = peerGoAway.map { role == .client && streams[place].id > $0.lastStream } ?? false
            end(
                place,
                HTTP2StreamFailure(
                    code: error.code, cause: .connection(error), processing: isAbove ? .notProcessed : .unknown))
        }
    }

    /// Ends the program's interest in a stream. See ``HTTP2ClientMachine/close(_:code:)``.
    mutating func close(_ id: StreamID, _ code: ErrorCode?) {
        guard let place = streams.place(of: id) else { return }
        if streams[place].state != .closed {
            let isAnswered = role == .server && streams[place].outgoing == .ended
            writer.appendReset(id, code ?? (isAnswered ? .noError : .cancel))
            recentStreams.insert(id, wasResetHere: true)
            setState(place, .closed)
        }
        forget(place)
        giveConnectionCredit()
    }

    private mutating func reportRoom() {
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
    var room: Int {
        if isDraining || failure != nil || nextStream > StreamID(StreamID.highest.rawValue - 2) { return 0 }
        return max(0, min(limits.maximumConcurrentStreams, peerSettings.maximumConcurrentStreams) - openCount)
    }

    /// Whether a GOAWAY was sent or received.
    var isDraining: Bool { shutdown != .none || peerGoAway != nil || nextStream == .highest }

    static func unknownStream(_ id: StreamID) -> HTTP2Error {
        .caller(id, .streamClosed, "RFC 9113 §5.1", "stream \(id) was never opened, or the program has closed it")
    }
}

/// The streams that were closed last: as many as can be open twice over, and at least 128. All others are forgotten.
struct RecentStreams: Sendable {
    private var closed: [(stream: StreamID, wasResetHere: Bool)] = []
    private var next = 0
    private let maximumCount: Int

    init(_ limits: HTTP2Limits) {
        maximumCount = max(128, 2 * limits.maximumConcurrentStreams)
    }

    /// Whether a stream was closed lately.
    func contains(_ stream: StreamID) -> Bool { closed.contains { $0.stream == stream } }

    /// Whether this side has reset a stream lately. The peer may have sent frames on it before it knew (RFC 9113 §5.1).
    func wasResetHere(_ stream: StreamID) -> Bool { closed.contains { $0.stream == stream && $0.wasResetHere } }

    /// Notes a closed stream. One that was reset is noted again when the program closes it, which changes nothing.
    mutating func insert(_ stream: StreamID, wasResetHere: Bool) {
        if let place = closed.firstIndex(where: { $0.stream == stream }) {
            if wasResetHere { closed[place].wasResetHere = true }
        } else if closed.count < maximumCount {
            closed.append((stream, wasResetHere))
        } else {
            closed[next] = (stream, wasResetHere)
            next = (next + 1) % maximumCount
        }
    }
}
