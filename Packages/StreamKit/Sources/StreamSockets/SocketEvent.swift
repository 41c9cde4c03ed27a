public import EventLoops
internal import Glibc

extension Socket {
    /// The most bytes that a ``SocketEvent/data(_:)`` carries: the size of the largest datagram.
    package static let maximumDataSize = 65_536

    /// Sets the client and the kinds of events that it receives. A socket has one client: a new one replaces the old
    /// one, nil removes it.
    ///
    /// ```swift
    /// try listener.setClient([.accept]) { _, event in
    ///     if case .accepted(let client) = event { serve(client) }
    /// }
    /// listener.schedule(on: .queue(queue))
    /// ```
    ///
    /// Events are delivered where the socket is scheduled (``schedule(on:)``), one after the other, and never from
    /// inside one of the client's own calls. ``SocketEventKinds/read``, ``SocketEventKinds/accept`` and
    /// ``SocketEventKinds/data`` repeat as long as something is available, so receive in the client, or ``disable(_:)``
    /// them. ``SocketEventKinds/write`` comes once until ``enable(_:)``. ``reenabledKinds`` changes that. A socket that
    /// is neither connected nor listening has no events, although the system reports it as writable. Replaces the
    /// callout of `CFSocketCreate`.
    ///
    /// - Throws: `EINVAL` if `kinds` contains more than one of read, accept and data.
    public func setClient(
        _ kinds: SocketEventKinds, _ client: (@Sendable (Socket, SocketEvent) -> Void)?
    ) throws(StreamError) {
        guard kinds.intersection(.arrivals).rawValue.nonzeroBitCount <= 1 else {
            throw StreamError(posix: EINVAL, .oneArrival)
        }
        eventClient.set(kinds, client, for: self)
    }

    /// Adds a target where events are delivered. With several targets, each event is delivered once, on one
    /// of them.
    ///
    /// A scheduled socket is kept alive until ``invalidate()`` or ``unschedule(from:)``. Replaces
    /// `CFSocketCreateRunLoopSource` with `CFRunLoopAddSource`.
    public func schedule(on target: any DeliveryTarget) {
        eventClient.schedule(self, on: target)
    }

    /// Ends delivery on `target`. Does nothing if the socket is not scheduled there.
    public func unschedule(from target: any DeliveryTarget) {
        eventClient.unschedule(self, from: target)
    }

    /// Enables these kinds of events. Replaces `CFSocketEnableCallBacks`.
    public func enable(_ kinds: SocketEventKinds) {
        eventClient.enable(kinds)
        eventClient.arm(self)
    }

    /// Disables these kinds of events until ``enable(_:)``. Data stays in the kernel's buffer meanwhile, which slows
    /// the peer.
    ///
    /// Replaces `CFSocketDisableCallBacks`.
    public func disable(_ kinds: SocketEventKinds) {
        eventClient.disable(kinds)
    }

    /// The kinds that stay enabled after an event. Initially read, accept and data.
    ///
    /// If it contains ``SocketEventKinds/write``, the client is called continuously while there is room. Replaces
    /// `kCFSocketAutomaticallyReenable…CallBack`.
    public var reenabledKinds: SocketEventKinds {
        get { eventClient.reenabledKinds }
        set { eventClient.reenabledKinds = newValue }
    }

    /// Whether the error of a failed socket (`SO_ERROR`) is left in place, so that the next call throws it. Initially
    /// false: the error is removed and reported as ``SocketEvent/failed(_:)``. Errors of receiving for
    /// ``SocketEventKinds/data`` are always reported.
    ///
    /// Replaces `kCFSocketLeaveErrors`.
    public var leavesErrors: Bool {
        get { state.withLock { $0.leavesErrors } }
        set { state.withLock { $0.leavesErrors = newValue } }
    }
}

/// An event of a ``Socket``.
public enum SocketEvent: Sendable {
    /// A receive or accept will not wait. At the end of a stream this comes once, and a receive then returns no bytes.
    case readable
    /// An accepted connection, which now belongs to the client: releasing it closes it.
    case accepted(Socket)
    /// Received data, up to 65,536 bytes: a datagram with its sender, or part of a stream.
    ///
    /// On a stream, an empty message means the end and comes once.
    case data(SocketMessage)
    /// The connection begun in the background is established.
    case connected
    /// The connection begun in the background failed; the socket can be connected again.
    case connectFailed(StreamError)
    /// There is room to send.
    case writable
    /// The socket failed. A connection has then ended; a datagram socket or a listener continues. Delivered whatever
    /// kinds were requested, unless ``Socket/leavesErrors`` is set.
    case failed(StreamError)
}

/// The kinds of events that a socket can deliver to its client. Replaces `CFSocketCallBackType`.
///
/// A set contains at most one of ``read``, ``accept`` and ``data``, which report the same condition in three ways.
public struct SocketEventKinds: OptionSet, Sendable, Hashable {
    /// The bits. They differ from CFSocket's numbers, where `data` is `read` and `accept` together.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Something can be received or accepted, which the client does. Replaces `kCFSocketReadCallBack`.
    public static let read = SocketEventKinds(rawValue: 1)
    /// Connections, already accepted. Replaces `kCFSocketAcceptCallBack`.
    public static let accept = SocketEventKinds(rawValue: 2)
    /// Datagrams or parts of a stream, already received. Replaces `kCFSocketDataCallBack`.
    public static let data = SocketEventKinds(rawValue: 4)
    /// The outcome of ``Socket/beginConnecting(to:)``. Replaces `kCFSocketConnectCallBack`.
    public static let connect = SocketEventKinds(rawValue: 8)
    /// There is room to send. Replaces `kCFSocketWriteCallBack`.
    public static let write = SocketEventKinds(rawValue: 16)

    static let arrivals: SocketEventKinds = [.read, .accept, .data]
}

/// The readiness of a socket, as the kernel reports it, and the events made from it.
extension Socket {
    /// True if one of these kinds has an event. Consumes nothing.
    func hasEvent(_ kinds: SocketEventKinds) -> Bool {
        let (phase, hasConnectOutcome) = state.withLock { ($0.phase, $0.connectOutcome != nil) }
        if kinds.contains(.connect) {
            if hasConnectOutcome { return true }
            if case .connecting(_, inBackground: true) = phase, polled(POLLOUT) != 0 { return true }
        }
        guard canMoveData(phase), !eventClient.isFailureReported else { return false }
        if !kinds.isDisjoint(with: .arrivals), !eventClient.isEndReported, polled(POLLIN) != 0 { return true }
        return kinds.contains(.write) && !eventClient.isHangUpReported && polled(POLLOUT) != 0
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
    package func takeEvent(of kind: SocketEventKinds) -> SocketEvent? {
        let (phase, leavesErrors) = state.withLock { ($0.phase, $0.leavesErrors) }
        guard canMoveData(phase), !eventClient.isFailureReported else { return nil }
        guard kind == .write ? !eventClient.isHangUpReported : !eventClient.isEndReported else { return nil }
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
            eventClient.isHangUpReported = events & (POLLERR | POLLHUP) != 0
            if hasError, !leavesErrors, !eventClient.reportsArrivals, let error = takePendingError() {
                return failed(error)
            }
            return .writable
        default:
            if hasError, !leavesErrors, let error = takePendingError() { return .failed(error) }
            return kind == .write ? .writable : .readable
        }
    }

    /// Returns and clears the socket's pending error (`SO_ERROR`); nil if there is none.
    package func takePendingError() -> StreamError? {
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
            eventClient.isEndReported = true
            return .readable
        }
        do throws(StreamError) {
            let attempt = try point.withDescriptor { (descriptor) throws(StreamError) in try Syscalls.peek(descriptor) }
            switch attempt {
            case .moved: return .readable
            case .ended:
                eventClient.isEndReported = true
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
                eventClient.pauseAccepting(self)
            } else {
                eventClient.isFailureReported = true
            }
            return .failed(error)
        }
    }

    private func takeData() -> SocketEvent? {
        guard point.enter(.reader) == .entered else { return nil }
        defer { point.leave(.reader) }
        do throws(StreamError) {
            guard let message = try receiveOnce(upTo: Socket.maximumDataSize) else { return nil }
            if message.bytes.isEmpty, type.needsConnection { eventClient.isEndReported = true }
            return .data(message)
        } catch {
            return error == .closed ? nil : failed(error)
        }
    }

    private func failed(_ error: StreamError) -> SocketEvent {
        if type.needsConnection { eventClient.isFailureReported = true }
        return .failed(error)
    }
}
