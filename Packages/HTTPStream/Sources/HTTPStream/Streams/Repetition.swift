/// Whether and where a request may be sent again (RFC 9110 §9.2.2, RFC 9113 §8.7).
enum Repetition {
    /// The server may have processed it.
    case none
    /// On a new connection, if this one was used before: the server may have closed it while it was idle.
    case ifReused
    /// On any connection: the server has not processed it, or the method is idempotent.
    case again
    /// On another connection: the server has not processed it, and ends this one after others of its requests.
    case elsewhere
    /// After a pause: the server has refused it for now.
    case afterPause
    /// Over HTTP/1.1, which the server demands.
    case overHTTP1
}

/// How often a request was sent in vain, and whether it waits for the connections of other loads.
struct Attempts: Sendable {
    /// How often a request is sent at most because servers of HTTP/2 have not processed it.
    static let maximumAttempts = 3
    /// How often a request looks for another connection at most because the one that it found had come to its end before it was sent.
    static let maximumConnections = 32
    /// The pause before the second repetition of a request that a server refuses.
    static let pause = Duration.milliseconds(100)

    /// Whether the load waits for a connection that another load is opening.
    var waitsForDials = true
    private var repetitions = 0
    private var connections = 1

    /// Counts a repetition. Returns whether it is permitted.
    ///
    /// - Parameter isSent: whether any of the request was sent.
    mutating func permitRepetition(isSent: Bool) -> Bool {
        connections += 1
        if isSent { repetitions += 1 }
        return repetitions < Attempts.maximumAttempts && connections <= Attempts.maximumConnections
    }

    /// The pause before the repetition. The first one follows at once: the server may have refused the request only because it had just
    /// begun.
    var pause: Duration { repetitions < 2 ? .zero : Attempts.pause }
}
