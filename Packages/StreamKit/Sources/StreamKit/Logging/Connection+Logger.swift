#if Logging
internal import Logging
#endif

// Without the trait `Logging`, these functions do nothing and cost nothing.

extension Connection {
    /// Logs steps that have ended. Not called under a lock, because a logger may do anything.
    @inline(__always)
    func logSteps(_ steps: [Int]) {
        #if Logging
        let (logger, ended) = details.withLock { ($0.properties[.logger], steps.map($0.recorder.step)) }
        if let logger { ended.forEach { $0.log(to: logger) } }
        #endif
    }
}

extension ProxiedOpening {
    /// Logs the steps of the opening itself; the connection to the first proxy logs its own steps.
    @inline(__always)
    func logSteps(_ steps: [Int]) {
        #if Logging
        guard let logger = properties[.logger] else { return }
        state.withLock { steps.map($0.recorder.step) }.forEach { $0.log(to: logger) }
        #endif
    }
}
