internal import EventLoops
internal import Glibc
internal import HostResolver

extension Socket {
    /// Takes a connection if one is waiting, else nil; never waits.
    ///
    /// Connections that failed before they were taken are passed over. The socket given knows its ``peerAddress``.
    ///
    /// - Throws: `EMFILE`, `ENFILE`: the connection stays in the queue for later; `EINVAL` if the socket does not listen.
    public func tryAccept() throws(StreamError) -> Socket? {
        try enter(.reader)
        defer { leave(.reader) }
        return try acceptOne()
    }

    /// Waits on the calling thread for a connection. See ``tryAccept()``.
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

    /// Waits for a connection. Cancelling loses none. See ``tryAccept()``.
    ///
    /// - Throws: as ``tryAccept()``; ``StreamError/timedOut`` at the deadline; ``StreamError/cancelled``, ``StreamError/closed``.
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

    /// Connections as they come, until the task is cancelled or the socket invalidated.
    public var accepted: AcceptedSockets { AcceptedSockets(listener: self) }

    /// One connection, or nil if none waits. Call inside the reader half.
    func acceptOne() throws(StreamError) -> Socket? {
        try acceptNext().map { Socket.accepted($0.descriptor, peer: $0.peer, from: self) }
    }

    /// The descriptor of one connection, or nil if none waits. Call inside the reader half.
    func acceptNext() throws(StreamError) -> Accepted? {
        let descriptor = point.descriptor
        for _ in 0..<AcceptFailure.passedOverPerTurn {
            // A borrowed listener may block in accept4, so poll says first whether somebody is there.
            if point.ownership == .borrowed, Syscalls.poll(descriptor, POLLIN) == 0 { return nil }
            switch Syscalls.accept(descriptor) {
            case .success(let (accepted, peer)):
                return Accepted(descriptor: accepted, peer: peer)
            case .failure(let number):
                if point.isClosed(.reader) { throw .closed }
                switch AcceptFailure(number.value) {
                case .nobody: return nil
                case .nextPlease: continue
                case .scarcity: throw StreamError(posix: number.value, .descriptorsExhausted)
                case .fatal: throw StreamError(posix: number.value)
                }
            }
        }
        // There may be more: whoever waits is woken in the loop's next turn.
        point.signalNextTurn(.readable)
        return nil
    }
}
