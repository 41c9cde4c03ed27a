internal import EventLoops
internal import Foundation
internal import ServiceDiscovery

extension NetService {
    /// Tells the delegate of the TXT record, and of each change, until ``stopMonitoring()``. Resolving has nothing to do with
    /// it, and while it goes on, nothing happens.
    ///
    /// Monitoring outlives its engine: when the discovery daemon ends or a network fails, it is begun again until it succeeds. A
    /// failure that will not pass, such as a type that is none, ends it and is told by
    /// ``NetServiceDelegate/netService(_:didNotMonitor:)``; then it can be started again.
    public func startMonitoring() {
        let number = state.withLock { state -> Int? in
            guard state.monitoring == nil else { return nil }
            state.lastNumber += 1
            state.monitoring = MonitoringState(number: state.lastNumber)
            return state.lastNumber
        }
        if let number { beginMonitoring(number) }
    }

    /// Ends that.
    public func stopMonitoring() {
        state.withLock { $0.monitoring.take() }?.end()
        loops.ring()
    }

    /// One attempt to monitor.
    private func beginMonitoring(_ number: Int) {
        do throws(ServiceDiscoveryError) {
            let feed = try ServiceMonitor(instance(), engine: engine).start()
            let records = RunningFeed(feed) { [weak self] in self?.loops.ring() }
            let isWanted = state.withLock { state in
                guard state.monitoring?.number == number else { return false }
                state.monitoring?.feed = records
                return true
            }
            if !isWanted { records.stop() }
        } catch {
            failMonitoring(error) { $0.monitoring?.number == number }
        }
        loops.ring()
    }

    /// Monitoring has failed: it is begun again after a pause, or is over.
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

    /// The next record; nil if there is none now.
    ///
    /// Takes all that the feed has until there is something to tell: the feed rings once for a record that says nothing new and
    /// for the failure behind it.
    func nextRecord(_ records: RunningFeed<TXTRecord>?) -> NetServiceEvent? {
        while let result = records?.next() {
            switch result {
            case .success(let record):
                let isNews = state.withLock { state in
                    guard state.monitoring?.feed === records, state.monitoring?.note(record) == true else {
                        return false
                    }
                    state.record = record
                    return true
                }
                if isNews { return .didUpdate(Data(record.wireForm)) }
            case .failure(let error):
                failMonitoring(error) { $0.monitoring?.feed === records }
                // What it may have posted is told in its turn.
                return state.withLock { $0.outbox.isEmpty ? nil : $0.outbox.removeFirst() }
            }
        }
        return nil
    }
}
