internal import EventLoops
internal import Synchronization

/// Parked by the loop where an opening waits: makes the loop continue at the first edge or at the deadline.
final class OpeningWatcher: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is: the state is an atomic and constants.

    private let opening: Opening
    private let points: [WaitPoint.Place]
    private let fired = Atomic<Bool>(false)
    private let timer = AtomicLazyReference<LoopTimer>()

    init(_ opening: Opening, _ wait: OpeningStep.Wait) {
        self.opening = opening
        points = wait.points
        super.init()
        guard let deadline = wait.deadline else { return }
        _ = timer.storeIfNil(opening.loop.schedule(at: deadline) { [self] in fire() })
    }

    /// Parks at every point. Nil if that succeeded; otherwise the wake of the point that was ready, and the watcher is
    /// parked nowhere.
    func park() -> Wake? {
        for entry in points {
            if let wake = entry.point.watch(entry.half, for: entry.interest, with: self) {
                remove()
                return wake
            }
        }
        return nil
    }

    /// True once fired.
    var hasFired: Bool { fired.load(ordering: .acquiring) }

    /// Withdraws from all points.
    func remove() {
        timer.load()?.cancel()
        for entry in points { entry.point.unwatch(entry.half, self) }
    }

    override func fire() {
        if !fired.exchange(true, ordering: .acquiringAndReleasing) { opening.proceed(after: self) }
    }
}
