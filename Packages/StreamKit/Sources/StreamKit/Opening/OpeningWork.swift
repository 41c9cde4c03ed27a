internal import EventLoops

/// The result of one step of opening.
enum OpeningStep: Sendable {
    /// The wait points to watch, at least one, and the deadline, before which nothing more can be done.
    struct Wait: Sendable {
        var points: [WaitPoint.Place]
        var deadline: Moment?
    }

    /// The stream is open, with this engine.
    case opened(Engine)
    case wait(Wait)
}

/// The work of opening a connection, step by step: a value that never waits. ``Opening`` determines what waits for it,
/// and on which thread.
protocol OpeningWork: Sendable {
    /// Does everything that is possible without waiting. Called again after each wait, and possibly at other times,
    /// until it returns `.opened` or throws. The connection's descriptor stays open during the call.
    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep

    /// Releases what was begun, because both halves have been closed. No call follows.
    mutating func abandon(_ connection: Connection)
}
