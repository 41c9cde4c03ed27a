internal import EventLoops
internal import Glibc
internal import HostResolver

extension Socket {
    /// Accepts a connection if one is waiting, otherwise returns nil; never waits.
    ///
    /// Skips connections that failed before they were accepted. The returned socket knows its ``peerAddress``.
    ///
    /// - Throws: `EMFILE` or `ENFILE`, and the connection stays in the queue; `EINVAL` if the socket is not listening.
    public func tryAccept() throws(StreamError) -> Socket? {
        try enter(.reader)
        defer { leave(.reader) }
        return try acceptOne()
    }

    /// Waits for a connection on the calling thread. See ``tryAccept()``.
    ///
    /// - Throws: as ``tryAccept()``; ``StreamError/timedOut`` at the deadline; ``StreamError/closed``.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func accept(until deadline: ContinuousClock.Instant? = nil) throws(StreamError) -> Socket {
        try enter(.reader)
        defer { leave(.reader) }
        while true {
            if let socket = try acceptOne() { return socket }
            try block(.reader, for: .readable, until: deadline)
        }
    }

    /// Waits for a connection. Cancellation loses none. See ``tryAccept()``.
    ///
    /// - Throws: as ``tryAccept()``; ``StreamError/timedOut`` at the deadline; ``StreamError/cancelled``;
    ///   ``StreamError/closed``.
    public nonisolated(nonsending) func accept(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) -> Socket {
        try enter(.reader)
        defer { leave(.reader) }
        while true {
            if hasTurn(.reader, for: .readable), let socket = try acceptOne() { return socket }
            try await wait(.reader, for: .readable, until: deadline)
        }
    }

    /// The connections received by this listener, until the task is cancelled or the socket is invalidated.
    public var accepted: AcceptedSockets { AcceptedSockets(listener: self) }

    /// Accepts one connection; nil if none is waiting. Call inside the reader half.
    func acceptOne() throws(StreamError) -> Socket? {
        try acceptNext().map { Socket.accepted($0.descriptor, peer: $0.peer, from: self) }
    }

    /// Accepts one connection as a descriptor; nil if none is waiting. Call inside the reader half.
    func acceptNext() throws(StreamError) -> Accepted? {
        let descriptor = point.descriptor
        for _ in 0..<AcceptFailure.failuresPerTurn {
            // A borrowed listener may block in accept4, so poll first.
            if point.ownership == .borrowed, Syscalls.poll(descriptor, POLLIN) == 0 { return nil }
            switch Syscalls.accept(descriptor) {
            case .success(let (accepted, peer)):
                return Accepted(descriptor: accepted, peer: peer)
            case .failure(let number):
                if point.isClosed(.reader) { throw .closed }
                switch AcceptFailure(number.value) {
                case .noConnection: return nil
                case .connectionFailed: continue
                case .scarcity: throw StreamError(posix: number.value, .descriptorsExhausted)
                case .fatal: throw StreamError(posix: number.value)
                }
            }
        }
        // There may be more connections: wake the waiting call in the loop's next turn.
        point.signalNextTurn(.readable)
        return nil
    }
}
