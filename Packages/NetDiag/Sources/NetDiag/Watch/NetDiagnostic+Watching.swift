extension NetDiagnostic {
    private enum WatchEvent: Sendable {
        case changed
        case found(Diagnosis)
        case tick
    }

    /// A diagnosis now, and another whenever something else is broken, or works again.
    ///
    /// ```swift
    /// for await diagnosis in diagnostic.changes() { print(diagnosis) }
    /// ```
    ///
    /// Looks when the kernel says that the network has changed, and now and then in any case, as `pace` says: many changes in
    /// short order are one, and a dead network is not hammered. Ends with whoever iterates; a slow reader gets the newest.
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
            // Without the kernel's word, the interval remains.
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
