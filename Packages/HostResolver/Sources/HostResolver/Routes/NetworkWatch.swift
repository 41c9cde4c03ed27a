internal import EventLoops

/// A loop that reads netlink messages from a socket and publishes the changes that they report.
///
/// Reading and waiting are parameters, so that tests can make either fail.
struct NetworkWatch {
    /// The result of reading from the socket.
    enum Reading {
        /// A datagram from the kernel.
        case datagram([UInt8])
        /// The kernel dropped datagrams.
        case overflow
        /// No datagram is available yet.
        case nothing
        /// The socket failed or was closed; no more datagrams will arrive.
        case end
    }

    let debounce: ChangeDebounceMachine
    let read: () -> Reading
    /// Waits until the socket may be readable, at most until the given instant.
    let wait: nonisolated(nonsending) (ContinuousClock.Instant?) async -> Wake

    /// Publishes changes until reading or waiting ends.
    ///
    /// A wait that fails ends the loop: reading again at once would spin and block the event loop forever.
    nonisolated(nonsending) func run(publish: (NetworkChange) -> Void) async {
        var debounce = debounce
        while true {
            switch read() {
            case .datagram(let datagram):
                debounce.record(NetworkChange(NetlinkMessage.messages(in: datagram)), now: .now)
                // Yield, so that a storm of changes does not starve the event loop's other work.
                await Task.yield()
            case .overflow: debounce.record(.all, now: .now)
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

/// A debouncer: it combines changes in quick succession into one report. A link that comes up causes dozens.
///
/// A report is due after a quiet time without changes, or a maximum delay after the first change, so that a network that
/// changes all the time is reported as well.
struct ChangeDebounceMachine {
    private let quietTime: Duration
    private let maximumDelay: Duration
    private var change: NetworkChange = []
    private var due: ContinuousClock.Instant?
    private var latest: ContinuousClock.Instant?

    init(quietTime: Duration, maximumDelay: Duration) {
        self.quietTime = quietTime
        self.maximumDelay = maximumDelay
    }

    /// The instant at which a report is due; nil if there is nothing to report.
    var deadline: ContinuousClock.Instant? { due }

    /// Records a change.
    mutating func record(_ change: NetworkChange, now: ContinuousClock.Instant) {
        guard !change.isEmpty else { return }
        self.change.formUnion(change)
        let latest = latest ?? now + maximumDelay
        self.latest = latest
        due = min(now + quietTime, latest)
    }

    /// Returns the combined changes if a report is due; otherwise nil.
    mutating func report(now: ContinuousClock.Instant) -> NetworkChange? {
        guard let due, now >= due else { return nil }
        defer { (change, self.due, latest) = ([], nil, nil) }
        return change
    }
}
