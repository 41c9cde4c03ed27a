internal import EventLoops
internal import Glibc

/// The readiness of a socket, as the kernel reports it, and the events made from it.
extension Socket {
    /// True if one of these kinds has an event. Consumes nothing.
    func hasEvent(_ kinds: SocketEventKinds) -> Bool {
        let (phase, hasConnectOutcome) = state.withLock { ($0.phase, $0.connectOutcome != nil) }
        if kinds.contains(.connect) {
            if hasConnectOutcome { return true }
            if case .connecting(_, inBackground: true) = phase, polled(POLLOUT) != 0 { return true }
        }
        guard canMoveData(phase), !pump.isFailureReported else { return false }
        if !kinds.isDisjoint(with: .arrivals), !pump.isEndReported, polled(POLLIN) != 0 { return true }
        return kinds.contains(.write) && !pump.isHangUpReported && polled(POLLOUT) != 0
    }

    /// The outcome of a background connection, reported once; nil while it is in progress.
    func takeConnectEvent() -> SocketEvent? {
        if case .connecting(_, inBackground: true) = state.withLock({ $0.phase }) {
            do throws(StreamError) { _ = try finishConnecting() } catch {}  // the outcome is read below
        }
        switch state.withLock({ $0.connectOutcome.take() }) {
        case .success: return .connected
        case .failure(let error): return .connectFailed(error)
        case nil: return nil
        }
    }

    /// The next event of one kind, taken from the kernel; nil if there is none, or if a call is inside the half.
    ///
    /// Data that a connection received before it failed comes before the failure.
    func takeEvent(of kind: SocketEventKinds) -> SocketEvent? {
        let (phase, leavesErrors) = state.withLock { ($0.phase, $0.leavesErrors) }
        guard canMoveData(phase), !pump.isFailureReported else { return nil }
        guard kind == .write ? !pump.isHangUpReported : !pump.isEndReported else { return nil }
        let events = polled(kind == .write ? POLLOUT : POLLIN)
        if events == 0 { return nil }
        let isConnection = type.needsConnection && phase != .listening
        let hasError = events & POLLERR != 0
        switch kind {
        case .accept: return takeConnection()
        case .data:
            // Without POLLIN there is a pending error, or an entry in the error queue for the client to read.
            if hasError, events & POLLIN == 0 { return takePendingError().map { failed($0) } ?? .readable }
            return takeData()
        case .read where isConnection: return takeReadability(hasError: hasError, leavesErrors: leavesErrors)
        case .write where isConnection:
            // After a hang-up the socket stays writable. A client that also receives learns the reason there.
            pump.isHangUpReported = events & (POLLERR | POLLHUP) != 0
            if hasError, !leavesErrors, !pump.reportsArrivals, let error = takePendingError() { return failed(error) }
            return .writable
        default:
            if hasError, !leavesErrors, let error = takePendingError() { return .failed(error) }
            return kind == .write ? .writable : .readable
        }
    }

    /// Returns and clears the socket's pending error (`SO_ERROR`); nil if there is none.
    public func takePendingError() -> StreamError? {
        let number = point.withDescriptor { Syscalls.takeError($0) } ?? 0
        return number == 0 ? nil : StreamError(posix: number, type.needsConnection ? .connectionLost(number) : nil)
    }

    /// Whether the socket has events. One that needs a connection and is neither connected nor listening has none,
    /// whatever `poll` reports.
    private func canMoveData(_ phase: SocketState.Phase) -> Bool {
        if !type.needsConnection { return true }
        switch phase {
        case .connected, .listening: return true
        case .starting, .connecting: return false
        case .idle:
            // The caller may have connected the descriptor itself.
            guard point.withDescriptor({ Syscalls.isConnected($0) }) == true else { return false }
            state.withLock { if $0.phase == .idle { $0.phase = .connected } }
            return true
        }
    }

    private func polled(_ events: CInt) -> CInt {
        point.withDescriptor { Syscalls.poll($0, events) } ?? 0
    }

    /// Whether a connection has bytes, its end, or a failure.
    private func takeReadability(hasError: Bool, leavesErrors: Bool) -> SocketEvent? {
        if hasError, leavesErrors {
            // Peeking would clear the error. Reported once, since no other event will come.
            pump.isEndReported = true
            return .readable
        }
        do throws(StreamError) {
            let attempt = try point.withDescriptor { (descriptor) throws(StreamError) in try Syscalls.peek(descriptor) }
            switch attempt {
            case .moved: return .readable
            case .ended:
                pump.isEndReported = true
                return .readable
            case .wouldBlock, nil: return hasError ? .readable : nil
            }
        } catch {
            return failed(error)
        }
    }

    private func takeConnection() -> SocketEvent? {
        guard point.enter(.reader) == .entered else { return nil }
        defer { point.leave(.reader) }
        do throws(StreamError) {
            return try acceptOne().map { .accepted($0) }
        } catch {
            if error == .closed { return nil }
            if AcceptFailure(CInt(truncatingIfNeeded: error.code)) == .scarcity {
                pump.pauseAccepting(self)
            } else {
                pump.isFailureReported = true
            }
            return .failed(error)
        }
    }

    private func takeData() -> SocketEvent? {
        guard point.enter(.reader) == .entered else { return nil }
        defer { point.leave(.reader) }
        do throws(StreamError) {
            guard let message = try receiveOnce(upTo: Socket.largestData) else { return nil }
            if message.bytes.isEmpty, type.needsConnection { pump.isEndReported = true }
            return .data(message)
        } catch {
            return error == .closed ? nil : failed(error)
        }
    }

    private func failed(_ error: StreamError) -> SocketEvent {
        if type.needsConnection { pump.isFailureReported = true }
        return .failed(error)
    }
}
