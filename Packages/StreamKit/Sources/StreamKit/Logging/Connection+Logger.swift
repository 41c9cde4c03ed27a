#if Logging
internal import Logging
#endif

// Without the trait `Logging` nobody is told, and nothing is done for it.

extension Connection {
    /// Tells the stream's logger of steps that have ended; not under a lock, since what a logger does is not known.
    @inline(__always)
    func tellLogger(_ steps: [Int]) {
        #if Logging
        let (logger, ended) = details.withLock { ($0.properties[.logger], steps.map($0.recorder.step)) }
        if let logger { ended.forEach { $0.log(to: logger) } }
        #endif
    }
}

extension ProxiedOpening {
    /// The same for what it does itself; the connection to its first proxy tells of its own steps.
    @inline(__always)
    func tellLogger(_ steps: [Int]) {
        #if Logging
        guard let logger = properties[.logger] else { return }
        state.withLock { steps.map($0.recorder.step) }.forEach { $0.log(to: logger) }
        #endif
    }
}
