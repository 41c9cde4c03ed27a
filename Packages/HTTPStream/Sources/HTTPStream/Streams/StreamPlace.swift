internal import EventLoops
@_spi(Packages) internal import StreamKit

/// A stream of a connection that requests share.
struct StreamPlace: Sendable {
    /// The number of the stream.
    let stream: Int
    /// The number of the connection among those of the process.
    let connection: Int
    /// The number of requests that used the connection when the stream was opened.
    let others: Int
    /// When the request was ready to be sent.
    let start: Moment
    /// How long it waited for the stream.
    let time: Duration

    /// The step of a report that began at `start`.
    func step(since origin: Moment) -> ConnectionReport.Step {
        .init(
            kind: .stream(stream, connection: connection, others: others), start: origin.duration(to: start),
            time: time,
            outcome: .succeeded("opened"))
    }
}
