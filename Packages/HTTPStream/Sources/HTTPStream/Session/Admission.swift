internal import EventLoops
internal import HTTPAuth

/// Limits how many loads of a session send requests, or ask for a password, at the same time for each origin, proxy or protection
/// space. Further ones wait, in the order of their calls.
final class Admission: Sendable {
    /// The permission for one load.
    final class Permit: Sendable {
        private let queue: Locked<Queue?>
        private let key: ProtectionSpace
        private let admission: Admission

        fileprivate init(_ queue: Queue, _ key: ProtectionSpace, _ admission: Admission) {
            self.queue = Locked(queue)
            self.key = key
            self.admission = admission
        }

        deinit { end() }

        /// Returns the permission, once.
        func end() {
            guard let queue = queue.withLock({ $0.take() }) else { return }
            queue.semaphore.signal()
            admission.leave(key)
        }
    }

    fileprivate struct Queue {
        let semaphore: AsyncSemaphore
        /// The number of loads that have a permit or wait for one.
        var users = 0
    }

    private let limit: Int
    private let queues = Locked<[ProtectionSpace: Queue]>([:])

    /// - Parameter limit: the maximum number of loads at once for each space; at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// The number of spaces with permits. For tests.
    var spaceCount: Int { queues.withLock { $0.count } }

    /// The number of loads that wait for a permit. For tests.
    func waiterCount(at space: ProtectionSpace) -> Int {
        queues.withLock { $0[space].map { max(0, $0.users - limit) } ?? 0 }
    }

    /// Waits for a permit.
    ///
    /// - Throws: ``WaitError``.
    func admit(to key: ProtectionSpace, until deadline: Moment?) async throws(WaitError) -> Permit {
        let queue = queues.withLock { queues in
            var queue = queues[key] ?? Queue(semaphore: AsyncSemaphore(limit))
            queue.users += 1
            queues[key] = queue
            return queue
        }
        do throws(WaitError) {
            try await queue.semaphore.wait(until: deadline)
        } catch {
            leave(key)
            throw error
        }
        return Permit(queue, key, self)
    }

    /// Removes the queue of a space without loads.
    fileprivate func leave(_ key: ProtectionSpace) {
        queues.withLock { queues in
            queues[key]?.users -= 1
            if queues[key]?.users == 0 { queues[key] = nil }
        }
    }
}
