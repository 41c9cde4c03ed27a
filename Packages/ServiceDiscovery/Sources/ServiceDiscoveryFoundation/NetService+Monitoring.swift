internal import EventLoops
internal import Foundation
internal import ServiceDiscovery

extension NetService {
    /// Reports the TXT record and its changes to the delegate until ``stopMonitoring()``. Independent of resolving. Has
    /// no effect while monitoring is running.
    ///
    /// If the discovery daemon ends or the network fails, monitoring is restarted until it succeeds. A permanent
    /// failure, such as an invalid type, ends it and is reported by
    /// ``NetServiceDelegate/netService(_:didNotMonitor:)``; monitoring can be started again then.
    public func startMonitoring() {
        let number = state.withLock { state -> Int? in
            guard state.monitoring == nil else { return nil }
            state.lastNumber += 1
            state.monitoring = MonitoringState(number: state.lastNumber)
            return state.lastNumber
        }
        if let number { beginMonitoring(number) }
    }

    /// Ends the monitoring.
    public func stopMonitoring() {
        state.withLock { $0.monitoring.take() }?.end()
        pump.signal()
    }

    /// Makes one attempt to monitor.
    private func beginMonitoring(_ number: Int) {
        do throws(ServiceDiscoveryError) {
            let feed = try ServiceMonitor(instance(), engine: engine).start()
            let records = NotifyingFeed(feed) { [weak self] in self?.pump.signal() }
            let isWanted = state.withLock { state in
                guard state.monitoring?.number == number else { return false }
                state.monitoring?.feed = records
                return true
            }
            if !isWanted { records.stop() }
        } catch {
            failMonitoring(error) { $0.monitoring?.number == number }
        }
        pump.signal()
    }

    /// Processes a failure: monitoring is restarted after a pause, or has ended.
    private func failMonitoring(
        _ error: ServiceDiscoveryError, if isCurrent: @Sendable (NetServiceState) -> Bool
    ) {
        let attempt = state.withLock { state -> (number: Int, pause: Duration)? in
            guard isCurrent(state), let number = state.monitoring?.number else { return nil }
            if let pause = state.monitoring?.noteFailure(error) { return (number, pause) }
            state.monitoring = nil
            state.outbox.append(.didNotMonitor(error))
            return nil
        }
        guard let attempt else { return }
        let timer = EventLoop.shared.schedule(at: .now + attempt.pause) { [weak self] in
            self?.beginMonitoring(attempt.number)
        }
        let isWanted = state.withLock { state in
            guard state.monitoring?.number == attempt.number else { return false }
            state.monitoring?.timer = timer
            return true
        }
        if !isWanted { timer.cancel() }
    }

    /// The event of the next record; nil if there is none.
    ///
    /// Reads the feed until there is an event, because the feed may signal only once for an unchanged record and the
    /// failure that follows it.
    func nextRecord(_ records: NotifyingFeed<TXTRecord>?) -> NetServiceEvent? {
        while let result = records?.next() {
            switch result {
            case .success(let record):
                let isNew = state.withLock { state in
                    guard state.monitoring?.feed === records, state.monitoring?.note(record) == true else {
                        return false
                    }
                    state.record = record
                    return true
                }
                if isNew { return .didUpdate(Data(record.wireForm)) }
            case .failure(let error):
                failMonitoring(error) { $0.monitoring?.feed === records }
                // Other events may precede that of the failure.
                return state.withLock { $0.outbox.isEmpty ? nil : $0.outbox.removeFirst() }
            }
        }
        return nil
    }
}

/// The monitoring of a ``NetService`` from its start to its end, across failures of the engine.
struct MonitoringState {
    /// The longest pause between attempts, in seconds. Successive failures are followed by pauses of 0, 1, 2, 4 …
    /// seconds.
    static let maximumPause: Int64 = 60

    /// Distinguishes this monitoring from later ones of the same object.
    let number: Int
    /// Delivers the records; nil between a failure and the next attempt.
    var feed: NotifyingFeed<TXTRecord>?
    /// Starts the next attempt.
    var timer: LoopTimer?
    private var failures = 0
    private var newest: TXTRecord?

    init(number: Int) {
        self.number = number
    }

    /// Processes a failure; returns the pause before the next attempt, or nil if a new attempt would fail as well.
    mutating func noteFailure(_ error: ServiceDiscoveryError) -> Duration? {
        feed = nil
        switch error.code {
        // The daemon, the sockets and the name servers may become available again.
        case .daemonUnavailable, .daemonFailed, .lookupFailed, .system, .timedOut, .limitReached:
            defer { failures += 1 }
            return .seconds(failures == 0 ? 0 : min(Self.maximumPause, 1 << min(failures - 1, 10)))
        default: return nil
        }
    }

    /// Processes a record, which ends a series of failures. True if it differs from the last one, which is received
    /// again when monitoring is restarted.
    mutating func note(_ record: TXTRecord) -> Bool {
        defer { (failures, newest) = (0, record) }
        return record != newest
    }

    /// Ends the monitoring. Call without a lock held.
    func end() {
        timer?.cancel()
        feed?.stop()
    }
}
