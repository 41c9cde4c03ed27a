internal import Synchronization

/// The deadlines of a point's waits, as timers that are set rarely: one for each half.
///
/// A stream with an idle limit waits thousands of times a second, each time with a deadline a little later. So the timer
/// is left standing: when it rings too early for the newest deadline, it moves itself there.
final class WaitAlarms: Sendable {
    private struct Alarm {
        var deadline: Moment?
        var timer: LoopTimer?
    }

    private struct State {
        var reader = Alarm()
        var writer = Alarm()

        subscript(half: WaitPoint.Half) -> Alarm {
            get { half == .reader ? reader : writer }
            set { if half == .reader { reader = newValue } else { writer = newValue } }
        }
    }

    private let state = Locked(State())

    /// Has the half woken at `deadline`, or soon after an earlier one that was set before.
    func set(_ deadline: Moment, on point: WaitPoint, half: WaitPoint.Half) {
        let replaced = state.withLock { state -> LoopTimer? in
            state[half].deadline = deadline
            let standing = state[half].timer
            if let standing, standing.deadline <= deadline { return nil }
            state[half].timer = WaitAlarms.timer(deadline, point, half)
            return standing
        }
        replaced?.cancel()
    }

    /// The timer rang: wakes the half, or moves the timer to the newest deadline.
    private func ring(on point: WaitPoint, half: WaitPoint.Half) {
        let isDue = state.withLock { state in
            state[half].timer = nil
            guard let deadline = state[half].deadline else { return false }
            if deadline > .now {
                state[half].timer = WaitAlarms.timer(deadline, point, half)
                return false
            }
            state[half].deadline = nil
            return true
        }
        if isDue { point.wake(half) }
    }

    /// Under the lock, so that a later deadline cannot take the place of an earlier one; scheduling calls nobody back.
    private static func timer(
        _ deadline: Moment, _ point: WaitPoint, _ half: WaitPoint.Half
    ) -> LoopTimer {
        point.loop.schedule(at: deadline) { [weak point] in
            if let point { point.alarmSlot.alarms?.ring(on: point, half: half) }
        }
    }

    func cancel(_ half: WaitPoint.Half) {
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
