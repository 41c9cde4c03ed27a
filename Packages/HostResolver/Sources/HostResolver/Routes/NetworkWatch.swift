internal import EventLoops

/// Turns what a socket says of the network into changes, until the socket ends.
///
/// The socket and the wait are given, so that tests can let either fail.
struct NetworkWatch {
    /// What reading from the socket brought.
    enum Reading {
        /// One datagram of the kernel's.
        case datagram([UInt8])
        /// Datagrams were lost.
        case overflow
        /// Nothing is there yet.
        case nothing
        /// Nothing will come any more.
        case end
    }

    let quietTime: Duration
    let read: () -> Reading
    /// Waits until there may be something to read, at most until the time given.
    let wait: nonisolated(nonsending) (ContinuousClock.Instant?) async -> Wake

    /// Publishes changes until reading or waiting ends.
    ///
    /// A wait that did not take place ends it: to read again at once would keep the loop from its other work for ever.
    nonisolated(nonsending) func run(publish: (NetworkChange) -> Void) async {
        var debounce = ChangeDebounceMachine(quietTime: quietTime)
        while true {
            switch read() {
            case .datagram(let datagram):
                debounce.noted(NetworkChange(NetlinkMessage.messages(in: datagram)), now: .now)
                // A storm of changes must not keep the loop from its other work.
                await Task.yield()
            case .overflow: debounce.noted(.all, now: .now)
            case .nothing:
                if let change = debounce.report(now: .now) { publish(change) }
                switch await wait(debounce.deadline) {
                case .ready, .timedOut: continue
                case .cancelled, .closed, .busy, .failed: return
                }
            case .end: return
            }
        }
    }
}
