internal import Synchronization

/// A binary heap of timers by deadline, from which any one can be removed in O(log n).
///
/// Owned by one loop's thread; each timer carries its own position, so that removing does not search.
struct TimerQueue {
    private var heap: [LoopTimer] = []

    var isEmpty: Bool { heap.isEmpty }
    var count: Int { heap.count }
    var nextDeadline: Moment? { heap.first?.deadline }

    mutating func insert(_ timer: LoopTimer) {
        heap.append(timer)
        place(timer, at: heap.count - 1)
        siftUp(from: heap.count - 1)
    }

    /// Removes a timer; one that is not there (it fired) is left alone.
    mutating func remove(_ timer: LoopTimer) {
        let index = timer.position.load(ordering: .relaxed)
        guard index >= 0, index < heap.count, heap[index] === timer else { return }
        removeAt(index)
    }

    /// Moves the timers whose deadlines are not after `now` to `due`, in order.
    mutating func takeDue(now: Moment, into due: inout [LoopTimer]) {
        while let timer = popDue(now: now) { due.append(timer) }
    }

    /// Removes and gives the first timer whose deadline is not after `now`.
    mutating func popDue(now: Moment) -> LoopTimer? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        removeAt(0)
        return first
    }

    private mutating func removeAt(_ index: Int) {
        heap[index].position.store(-1, ordering: .relaxed)
        let last = heap.removeLast()
        guard index < heap.count else { return }
        place(last, at: index)
        siftUp(from: index)
        siftDown(from: last.position.load(ordering: .relaxed))
    }

    private mutating func place(_ timer: LoopTimer, at index: Int) {
        heap[index] = timer
        timer.position.store(index, ordering: .relaxed)
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        let timer = heap[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard timer.deadline < heap[parent].deadline else { break }
            place(heap[parent], at: index)
            index = parent
        }
        place(timer, at: index)
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        let timer = heap[index]
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].deadline < heap[child].deadline { child += 1 }
            guard heap[child].deadline < timer.deadline else { break }
            place(heap[child], at: index)
            index = child
        }
        place(timer, at: index)
    }
}
