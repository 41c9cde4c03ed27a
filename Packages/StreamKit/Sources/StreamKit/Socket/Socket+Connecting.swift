public import EventLoops
internal import Glibc
public import HostResolver

extension Socket {
    /// Connects, waiting on the calling thread; when it returns, the peer has answered.
    ///
    /// A datagram socket is connected at once: it sends to `address` and hears nobody else. On any failure the socket
    /// can be connected anew. Replaces `CFSocketConnectToAddress` with a time limit.
    ///
    /// - Throws: `ECONNREFUSED`, `ENETUNREACH` … as the network says; `ETIMEDOUT` at the deadline; `EISCONN`, `EALREADY`;
    ///   `EAGAIN` if the queue of a Unix listener is full; `EOPNOTSUPP` for a borrowed descriptor that blocks.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func connect(
        to address: SocketAddress, until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        try startConnecting(to: address, inBackground: false)
        do throws(StreamError) {
            while try !finishConnecting() { try block(.writer, for: .writable, until: deadline) }
        } catch {
            throw giveUpConnecting(to: address, error)
        }
    }

    /// Connects; when it returns, the peer has answered. See the blocking form.
    ///
    /// - Throws: as the blocking form; ``StreamError/cancelled``: the attempt is given up.
    public nonisolated(nonsending) func connect(
        to address: SocketAddress, until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        try startConnecting(to: address, inBackground: false)
        do throws(StreamError) {
            while try !finishConnecting() { try await wait(.writer, for: .writable, until: deadline) }
        } catch {
            throw giveUpConnecting(to: address, error)
        }
    }

    /// Begins to connect and returns at once; ``SocketEvent/connected`` or ``SocketEvent/connectFailed(_:)`` follows.
    ///
    /// Without events, ask ``tryFinishConnecting()``. Replaces `CFSocketConnectToAddress` with a negative time limit.
    ///
    /// - Throws: what failed outright, such as a Unix socket that nobody listens at; no event follows then.
    public func beginConnecting(to address: SocketAddress) throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        try startConnecting(to: address, inBackground: true)
    }

    /// Whether the connection that was begun stands: false while it is under way. Never waits.
    ///
    /// - Throws: why it failed; the socket can be connected anew. `ENOTCONN` if none was begun.
    public func tryFinishConnecting() throws(StreamError) -> Bool {
        try enter(.writer)
        defer { leave(.writer) }
        return try finishConnecting()
    }

    /// A socket connected to `address`. Replaces `CFSocketCreateConnectedToSocketSignature`.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public static func connected(
        to address: SocketAddress, _ type: SocketType = .stream, until deadline: ContinuousClock.Instant? = nil,
        loop: EventLoop = .shared
    ) throws(StreamError) -> Socket {
        let socket = try Socket(SocketFamily(rawValue: address.family), type, loop: loop)
        try socket.connect(to: address, until: deadline)
        return socket
    }

    /// A socket connected to `address`. Replaces `CFSocketCreateConnectedToSocketSignature`.
    public nonisolated(nonsending) static func connected(
        to address: SocketAddress, _ type: SocketType = .stream, until deadline: ContinuousClock.Instant? = nil,
        loop: EventLoop = .shared
    ) async throws(StreamError) -> Socket {
        let socket = try Socket(SocketFamily(rawValue: address.family), type, loop: loop)
        try await socket.connect(to: address, until: deadline)
        return socket
    }
}

// MARK: - Steps

extension Socket {
    /// Calls `connect(2)`. Call inside the writer half.
    private func startConnecting(to address: SocketAddress, inBackground: Bool) throws(StreamError) {
        let refusal = state.withLock { state -> StreamError? in
            switch state.phase {
            case .starting, .connecting: return StreamError(posix: EALREADY, .alreadyConnecting)
            case .connected where type.needsConnection: return StreamError(posix: EISCONN, .alreadyConnected)
            case .listening: return StreamError(posix: EISCONN)
            case .idle, .connected:
                state.phase = .starting
                state.peer = nil
                state.connectNews = nil
                return nil
            }
        }
        if let refusal { throw refusal }
        do throws(StreamError) {
            // Nothing that a datagram socket does when it connects could wait.
            let step = try Syscalls.beginConnecting(
                point.descriptor, to: address, isImmediate: !type.needsConnection,
                mayChangeFlags: point.ownership == .owned)
            let isDone = step == .connected && !inBackground
            state.withLock { $0.phase = isDone ? .connected : .connecting(address, inBackground: inBackground) }
        } catch {
            state.withLock { $0.phase = .idle }
            throw error
        }
    }

    /// Looks whether the connection stands. Keeps the descriptor by itself, so the events may call it too.
    func finishConnecting() throws(StreamError) -> Bool {
        let phase = state.withLock { $0.phase }
        switch phase {
        case .connected: return true
        case .starting: return false
        case .idle, .listening: throw StreamError(posix: ENOTCONN)
        case .connecting(let address, _):
            let step: Syscalls.ConnectStep
            do throws(StreamError) {
                step = try using { (descriptor) throws(StreamError) in
                    try Syscalls.connectOutcome(descriptor, to: address)
                }
            } catch {
                settle(phase, .failure(error))
                throw error
            }
            if step == .underWay { return false }
            settle(phase, .success(()))
            return true
        }
    }

    /// Ends the phase, unless somebody else has, and keeps the news of a background attempt for the events.
    private func settle(_ phase: SocketState.Phase, _ outcome: Result<Void, StreamError>) {
        state.withLock { state in
            guard state.phase == phase else { return }
            if case .success = outcome { state.phase = .connected } else { state.phase = .idle }
            if case .connecting(_, inBackground: true) = phase { state.connectNews = outcome }
        }
    }

    /// The attempt is over, by failure, deadline or cancel: leaves a socket that can be connected anew.
    private func giveUpConnecting(to address: SocketAddress, _ error: StreamError) -> StreamError {
        let wasUnderWay = state.withLock { state in
            guard case .connecting = state.phase else { return false }
            state.phase = .idle
            return true
        }
        if wasUnderWay { _ = point.withDescriptor { Syscalls.abandonConnecting($0) } }
        guard wasUnderWay, error == .timedOut else { return error }
        return StreamError(posix: ETIMEDOUT, .connectFailed(address.description, ETIMEDOUT))
    }
}
