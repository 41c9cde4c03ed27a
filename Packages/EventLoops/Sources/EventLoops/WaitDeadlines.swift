internal import Synchronization

/// The deadlines of a point's waits, with one timer for each half.
///
/// A stream with an idle limit waits thousands of times a second, each time with a slightly later deadline. The timer is
/// therefore not moved with each wait: if it fires before the newest deadline, it is set again for that.
final class WaitDeadlines: Sendable {
    private struct Side {
        var deadline: Moment?
        var timer: LoopTimer?
    }

    private struct State {
        private var sides: [2 of Side] = [Side(), Side()]

        subscript(half: WaitHalf) -> Side {
            get { sides[half.index] }
            set { sides[half.index] = newValue }
        }
    }

    private let state = Locked(State())

    /// Wakes the half at `deadline`. The standing timer is kept if it fires earlier.
    func set(_ deadline: Moment, on point: WaitPoint, half: WaitHalf) {
        let replaced = state.withLock { state -> LoopTimer? in
            state[half].deadline = deadline
            let standing = state[half].timer
            if let standing, standing.deadline <= deadline { return nil }
            state[half].timer = WaitDeadlines.timer(deadline, point, half)
            return standing
        }
        replaced?.cancel()
    }

    /// Called when the timer fires: wakes the half, or sets the timer for the newest deadline.
    private func timerFired(on point: WaitPoint, half: WaitHalf) {
        let isDue = state.withLock { state in
            state[half].timer = nil
            guard let deadline = state[half].deadline else { return false }
            if deadline > .now {
                state[half].timer = WaitDeadlines.timer(deadline, point, half)
                return false
            }
            state[half].deadline = nil
            return true
        }
        if isDue { point.wake(half) }
    }

    /// Called under the lock, so that a later deadline cannot replace an earlier one. Scheduling calls no unknown code.
    private static func timer(
        _ deadline: Moment, _ point: WaitPoint, _ half: WaitHalf
    ) -> LoopTimer {
        point.loop.schedule(at: deadline) { [weak point] in
            if let point { point.deadlineSlot.deadlines?.timerFired(on: point, half: half) }
        }
    }

    func cancel(_ half: WaitHalf) {
        let timer = state.withLock { state in
            state[half].deadline = nil
            return state[half].timer.take()
        }
        timer?.cancel()
    }

    func cancelAll() {
        cancel(.reader)
        cancel(.writer)
    }
}

/// A lazily made reference to the ``WaitDeadlines`` of a point. Most points never need one.
///
/// It replaces `AtomicLazyReference`, which is not inlined and looks up metadata at each load: 570 instructions instead of
/// one, several times in the life of each point.
struct WaitDeadlineSlot: ~Copyable {
    private let word = Atomic<UInt>(0)

    deinit {
        WaitDeadlineSlot.reference(word.load(ordering: .acquiring))?.release()
    }

    /// The deadlines; nil until ``make()`` is called.
    var deadlines: WaitDeadlines? {
        WaitDeadlineSlot.reference(word.load(ordering: .acquiring))?.takeUnretainedValue()
    }

    /// Returns the deadlines, and makes them if necessary. If two threads do so at once, both get the same object.
    func make() -> WaitDeadlines {
        if let deadlines { return deadlines }
        let made = Unmanaged.passRetained(WaitDeadlines())
        let (isMine, first) = word.compareExchange(
            expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing)
        guard !isMine, let other = WaitDeadlineSlot.reference(first) else { return made.takeUnretainedValue() }
        made.release()
        return other.takeUnretainedValue()
    }

    private static func reference(_ word: UInt) -> Unmanaged<WaitDeadlines>? {
        UnsafeRawPointer(bitPattern: word).map(Unmanaged.fromOpaque)
    }
}
