internal import EventLoops
internal import StreamKit

/// The options of one load of a session, beside the request and its body.
struct LoadOptions: Sendable {
    /// The start of the load.
    private let start: Moment
    /// The time limit of the load; nil for none.
    var timeout: Duration?
    /// Whether a coded body may be decoded; see ``HTTPOptions/decodesContent``.
    var permitsDecoding = true
    /// The protocol to which the request offers to switch; nil for none.
    var upgrade: String?
    /// Whether redirects are followed, if ``HTTPOptions/followsRedirects`` permits.
    var followsRedirects = true

    #if Metrics || Tracing
    /// The observers of the load.
    var observation: LoadObservation?
    #endif

    /// The clock.
    private let time: any SessionTime

    init(timeout: Duration? = nil, upgrade: String? = nil, time: any SessionTime = SystemTime()) {
        self.timeout = timeout
        self.upgrade = upgrade
        self.time = time
        start = time.now
    }

    /// The instant at which the load fails; nil for none.
    var deadline: Moment? { timeout.map { start + max(.zero, $0) } }

    /// Returns the time that is left; nil for no limit.
    ///
    /// - Parameter step: the activity, for the message.
    /// - Throws: a time-out if no time is left.
    func timeLeft(for step: String) throws(StreamError) -> Duration? {
        guard let deadline else { return nil }
        let left = time.now.duration(to: deadline)
        guard left > .zero else { throw .timedOut(step, after: timeout) }
        return left
    }
}
