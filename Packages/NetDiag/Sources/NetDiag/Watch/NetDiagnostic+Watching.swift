extension NetDiagnostic {
    private enum WatchEvent: Sendable {
        case changed
        case found(Diagnosis)
        case tick
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
        let (stream, told) = AsyncStream<Diagnosis>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let task = Task { [self] in
            await watch(pace) { told.yield($0) }
            told.finish()
        }
        told.onTermination = { _ in task.cancel() }
        return stream
    }

    private func watch(_ pace: WatchPace, tell: @Sendable (Diagnosis) -> Void) async {
        let (events, feed) = AsyncStream<WatchEvent>.makeStream()
        var machine = WatchMachine(pace: pace, now: .now)
        var latest: Diagnosis?
        var alarm: ContinuousClock.Instant?
        await withTaskGroup(of: Void.self) { group in
            // Without notifications of the kernel, the intervals remain.
            if let monitor = try? NetworkMonitor() {
                group.addTask { for await _ in monitor.changes() { feed.yield(.changed) } }
            }
            var coming = events.makeAsyncIterator()
            while !Task.isCancelled {
                switch machine.next(now: .now) {
                case .look:
                    group.addTask { [self] in feed.yield(.found(await diagnose())) }
                    continue
                case .tell:
                    if let latest { tell(latest) }
                    continue
                case .wait(let time) where alarm.map { $0 > time } ?? true:
                    alarm = time
                    group.addTask {
                        try? await Task.sleep(until: time, clock: .continuous)
                        feed.yield(.tick)
                    }
                case .wait, .waitForLook: break
                }
                guard let event = await coming.next() else { break }
                switch event {
                case .changed: machine.changed(now: .now)
                case .found(let diagnosis):
                    latest = diagnosis
                    machine.found(diagnosis.cause?.code, now: .now)
                case .tick: if alarm.map({ $0 <= .now }) ?? false { alarm = nil }
                }
            }
            group.cancelAll()
            feed.finish()
        }
    }
}
