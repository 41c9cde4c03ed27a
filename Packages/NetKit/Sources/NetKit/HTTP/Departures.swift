internal import EventLoops
internal import StreamKit

/// What a load is done with: carried out without the load's lock, since each of these may call back.
struct Departures: Sendable {
    /// One of them.
    enum Departure: Sendable {
        /// The connection goes to a pool, for the next request.
        case keep(HTTPConnection, HTTPConnectionPool)
        /// The connection is closed.
        case close(StreamPair)
        /// The stream of the request's body is closed.
        case source(ReadStream)
        /// The timer is cancelled.
        case timer(LoopTimer?)
        /// The proxy script is not waited for any more.
        case decision(ProxyDecision)

        fileprivate func carryOut() {
            switch self {
            case .keep(let connection, let pool): pool.put(connection)
            case .close(let pair): pair.close()
            case .source(let stream): stream.close()
            case .timer(let timer): timer?.cancel()
            case .decision(let decision): decision.cancel()
            }
        }
    }

    // The first one apart: most steps have none, and most others one, which costs no array.
    private var first: Departure?
    private var others: [Departure] = []
    /// Callers that wait are to look again.
    var wakes = false

    var isEmpty: Bool { first == nil }

    mutating func add(_ departure: Departure) {
        if first == nil { first = departure } else { others.append(departure) }
    }

    /// Hands them out, and has none any more.
    mutating func take() -> Departures {
        if first == nil { return Departures() }
        let taken = self
        self = Departures()
        return taken
    }

    /// Carries them out, in their order.
    func carryOut() {
        first?.carryOut()
        for departure in others { departure.carryOut() }
    }
}
