internal import EventLoops
internal import StreamKit

/// What a load has to close, to give back and to call: performed without the load's lock, since each of these may run code that takes
/// the lock.
struct DeferredActions: Sendable {
    enum Action: Sendable {
        /// Gives the connection to a pool, for the next request.
        case keep(HTTPConnection, HTTPConnectionPool)
        /// Closes the connection.
        case close(StreamPair)
        /// Closes the stream of the request's body.
        case closeBody(ReadStream)
        /// Cancels the timer.
        case cancelTimer(LoopTimer?)
        /// Cancels the wait for the proxy script.
        case cancelDecision(ProxyDecision)

        fileprivate func perform() {
            switch self {
            case .keep(let connection, let pool): pool.put(connection)
            case .close(let pair): pair.close()
            case .closeBody(let stream): stream.close()
            case .cancelTimer(let timer): timer?.cancel()
            case .cancelDecision(let decision): decision.cancel()
            }
        }
    }

    private var actions = Deferred<Action>()
    /// A read of the request's body. The load needs its result, so the ``LoadPoint`` performs it.
    var fetch: BodyFetch?
    /// Signal the load's point: its waiters have to look again.
    var wakesWaiters = false
    /// The load's log, to be resumed.
    var log: DeferredLog?

    var isEmpty: Bool { actions.isEmpty && fetch == nil }

    mutating func add(_ action: Action) {
        actions.add(action)
    }

    /// Removes all actions and returns them.
    mutating func take() -> DeferredActions {
        if isEmpty { return DeferredActions() }
        let taken = self
        self = DeferredActions()
        return taken
    }

    /// Performs all actions but the ``fetch``, in their order.
    func perform() {
        actions.forEach { $0.perform() }
    }
}
