/// How name servers are asked about services. RFC 6763 has no numbers for it: a name server does not tell of changes, so that
/// it is asked again and again.
enum WideAreaRules {
    /// Most lookups at one time; more wait for their turn.
    static let mostLookups = 32
    /// An answer is asked for again when its time to live is over, but not more often than this, nor less often than that.
    static let repeatInterval: ClosedRange<Duration> = .seconds(10) ... .seconds(3600)
    /// When something that there is not is asked for again.
    static let absenceInterval: Duration = .seconds(60)
    /// Pauses after failures: this one, then twice as long each time up to that one. What is known stays known.
    static let failureInterval: ClosedRange<Duration> = .seconds(10) ... .seconds(300)
    /// Most domains besides `local` that are browsed because a name server lists them.
    static let mostListedDomains = 16
}
