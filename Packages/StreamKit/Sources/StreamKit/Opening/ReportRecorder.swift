internal import EventLoops

/// Records a ``ConnectionReport`` while a stream opens. It reads no clock; each call passes the time.
///
/// The records stay with the connection, and a process may hold many idle ones. Times therefore take four bytes:
/// microseconds since the first step, at most an hour and eleven minutes.
struct ReportRecorder {
    private struct Record {
        /// The ``end`` of a step in progress.
        static let never = UInt32.max

        let kind: ConnectionReport.Kind
        let start: UInt32
        var end = never
        var outcome = ConnectionReport.Outcome.underway

        var step: ConnectionReport.Step {
            let time: Duration? = end == Record.never ? nil : .microseconds(end) - .microseconds(start)
            return .init(kind: kind, start: .microseconds(start), time: time, outcome: outcome)
        }
    }

    private var records: [Record] = []
    private var origin: Moment?

    /// The report so far.
    var report: ConnectionReport { ConnectionReport(records.map(\.step)) }

    /// One step of the report.
    func step(_ number: Int) -> ConnectionReport.Step { records[number].step }

    /// Begins a step and returns its number for ``end(_:_:now:)``. The first step begins the report's time.
    mutating func begin(_ kind: ConnectionReport.Kind, now: Moment) -> Int {
        records.append(Record(kind: kind, start: time(of: now)))
        return records.count - 1
    }

    /// Ends a step. False if it has ended before; it is then left as it is.
    @discardableResult
    mutating func end(_ step: Int, _ outcome: ConnectionReport.Outcome, now: Moment) -> Bool {
        guard records[step].end == Record.never else { return false }
        records[step].end = time(of: now)
        records[step].outcome = outcome
        return true
    }

    private mutating func time(of instant: Moment) -> UInt32 {
        let origin = origin ?? instant
        self.origin = origin
        return Self.microseconds(origin.duration(to: instant))
    }

    private static func sum(_ instant: UInt32, _ time: Duration) -> UInt32 {
        instant + min(microseconds(time), Record.never - 1 - instant)
    }

    private static func microseconds(_ time: Duration) -> UInt32 {
        let (seconds, attoseconds) = time.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 4294 else { return Record.never - 1 }
        return UInt32(seconds) * 1_000_000 + UInt32(attoseconds / 1_000_000_000_000)
    }

    /// Adds the steps of a connection below this one, which was opened at `time`.
    mutating func join(_ steps: [ConnectionReport.Step], begun time: Moment) {
        let begun = self.time(of: time)
        // Appended, so that numbers returned before stay valid.
        for step in steps {
            let start = Self.sum(begun, step.start)
            let end = step.time.map { Self.sum(start, $0) } ?? Record.never
            records.append(Record(kind: step.kind, start: start, end: end, outcome: step.outcome))
        }
    }

    /// Ends all steps in progress and returns their numbers.
    @discardableResult
    mutating func endAll(_ outcome: ConnectionReport.Outcome, now: Moment) -> [Int] {
        records.indices.filter { end($0, outcome, now: now) }
    }
}

extension Connection {
    func beginStep(_ kind: ConnectionReport.Kind) -> Int {
        let now = Moment.now
        return details.withLock { $0.recorder.begin(kind, now: now) }
    }

    func endStep(_ step: Int, _ outcome: ConnectionReport.Outcome) {
        let now = Moment.now
        if details.withLock({ $0.recorder.end(step, outcome, now: now) }) { logSteps([step]) }
    }

    func endAllSteps(_ outcome: ConnectionReport.Outcome) {
        let now = Moment.now
        logSteps(details.withLock { $0.recorder.endAll(outcome, now: now) })
    }
}
