internal import EventLoops

/// Writes a ``ConnectionReport`` while opening goes on. Reads no clock: the time is told.
struct ReportRecorder {
    private(set) var report = ConnectionReport()
    private var start: Moment?

    /// Begins a step; the number is for ``end(_:_:now:)``. The first step begins the report's time.
    mutating func begin(_ kind: ConnectionReport.Kind, now: Moment) -> Int {
        let start = start ?? now
        self.start = start
        report.steps.append(.init(kind: kind, start: start.duration(to: now)))
        return report.steps.count - 1
    }

    /// Ends a step; one that has ended is left as it is.
    mutating func end(_ step: Int, _ outcome: ConnectionReport.Outcome, now: Moment) {
        guard let start, report.steps[step].time == nil else { return }
        report.steps[step].time = start.duration(to: now) - report.steps[step].start
        report.steps[step].outcome = outcome
    }

    /// Takes over the steps of a connection below this one, which was opened at `time`.
    mutating func join(_ steps: [ConnectionReport.Step], begun time: Moment) {
        let start = start ?? time
        self.start = start
        let offset = start.duration(to: time)
        let moved = steps.map { step in
            var step = step
            step.start += offset
            return step
        }
        // They came before every step of this connection's own that began later; numbers given out stay good.
        report.steps += moved
    }

    /// Ends every step that still goes on.
    mutating func endAll(_ outcome: ConnectionReport.Outcome, now: Moment) {
        for step in report.steps.indices { end(step, outcome, now: now) }
    }
}

extension Connection {
    func beginStep(_ kind: ConnectionReport.Kind) -> Int {
        let now = Moment.now
        return details.withLock { $0.recorder.begin(kind, now: now) }
    }

    func endStep(_ step: Int, _ outcome: ConnectionReport.Outcome) {
        let now = Moment.now
        details.withLock { $0.recorder.end(step, outcome, now: now) }
    }

    func endAllSteps(_ outcome: ConnectionReport.Outcome) {
        let now = Moment.now
        details.withLock { $0.recorder.endAll(outcome, now: now) }
    }
}
