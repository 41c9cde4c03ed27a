internal import EventLoops
internal import StreamKit

/// The opening of a connection that may turn out to be one of HTTP/2: other loads with the same key wait for its outcome instead of opening
/// connections of their own, which a server that chooses HTTP/2 would not need.
///
/// Theory of operation. The load that has begun opens the connection, in its own steps. Once another load waits, the dial also watches the
/// connection itself, so that there is an outcome even while no caller waits for the first load.
final class HTTPDial: Watcher, @unchecked Sendable {
    // Unchecked only as a subclass of Watcher: mutable state is behind a lock.

    /// What has become of the connection.
    enum Outcome: Sendable {
        case http2(HTTP2ClientLink)
        /// The server has chosen HTTP/1.1, so the connection belongs to the first load.
        case http1
        /// The connection could not be opened, or the first load has given it up.
        case failed
    }

    private enum State: Sendable {
        case underway(waiters: [ObjectIdentifier: WaitPoint])
        case ended(Outcome)
    }

    private let pair: StreamPair
    private let loop: EventLoop
    /// Makes the link of the open connection; nil if the server has not chosen HTTP/2.
    private let makeLink: @Sendable (StreamPair) -> HTTP2ClientLink?
    private let onEnd: @Sendable (Outcome) -> Void
    private let state = Locked(State.underway(waiters: [:]))

    /// - Parameters:
    ///   - makeLink: called once, when the connection is open; returns nil if the server has not chosen HTTP/2.
    ///   - onEnd: called once, with the outcome.
    init(
        _ pair: StreamPair, makeLink: @escaping @Sendable (StreamPair) -> HTTP2ClientLink?,
        onEnd: @escaping @Sendable (Outcome) -> Void
    ) {
        self.pair = pair
        self.makeLink = makeLink
        self.onEnd = onEnd
        loop = pair.input.waitPoint.loop
    }

    /// Returns the outcome, or nil if the connection is being opened: `point` is signalled at the end then.
    func outcome(orSignal point: WaitPoint) -> Outcome? {
        let (outcome, isFirst) = state.withLock { state -> (Outcome?, Bool) in
            switch state {
            case .ended(let outcome): return (outcome, false)
            case .underway(var waiters):
                let isFirst = waiters.isEmpty
                waiters[ObjectIdentifier(point)] = point
                state = .underway(waiters: waiters)
                return (nil, isFirst)
            }
        }
        if isFirst { loop.execute { [self] in watch() } }
        return outcome
    }

    /// Forgets a point that need not be signalled any more.
    func forget(_ point: WaitPoint) {
        state.withLock { state in
            guard case .underway(var waiters) = state else { return }
            waiters[ObjectIdentifier(point)] = nil
            state = .underway(waiters: waiters)
        }
    }

    /// Ends the dial of an open connection, unless it has ended already.
    @discardableResult
    func settle() -> Outcome {
        end { [self] in makeLink(pair).map { .http2($0) } ?? .http1 }
    }

    /// Ends the dial without a connection, unless it has ended already.
    @discardableResult
    func fail() -> Outcome { end { .failed } }

    private func end(_ decide: () -> Outcome) -> Outcome {
        let (outcome, waiters) = state.withLock { state -> (Outcome, [WaitPoint]?) in
            switch state {
            case .ended(let outcome): return (outcome, nil)
            case .underway(let waiters):
                // The half belongs to the users of the connection from now on.
                pair.output.waitPoint.unwatch(.writer, self)
                let outcome = decide()
                state = .ended(outcome)
                return (outcome, Array(waiters.values))
            }
        }
        guard let waiters else { return outcome }
        onEnd(outcome)
        if !waiters.isEmpty {
            // Loads signal nothing under their locks.
            loop.execute { for point in waiters { point.signal([.readable, .writable]) } }
        }
        return outcome
    }

    // MARK: The loop

    override func fire() {
        loop.execute { [self] in watch() }
    }

    /// Looks at the connection, and watches it while it is being opened.
    private func watch() {
        while true {
            switch pair.output.status {
            case .opening: break
            case .error, .closed, .notOpen:
                fail()
                return
            default:
                settle()
                return
            }
            // The first load waits at the other half. It may end the dial at any moment: the dial then watches no more.
            let (isOver, wake) = state.withLock { state -> (Bool, Wake?) in
                guard case .underway = state else { return (true, nil) }
                return (false, pair.output.waitPoint.watch(.writer, for: [.readable, .writable], with: self))
            }
            if isOver { return }
            switch wake {
            case nil: return
            case .ready?: continue
            case .some:
                if pair.output.status != .opening { continue }
                fail()
                return
            }
        }
    }
}
