internal import EventLoops
internal import Synchronization

/// Parked by the loop where an opening waits: makes the loop continue at the first notification or at the deadline.
final class OpeningEar: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is: the state is an atomic and constants.

    private let opening: Opening
    private let places: [WaitPoint.Place]
    private let heard = Atomic<Bool>(false)
    private let timer = AtomicLazyReference<LoopTimer>()

    init(_ opening: Opening, _ wait: OpeningStep.Wait) {
        self.opening = opening
        places = wait.places
        super.init()
        guard let deadline = wait.deadline else { return }
        _ = timer.storeIfNil(opening.loop.schedule(at: deadline) { [self] in fire() })
    }

    /// Parks at every point. Nil if that succeeded; otherwise the wake of the point that was ready, and the watcher is
    /// parked nowhere.
    func listen() -> Wake? {
        for place in places {
            if let wake = place.point.watch(place.half, for: place.interest, with: self) {
                remove()
                return wake
            }
        }
        return nil
    }

    /// True once notified.
    var hasHeard: Bool { heard.load(ordering: .acquiring) }

    /// Withdraws from all points.
    func remove() {
        timer.load()?.cancel()
        for place in places { place.point.unwatch(place.half, self) }
    }

    override func fire() {
        if !heard.exchange(true, ordering: .acquiringAndReleasing) { opening.proceed(after: self) }
    }
}
