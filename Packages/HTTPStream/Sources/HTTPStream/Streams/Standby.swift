@_spi(Packages) internal import EventLoops

/// A wait before a load decides about a connection again.
struct Standby: Sendable {
    private enum Cause: Sendable {
        /// Another load opens a connection that this one may share. The load waits as long as it would for its own.
        case dial(HTTPDial, until: Moment?)
        /// The server has refused the request for now.
        case pause(until: Moment)
    }

    enum Step {
        /// At most until this instant.
        case waits(until: Moment?)
        case ended(hasFailed: Bool)
    }

    private let cause: Cause
    /// Signalled at the end of a dial.
    let point: WaitPoint

    /// - Parameter limit: the time limit of opening a connection; nil for none.
    init(for dial: HTTPDial, within limit: Duration?, _ loop: EventLoop) {
        cause = .dial(dial, until: limit.map { .now + $0 })
        point = WaitPoint(loop: loop, only: .reader)
    }

    init(for pause: Duration, _ loop: EventLoop) {
        cause = .pause(until: .now + pause)
        point = WaitPoint(loop: loop, only: .reader)
    }

    /// Ends the wait, because the load has ended.
    func abandon() {
        if case .dial(let dial, _) = cause { dial.forget(point) }
    }

    /// Whether the wait is over.
    var step: Step {
        switch cause {
        case .pause(let end): return .now < end ? .waits(until: end) : .ended(hasFailed: false)
        case .dial(let dial, let end):
            switch dial.outcome(orSignal: point) {
            case nil: return end.map { $0 <= .now } == true ? .ended(hasFailed: true) : .waits(until: end)
            case .http2?, .http1?: return .ended(hasFailed: false)
            // The load tries on its own: the failure may be that of the other one.
            case .failed?: return .ended(hasFailed: true)
            }
        }
    }
}
