internal import EventLoops

/// Writes a ``ConnectionReport`` while opening goes on. Reads no clock: the time is told.
///
/// It stays with the connection, so it keeps moments, which are half as large as the report's durations.
struct ReportRecorder {
    private struct Record {
        let kind: ConnectionReport.Kind
        let start: Moment
        var end: Moment?
        var outcome = ConnectionReport.Outcome.underway

        func step(from origin: Moment) -> ConnectionReport.Step {
            let time = end.map { start.duration(to: $0) }
            return .init(kind: kind, start: origin.duration(to: start), time: time, outcome: outcome)
        }
    }

    private var records: [Record] = []
    private var start: Moment?

    /// Everything so far.
    var report: ConnectionReport {
        guard let start else { return ConnectionReport() }
        return ConnectionReport(records.map { $0.step(from: start) })
    }

    /// One step of it.
    func step(_ number: Int) -> ConnectionReport.Step {
        records[number].step(from: start ?? records[number].start)
    }

    /// Begins a step; the number is for ``end(_:_:now:)``. The first step begins the report's time.
    mutating func begin(_ kind: ConnectionReport.Kind, now: Moment) -> Int {
        if start == nil { start = now }
        records.append(Record(kind: kind, start: now))
        return records.count - 1
    }

    /// Ends a step; one that has ended is left as it is, and the result false.
    @discardableResult
    mutating func end(_ step: Int, _ outcome: ConnectionReport.Outcome, now: Moment) -> Bool {
        guard records[step].end == nil else { return false }
        records[step].end = now
        records[step].outcome = outcome
        return true
    }

    /// Takes over the steps of a connection below this one, which was opened at `time`.
    mutating func join(_ steps: [ConnectionReport.Step], begun time: Moment) {
        if start == nil { start = time }
        // They came before every step of this connection's own that began later; numbers given out stay good.
        for step in steps {
            let start = time + step.start
            let end = step.time.map { start + $0 }
            records.append(Record(kind: step.kind, start: start, end: end, outcome: step.outcome))
        }
    }

    /// Ends every step that still goes on, and says which those were.
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
        if details.withLock({ $0.recorder.end(step, outcome, now: now) }) { tellLogger([step]) }
    }

    func endAllSteps(_ outcome: ConnectionReport.Outcome) {
        let now = Moment.now
        tellLogger(details.withLock { $0.recorder.endAll(outcome, now: now) })
    }
}
