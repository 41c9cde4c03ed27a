@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HostResolver

extension Socket {
    /// Accepts a connection if one is waiting, otherwise returns nil; never waits.
    ///
    /// Skips connections that failed before they were accepted. The returned socket knows its ``peerAddress``.
    ///
    /// - Throws: `EMFILE` or `ENFILE`, and the connection stays in the queue; `EINVAL` if the socket is not listening.
    public func tryAccept() throws(StreamError) -> Socket? {
        try attempt(.reader) { () throws(StreamError) in try acceptOne() }
    }

    /// Waits for a connection on the calling thread. See ``tryAccept()``.
    ///
    /// - Throws: as ``tryAccept()``; ``StreamError/timedOut`` at the deadline; ``StreamError/closed``.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func accept(until deadline: ContinuousClock.Instant? = nil) throws(StreamError) -> Socket {
        try perform(.reader, until: deadline) { () throws(StreamError) in try acceptOne() }
    }

    /// Waits for a connection. Cancellation loses none. See ``tryAccept()``.
    ///
    /// - Throws: as ``tryAccept()``; ``StreamError/timedOut`` at the deadline; ``StreamError/cancelled``;
    ///   ``StreamError/closed``.
    public nonisolated(nonsending) func accept(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws(StreamError) -> Socket {
        try await perform(.reader, until: deadline) { () throws(StreamError) in try acceptOne() }
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

/// The connections that a listening socket receives, as a sequence.
///
/// ```swift
/// try await withThrowingDiscardingTaskGroup { group in
///     for try await client in listener.accepted { group.addTask { await serve(client) } }
/// }
/// ```
///
/// The sequence ends when the task is cancelled or the socket is invalidated. While the process has no descriptors
/// left, it retries ten times a second; connections wait in the listener's queue meanwhile.
public struct AcceptedSockets: AsyncSequence, Sendable {
    /// A connected socket.
    public typealias Element = Socket
    /// The error of the listener.
    public typealias Failure = StreamError

    /// The pause before the next attempt when no descriptors are left, in this sequence and for events.
    package static let retryPause: Duration = .milliseconds(100)

    /// Waits for ``retryPause`` with a timer of the loop, which needs no descriptor. The runtime's timers, behind
    /// `Task.sleep`, need one: without it they end the process or never fire.
    package static func pause(on loop: EventLoop) async {
        await withCheckedContinuation { continuation in
            loop.schedule(at: .now + retryPause) { continuation.resume() }
        }
    }

    let listener: Socket

    /// Begins to accept; one iterator at a time.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(listener: listener)
    }

    /// Accepts one connection at a time.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let listener: Socket

        /// The next connection; nil after the end.
        public mutating func next() async throws(StreamError) -> Socket? {
            try await next(isolation: nil)
        }

        /// The next connection; nil after the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(StreamError) -> Socket? {
            while true {
                do throws(StreamError) {
                    return try await listener.accept()
                } catch  where error == .cancelled || error == .closed {
                    return nil
                } catch  where AcceptFailure(Int32(truncatingIfNeeded: error.code)) == .scarcity {
                    // If the task is cancelled during the pause, the next accept throws.
                    await AcceptedSockets.pause(on: listener.point.loop)
                }
            }
        }
    }
}

/// The meaning of a failed `accept4(2)` for the caller. A table, because accept also reports failures of single
/// connections.
package enum AcceptFailure: Equatable {
    /// No connection is waiting.
    case noConnection
    /// That connection failed before it was accepted; the next one may succeed. Each call consumes a connection, so
    /// retrying terminates.
    case connectionFailed
    /// No descriptor or memory is left. The connection stays in the queue, so an immediate retry would spin.
    case scarcity
    /// The listener itself has failed.
    case fatal

    /// The most failed connections that one call skips before the loop continues: a peer can make any number of them.
    static let failuresPerTurn = 64

    package init(_ number: CInt) {
        switch number {
        case EAGAIN: self = .noConnection
        // accept(2): "already-pending network errors on the new socket", and the errors that firewalls cause.
        case EINTR, ECONNABORTED, ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
            ENETUNREACH,
            EPERM:
            self = .connectionFailed
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .scarcity
        default: self = .fatal
        }
    }
}

extension Socket {
    /// An accepted connection that is still a bare descriptor.
    package struct Accepted {
        package let descriptor: CInt
        package let peer: SocketAddress?
    }

    /// Waits for a connection and for a slot, which the connection then owns. Nil once the slots are closed or the task is cancelled.
    ///
    /// - Parameter makeRoom: called when a connection is waiting and no slot is free.
    /// - Throws: as ``accept(until:)``; the slot has been returned.
    package nonisolated(nonsending) func accept(
        into slots: AsyncSemaphore, makingRoom makeRoom: () -> Void
    ) async throws(StreamError) -> Accepted? {
        try enter(.reader)
        defer { leave(.reader) }
        while true {
            if !slots.tryWait() {
                while Syscalls.poll(point.descriptor, POLLIN) == 0 {
                    try await wait(.reader, for: .readable, until: nil)
                }
                makeRoom()
                do throws(WaitError) {
                    try await slots.wait()
                } catch {
                    return nil
                }
            }
            do throws(StreamError) {
                if beginTransfer(.reader, for: .readable), let accepted = try acceptNext() { return accepted }
            } catch {
                slots.signal()
                throw error
            }
            slots.signal()
            try await wait(.reader, for: .readable, until: nil)
        }
    }
}
