public import EventLoops
internal import Glibc

extension Socket {
    /// The most bytes that a ``SocketEvent/data(_:)`` carries: the size of the largest datagram.
    public static let largestData = 65_536

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
        pump.setClient(kinds, client)
        pump.arm(self)
    }

    /// Adds `target` as a place where events are delivered. With several targets, each event is delivered once, on one
    /// of them.
    ///
    /// A scheduled socket is kept alive until ``invalidate()`` or ``unschedule(from:)``. Replaces
    /// `CFSocketCreateRunLoopSource` with `CFRunLoopAddSource`.
    public func schedule(on target: any DeliveryTarget) {
        pump.schedule(self, on: target)
        pump.arm(self)
    }

    /// Ends delivery on `target`. Does nothing if the socket is not scheduled there.
    public func unschedule(from target: any DeliveryTarget) {
        pump.unschedule(from: target)
    }

    /// Enables these kinds of events. Replaces `CFSocketEnableCallBacks`.
    public func enable(_ kinds: SocketEventKinds) {
        pump.enable(kinds)
        pump.arm(self)
    }

    /// Disables these kinds of events until ``enable(_:)``. Data stays in the kernel's buffer meanwhile, which slows
    /// the peer.
    ///
    /// Replaces `CFSocketDisableCallBacks`.
    public func disable(_ kinds: SocketEventKinds) {
        pump.disable(kinds)
    }

    /// The kinds that stay enabled after an event. Initially read, accept and data.
    ///
    /// If it contains ``SocketEventKinds/write``, the client is called continuously while there is room. Replaces
    /// `kCFSocketAutomaticallyReenable…CallBack`.
    public var reenabledKinds: SocketEventKinds {
        get { pump.reenabledKinds }
        set { pump.reenabledKinds = newValue }
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
