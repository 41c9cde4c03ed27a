public import EventLoops
internal import Glibc
public import HostResolver

extension Socket {
    /// Connects, waiting on the calling thread until the peer has answered.
    ///
    /// A datagram socket connects at once: it then sends to `address` and receives from no other address. After any
    /// failure the socket can be connected again. Replaces `CFSocketConnectToAddress` with a time limit.
    ///
    /// - Throws: `ECONNREFUSED`, `ENETUNREACH` and other network errors; `ETIMEDOUT` at the deadline; `EISCONN`;
    ///   `EALREADY`; `EAGAIN` if the queue of a Unix listener is full; `EOPNOTSUPP` for a borrowed descriptor in
    ///   blocking mode.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func connect(
        to address: SocketAddress, until deadline: ContinuousClock.Instant? = nil
    ) throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        try startConnecting(to: address, inBackground: false)
        do throws(StreamError) {
            try complete(.writer, until: deadline) { () throws(StreamError) in try finishConnecting() ? () : nil }
        } catch {
            throw giveUpConnecting(to: address, error)
        }
    }

    /// Connects, waiting until the peer has answered. See the blocking form.
    ///
    /// - Throws: as the blocking form; ``StreamError/cancelled``, and the attempt is abandoned.
    public nonisolated(nonsending) func connect(
        to address: SocketAddress, until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        try startConnecting(to: address, inBackground: false)
        do throws(StreamError) {
            try await complete(.writer, until: deadline) { () throws(StreamError) in try finishConnecting() ? () : nil }
        } catch {
            throw giveUpConnecting(to: address, error)
        }
    }

    /// Begins to connect and returns at once; ``SocketEvent/connected`` or ``SocketEvent/connectFailed(_:)`` follows.
    ///
    /// Without events, call ``tryFinishConnecting()`` for the outcome. Replaces `CFSocketConnectToAddress` with a
    /// negative time limit.
    ///
    /// - Throws: an error that is known at once, such as that of a Unix socket without a listener. No event follows
    ///   then.
    public func beginConnecting(to address: SocketAddress) throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        try startConnecting(to: address, inBackground: true)
    }

    /// Whether the connection is established; false while the attempt is in progress. Never waits.
    ///
    /// - Throws: the reason of the failure, after which the socket can be connected again; `ENOTCONN` if no attempt was
    ///   begun.
    public func tryFinishConnecting() throws(StreamError) -> Bool {
        try enter(.writer)
        defer { leave(.writer) }
        return try finishConnecting()
    }

    /// Makes a socket and connects it to `address`, waiting on the calling thread. Replaces
    /// `CFSocketCreateConnectedToSocketSignature`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public static func connected(
        to address: SocketAddress, _ type: SocketType = .stream, until deadline: ContinuousClock.Instant? = nil,
        loop: EventLoop = .shared
    ) throws(StreamError) -> Socket {
        let socket = try Socket(SocketFamily(rawValue: address.family), type, loop: loop)
        try socket.connect(to: address, until: deadline)
        return socket
    }

    /// Makes a socket and connects it to `address`. Replaces `CFSocketCreateConnectedToSocketSignature`.
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
                state.connectOutcome = nil
                return nil
            }
        }
        if let refusal { throw refusal }
        do throws(StreamError) {
            // Connecting a datagram socket never waits.
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

    /// Whether the connection is established. Keeps the descriptor open during the call, so events may call it outside
    /// the half.
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

    /// Ends the phase, unless another thread has, and stores the outcome of a background attempt for the events.
    private func settle(_ phase: SocketState.Phase, _ outcome: Result<Void, StreamError>) {
        state.withLock { state in
            guard state.phase == phase else { return }
            if case .success = outcome { state.phase = .connected } else { state.phase = .idle }
            if case .connecting(_, inBackground: true) = phase { state.connectOutcome = outcome }
        }
    }

    /// Ends an attempt after a failure, a deadline or a cancellation, so that the socket can be connected again.
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
