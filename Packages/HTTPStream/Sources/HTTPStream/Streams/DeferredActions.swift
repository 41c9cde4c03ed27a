@_spi(Packages) internal import EventLoops
internal import StreamKit

/// The work that a step of a load leaves: connections to close or return, and code to call. Performed without the load's lock,
/// since each of these may run code that takes the lock.
struct DeferredActions: Sendable {
    enum Action: Sendable {
        /// Closes the connection.
        case close(StreamPair)
        /// Closes the stream of the request's body.
        case closeBody(ReadStream)
        /// Permits another request of the session.
        case endPermit(Admission.Permit)
        /// Cancels the timer.
        case cancelTimer(LoopTimer?)
        /// Cancels the wait for the proxy script.
        case cancelDecision(ProxyDecision)

        fileprivate func perform() {
            switch self {
            case .close(let pair): pair.close()
            case .closeBody(let stream): stream.close()
            case .endPermit(let permit): permit.end()
            case .cancelTimer(let timer): timer?.cancel()
            case .cancelDecision(let decision): decision.cancel()
            }
        }
    }

    /// A connection that goes back to a pool, for the next request.
    struct Return: Sendable {
        let connection: HTTPConnection
        let pool: HTTPConnectionPool

        func perform() { pool.put(connection) }
    }

    /// Performed before the actions, so that the connection is idle when a permit ends. Apart from the actions, because nearly every
    /// load ends with a return and no action.
    var connectionReturn: Return?
    private var actions = Deferred<Action>()
    /// A read of the request's body. The load needs its result, so the ``LoadTransport`` performs it.
    var bodyReading: BodyReading?

    var isEmpty: Bool { actions.isEmpty && bodyReading == nil && connectionReturn == nil }

    mutating func add(_ action: consuming Action) {
        actions.add(action)
    }

    /// Removes all actions and returns them.
    mutating func take() -> DeferredActions {
        if isEmpty { return DeferredActions() }
        let taken = self
        self = DeferredActions()
        return taken
    }

    /// Performs all actions except the ``bodyReading``, in order.
    mutating func perform() {
        connectionReturn.take()?.perform()
        actions.removeAll { $0.perform() }
    }
}
