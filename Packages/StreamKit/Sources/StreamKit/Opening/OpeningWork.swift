internal import EventLoops

/// What one step of opening came to.
enum OpeningStep: Sendable {
    /// Nothing more can be done before there is news at one of these places (there is at least one), or before this time.
    struct Wait: Sendable {
        var places: [WaitPoint.Place]
        var deadline: Moment?
    }

    /// Open: there is an engine.
    case opened(Engine)
    case wait(Wait)
}

/// How a connection is opened, step by step: a value that never waits. Who waits for it, and on which thread, is
/// ``Opening``'s business.
protocol OpeningWork: Sendable {
    /// Does what can be done without waiting. Called again after each wait, and at other times as well, until it says
    /// `.opened` or throws. The connection's descriptor stays open meanwhile.
    mutating func advance(_ connection: Connection) throws(StreamError) -> OpeningStep

    /// Lets go of what was begun, since both halves have been closed. Nothing is called afterwards.
    mutating func abandon(_ connection: Connection)
}
