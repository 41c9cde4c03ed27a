// MARK: - SETTINGS and PING (RFC 9113 §6.5 and §6.7)

extension HTTP2Connection {
    mutating func receiveSettings(_ settings: [Setting]) throws(HTTP2Error) {
        try floods.countSettings(now: now)
        let before = peerSettings
        for setting in settings {
            try peerSettings.apply(setting, from: role.peer)
            if setting.id == .headerTableSize { encoder.setPeerTableSize(peerSettings.headerTableSize) }
        }
        try adjustSendWindows(by: peerSettings.initialWindowSize - before.initialWindowSize)
        try requireRoomForAnswer()
        writer.appendSettingsAcknowledgment()
        if !hasPeerSettings { peerSettings.endFirstSettings() }
        opening = .done
        events.replace(with: .settings)
        reportRoom()
    }

    /// Applies a change of SETTINGS_INITIAL_WINDOW_SIZE to all streams (RFC 9113 §6.9.2). A window may become negative.
    private mutating func adjustSendWindows(by difference: Int64) throws(HTTP2Error) {
        if difference == 0 { return }
        for index in streams.indices where !streams[index].outgoing.hasEnded {
            guard streams[index].sendWindow.add(difference) else {
                throw .connection(.flowControlError, "RFC 9113 §6.9.2", "the settings make a window exceed 2^31 - 1")
            }
            if difference > 0 { didGetCredit(index) }
        }
    }

    /// The peer has applied this side's settings (RFC 9113 §6.5.3).
    mutating func receiveSettingsAcknowledgment() throws(HTTP2Error) {
        guard let sentAt = settingsSentAt else { return try floods.countFrameWithoutEffect(now: now) }
        settingsSentAt = nil
        liveness.measure(now - sentAt)
        let window = limits.initialStreamWindow
        guard window < SendWindow.initial else { return }
        for index in streams.indices where streams[index].state != .closed {
            receiveWindow.shrink(by: streams[index].receiveWindow.size - window)
            streams[index].receiveWindow.adjust(to: window)
            // What was read of the larger window can be more than half of this one.
            consume(0, of: index)
        }
    }

    mutating func receivePing(_ opaque: UInt64, _ isAcknowledgment: Bool) throws(HTTP2Error) {
        guard isAcknowledgment else {
            try floods.countPing(now: now)
            try requireRoomForAnswer()
            return writer.appendPing(opaque, isAcknowledgment: true)
        }
        if case .announced(ping: opaque, _) = shutdown {
            finishShutdown()
        } else if !liveness.receivePingAcknowledgment(opaque, now: now) {
            try floods.countFrameWithoutEffect(now: now)
        }
    }

    /// Checks that the peer reads what it makes this side answer: SETTINGS, PING, refused frames (CVE-2019-9512, CVE-2019-9515), DATA, and
    /// requests, whose heads of responses leave without credit.
    func requireRoomForAnswer() throws(HTTP2Error) {
        if writer.count > limits.maximumQueuedAnswers {
            throw .connection(.enhanceYourCalm, "maximumOutput", "the peer does not read the answers to its frames")
        }
    }
}

// MARK: - WINDOW_UPDATE and RST_STREAM (RFC 9113 §6.9 and §6.4)

extension HTTP2Connection {
    mutating func receiveWindowUpdate(_ id: StreamID, _ increment: Int64) throws(HTTP2Error) {
        try floods.countWindowUpdate(now: now)
        if id == .connection {
            guard sendWindow.add(increment) else {
                throw .connection(.flowControlError, "RFC 9113 §6.9.1", "the window of the connection exceeds 2^31 - 1")
            }
            return
        }
        // Peers give back the credit of what they read, also once the whole message has left.
        let known = streams.index(of: id)
        if state(of: id, at: known) == .closed { return }
        guard let index = try admit(.windowUpdate, on: id, at: known) else { return }
        if streams[index].outgoing.hasEnded { return }
        guard streams[index].sendWindow.add(increment) else {
            return try resetStream(
                id,
                because: .stream(id, .flowControlError, "RFC 9113 §6.9.1", "the window of the stream exceeds 2^31 - 1"))
        }
        didGetCredit(index)
    }

    /// Credit ends a hold, but no ``CreditWait``: only what leaves does. Other frames can take the credit back before anything has left.
    private mutating func didGetCredit(_ index: Int) {
        streams[index].hold = .free
    }

    mutating func receiveReset(_ id: StreamID, _ code: ErrorCode) throws(HTTP2Error) {
        guard let index = try admit(.resetStream, on: id, at: streams.index(of: id)) else { return }
        let processing: HTTP2StreamFailure.Processing = code == .refusedStream ? .notProcessed : .unknown
        endEarly(index, HTTP2StreamFailure(code: code, cause: .peer, processing: processing))
        if role == .server { try floods.countReset(now: now) }
    }

    /// A frame that its parser refused on behalf of its stream.
    mutating func receiveStreamError(_ error: HTTP2Error) throws(HTTP2Error) {
        guard case .stream(let id) = error.scope else { return }
        if isIdle(id) {
            throw .connection(error.code, error.rule, error.reason)
        }
        try floods.countFrameWithoutEffect(now: now)
        if !recentStreams.wasResetHere(id) { try resetStream(id, because: error) }
    }
}

// MARK: - Priorities (RFC 9113 §5.3 and RFC 9218)

/// The priority of a request that has not arrived.
struct EarlyPriority: Sendable, BitwiseCopyable {
    let stream: StreamID
    let priority: HTTP2Priority
}

extension HTTP2Connection {
    /// PRIORITY is checked and forgotten: no tree is kept (RFC 9113 §5.3.2). It makes no stream, even if its stream is idle.
    mutating func receivePriority(_ id: StreamID, _ dependency: StreamDependency) throws(HTTP2Error) {
        try floods.countFrameWithoutEffect(now: now)
        guard dependency.stream == id else { return }
        let error = HTTP2Error.stream(id, .protocolError, "RFC 7540 §5.3.1", "stream \(id) depends on itself")
        try receiveStreamError(error)
    }

    /// PRIORITY_UPDATE moves a stream in the order of sending (RFC 9218 §7.1).
    ///
    /// One that precedes its request waits for it, and takes the place of any before it. That of a closed stream is ignored, and so is
    /// one that is too long to be kept.
    mutating func receivePriorityUpdate(_ id: StreamID, _ value: [UInt8]?) throws(HTTP2Error) {
        try floods.countFrameWithoutEffect(now: now)
        guard role == .server, id != .connection, id.isClientInitiated else {
            throw .connection(
                .protocolError, "RFC 9218 §7.1",
                role == .client ? "a PRIORITY_UPDATE from a server" : "a PRIORITY_UPDATE for stream \(id)")
        }
        guard let value else { return }
        if let index = streams.index(of: id) {
            setPriority(index, HTTP2Priority(value))
        } else if isIdle(id) {
            earlyPriority = EarlyPriority(stream: id, priority: HTTP2Priority(value))
        }
    }

    /// A frame without effect: of an unknown type, or a PRIORITY_UPDATE that is too short to name a stream.
    ///
    /// RFC 9113 §4.2 makes the latter an error. It is ignored, as by all recipients without the extension, and as it says nothing; but
    /// only a client may send it.
    mutating func receiveUnknown(_ header: FrameHeader) throws(HTTP2Error) {
        try floods.countFrameWithoutEffect(now: now)
        if role == .client, header.kind == .priorityUpdate {
            throw .connection(.protocolError, "RFC 9218 §7.1", "a PRIORITY_UPDATE from a server")
        }
    }

    mutating func setPriority(_ index: Int, _ priority: HTTP2Priority) {
        streams[index].priority = priority
        order.setPriority(streams[index].id, priority)
    }
}

// MARK: - GOAWAY (RFC 9113 §6.8)

extension HTTP2Connection {
    /// Receives GOAWAY: requests above its last stream were not processed and end here, all others continue.
    mutating func receiveGoAway(_ goAway: HTTP2GoAway) throws(HTTP2Error) {
        try floods.countFrameWithoutEffect(now: now)
        if let earlier = peerGoAway, goAway.lastStream > earlier.lastStream {
            throw .connection(.protocolError, "RFC 9113 §6.8", "a second GOAWAY has a higher last stream")
        }
        // A repetition is not reported, so that a flood leaves nothing behind.
        let isChange = peerGoAway.map { $0.lastStream != goAway.lastStream || $0.code != goAway.code } ?? true
        peerGoAway = goAway
        if isChange { events.replace(with: .goAway(goAway)) }
        if role == .client {
            for index in streams.indices
            where streams[index].id > goAway.lastStream && streams[index].state != .closed {
                endEarly(
                    index, HTTP2StreamFailure(code: goAway.code, cause: .goAway(goAway), processing: .notProcessed))
            }
        }
        reportDrained()
    }

    /// Begins a graceful end. See ``HTTP2Machine/shutDown(now:)``.
    ///
    /// A server cannot know of requests on their way, so it first sends GOAWAY with the highest identifier and a PING. Once the PING is
    /// answered, or ``HTTP2Limits/pingTimeout`` has passed, the last stream is known (RFC 9113 §6.8).
    mutating func shutDown() {
        guard shutdown == .notBegun, failure == nil else { return }
        guard role == .server else {
            writer.appendGoAway(HTTP2GoAway(lastStream: .connection, code: .noError, debugData: []))
            shutdown = .final(lastStream: .connection)
            return reportDrained()
        }
        writer.appendGoAway(HTTP2GoAway(lastStream: .highest, code: .noError, debugData: []))
        let ping = liveness.nextPing()
        writer.appendPing(ping, isAcknowledgment: false)
        shutdown = .announced(ping: ping, until: now + limits.pingTimeout)
    }

    /// Sends the second GOAWAY, with the last stream.
    mutating func finishShutdown() {
        shutdown = .final(lastStream: highestPeerStream)
        writer.appendGoAway(HTTP2GoAway(lastStream: highestPeerStream, code: .noError, debugData: []))
        reportDrained()
    }
}
