internal import Synchronization

/// A timer of an ``EventLoop``, made by ``EventLoop/schedule(at:_:)``.
///
/// Releasing the object does not cancel the timer.
public final class LoopTimer: Sendable {
    /// The instant when the timer fires.
    public let deadline: Moment
    /// The instant after which the loop is late: the deadline, or the instant of scheduling if that was later.
    let dueTime: Moment
    /// Removes the timer from its loop.
    private let removal: @Sendable (LoopTimer) -> Void
    private let body: Locked<(@Sendable () -> Void)?>
    /// The index in the loop's ``TimerQueue``; -1 if it is not queued. Only the loop's thread uses it.
    let position = Atomic<Int>(-1)

    init(
        deadline: Moment, removal: @escaping @Sendable (LoopTimer) -> Void, body: @escaping @Sendable () -> Void
    ) {
        self.deadline = deadline
        dueTime = max(deadline, .now)
        self.removal = removal
        self.body = Locked(body)
    }

    /// Cancels the timer and releases its body. Harmless if the timer has fired.
    public func cancel() {
        // Released after the lock: the `deinit` of an object that the body holds may cancel this timer again.
        let taken = body.withLock { $0.take() }
        if taken != nil { removal(self) }
    }

    /// True if the timer has fired or was cancelled.
    var isSpent: Bool { body.withLock { $0 == nil } }

    func fire() {
        body.withLock { $0.take() }?()
    }
}

/// A binary heap of timers by deadline, from which any timer can be removed in O(log n).
///
/// Used by one loop's thread only. Each timer stores its position, so that removing it needs no search.
struct TimerQueue {
    private var heap: [LoopTimer] = []

    var isEmpty: Bool { heap.isEmpty }
    var count: Int { heap.count }
    var nextDeadline: Moment? { heap.first?.deadline }

    mutating func insert(_ timer: LoopTimer) {
        heap.append(timer)
        set(timer, at: heap.count - 1)
        siftUp(from: heap.count - 1)
    }

    /// Removes a timer. Does nothing if it is not queued, for example because it has fired.
    mutating func remove(_ timer: LoopTimer) {
        let index = timer.position.load(ordering: .relaxed)
        guard index >= 0, index < heap.count, heap[index] === timer else { return }
        removeAt(index)
    }

    /// Moves the timers with deadlines up to `now` to `due`, in order.
    mutating func takeDue(now: Moment, into due: inout [LoopTimer]) {
        while let timer = popDue(now: now) { due.append(timer) }
    }

    /// Removes and returns the first timer with a deadline up to `now`; nil if there is none.
    mutating func popDue(now: Moment) -> LoopTimer? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        removeAt(0)
        return first
    }

    private mutating func removeAt(_ index: Int) {
        heap[index].position.store(-1, ordering: .relaxed)
        let last = heap.removeLast()
        guard index < heap.count else { return }
        set(last, at: index)
        siftUp(from: index)
        siftDown(from: last.position.load(ordering: .relaxed))
    }

    private mutating func set(_ timer: LoopTimer, at index: Int) {
        heap[index] = timer
        timer.position.store(index, ordering: .relaxed)
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        let timer = heap[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard timer.deadline < heap[parent].deadline else { break }
            set(heap[parent], at: index)
            index = parent
        }
        set(timer, at: index)
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        let timer = heap[index]
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].deadline < heap[child].deadline { child += 1 }
            guard heap[child].deadline < timer.deadline else { break }
            set(heap[child], at: index)
            index = child
        }
        set(timer, at: index)
    }
}
