internal import EventLoops
internal import Synchronization

/// What the loop leaves where an opening waits: it has the loop come back at the first news, or when the time has come.
final class OpeningEar: Watcher, @unchecked Sendable {
    // Unchecked in name only, as any subclass of Watcher: an atomic and what never changes.

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

    /// Nil if it listens at every place now; else what one of them had to say at once, and it listens nowhere.
    func listen() -> Wake? {
        for place in places {
            if let wake = place.point.watch(place.half, for: place.interest, with: self) {
                remove()
                return wake
            }
        }
        return nil
    }

    /// True once there was news.
    var hasHeard: Bool { heard.load(ordering: .acquiring) }

    /// Takes it back from everywhere.
    func remove() {
        timer.load()?.cancel()
        for place in places { place.point.unwatch(place.half, self) }
    }

    override func fire() {
        if !heard.exchange(true, ordering: .acquiringAndReleasing) { opening.proceed(after: self) }
    }
}
