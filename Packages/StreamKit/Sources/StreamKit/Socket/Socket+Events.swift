public import EventLoops
internal import Glibc

extension Socket {
    /// The most that one ``SocketEvent/data(_:)`` carries: as much as the largest datagram.
    public static let largestData = 65_536

    /// Names who is told of which news; one client per socket, a new one replaces the old, nil removes it.
    ///
    /// ```swift
    /// try listener.setClient([.accept]) { _, event in
    ///     if case .accepted(let client) = event { serve(client) }
    /// }
    /// listener.schedule(on: .queue(queue))
    /// ```
    ///
    /// Events come where the socket is scheduled (``schedule(on:)``), one after the other, and never from inside a call of the
    /// client's. ``SocketEventKinds/read``, ``SocketEventKinds/accept`` and ``SocketEventKinds/data`` come again for as long as
    /// there is something (so receive in the client, or ``disable(_:)``), ``SocketEventKinds/write`` once until
    /// ``enable(_:)``; ``reenabledKinds`` changes that. Nothing is told of a socket that is neither connected nor listening,
    /// though the system calls it writable. Replaces the callout of `CFSocketCreate`.
    ///
    /// - Throws: `EINVAL` if more than one of read, accept and data is asked for.
    public func setClient(
        _ kinds: SocketEventKinds, _ client: (@Sendable (Socket, SocketEvent) -> Void)?
    ) throws(StreamError) {
        guard kinds.intersection(.arrivals).rawValue.nonzeroBitCount <= 1 else {
            throw StreamError(posix: EINVAL, .oneArrival)
        }
        pump.setClient(kinds, client)
        pump.arm(self)
    }

    /// Has events told on `target` too; several targets share them, each event is told once.
    ///
    /// A scheduled socket is kept alive until ``invalidate()`` or ``unschedule(from:)``. Replaces
    /// `CFSocketCreateRunLoopSource` with `CFRunLoopAddSource`.
    public func schedule(on target: any DeliveryTarget) {
        pump.schedule(self, on: target)
        pump.arm(self)
    }

    /// Has no event told on `target` any more. Harmless if it never was.
    public func unschedule(from target: any DeliveryTarget) {
        pump.unschedule(from: target)
    }

    /// Has these kinds told again. Replaces `CFSocketEnableCallBacks`.
    public func enable(_ kinds: SocketEventKinds) {
        pump.enable(kinds)
        pump.arm(self)
    }

    /// Has these kinds not told until ``enable(_:)``; what comes meanwhile waits in the system, which slows the peer.
    ///
    /// Replaces `CFSocketDisableCallBacks`.
    public func disable(_ kinds: SocketEventKinds) {
        pump.disable(kinds)
    }

    /// The kinds that stay enabled after they were told. At first read, accept and data.
    ///
    /// With ``SocketEventKinds/write`` among them, the client is called without pause while there is room. Replaces
    /// `kCFSocketAutomaticallyReenable…CallBack`.
    public var reenabledKinds: SocketEventKinds {
        get { pump.reenabledKinds }
        set { pump.reenabledKinds = newValue }
    }

    /// True to leave a failed socket's error where it is (`SO_ERROR`): the next call then throws it. At first false: it is
    /// taken and told as ``SocketEvent/failed(_:)``. What receiving for ``SocketEventKinds/data`` fails with is told in any case.
    ///
    /// Replaces `kCFSocketLeaveErrors`.
    public var leavesErrors: Bool {
        get { state.withLock { $0.leavesErrors } }
        set { state.withLock { $0.leavesErrors = newValue } }
    }
}
