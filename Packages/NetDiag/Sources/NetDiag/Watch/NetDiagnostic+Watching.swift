extension NetDiagnostic {
    private enum WatchEvent: Sendable {
        case changed
        case found(Diagnosis)
        case timerFired
    }

    /// Diagnoses repeatedly and returns a diagnosis now, and another one whenever the cause changes or disappears.
    ///
    /// ```swift
    /// for await diagnosis in diagnostic.changes() { print(diagnosis) }
    /// ```
    ///
    /// It diagnoses when the kernel reports a change of the network, and also at intervals, as set by `pace`: several changes in
    /// quick succession count as one, and the checks of a broken network become less frequent. Watching ends when the iteration
    /// ends. A slow consumer receives only the newest diagnosis.
    public func changes(pace: WatchPace = WatchPace()) -> AsyncStream<Diagnosis> {
        let (stream, diagnoses) = AsyncStream<Diagnosis>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let task = Task { [self] in
            await watch(pace) { diagnoses.yield($0) }
            diagnoses.finish()
        }
        diagnoses.onTermination = { _ in task.cancel() }
        return stream
    }

    private func watch(_ pace: WatchPace, report: @Sendable (Diagnosis) -> Void) async {
        let (events, continuation) = AsyncStream<WatchEvent>.makeStream()
        var machine = WatchMachine(pace: pace, now: .now)
        var latest: Diagnosis?
        var timer: ContinuousClock.Instant?
        await withTaskGroup(of: Void.self) { group in
            // Without notifications of the kernel, the intervals remain.
            if let monitor = try? NetworkMonitor() {
                group.addTask { for await _ in monitor.changes() { continuation.yield(.changed) } }
            }
            var iterator = events.makeAsyncIterator()
            while !Task.isCancelled {
                switch machine.next(now: .now) {
                case .check:
                    group.addTask { [self] in continuation.yield(.found(await diagnose())) }
                    continue
                case .report:
                    if let latest { report(latest) }
                    continue
                case .wait(let time) where timer.map { $0 > time } ?? true:
                    timer = time
                    group.addTask {
                        try? await Task.sleep(until: time, clock: .continuous)
                        continuation.yield(.timerFired)
                    }
                case .wait, .waitForCheck: break
                }
                guard let event = await iterator.next() else { break }
                switch event {
                case .changed: machine.changed(now: .now)
                case .found(let diagnosis):
                    latest = diagnosis
                    machine.found(diagnosis.cause?.code, now: .now)
                case .timerFired: if timer.map({ $0 <= .now }) ?? false { timer = nil }
                }
            }
            group.cancelAll()
            continuation.finish()
        }
    }
}
