internal import EventLoops
internal import StreamKit

/// Limits the number of requests that a session has underway at each origin. Further ones wait, in the order of their calls.
final class OriginAdmission: Sendable {
    /// The permission for one request, returned when the request has released its connection.
    final class Permit: Sendable {
        private let queue: Locked<OriginQueue?>
        private let key: Key
        private let admission: OriginAdmission

        fileprivate init(_ queue: OriginQueue, _ key: Key, _ admission: OriginAdmission) {
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

    fileprivate struct Key: Hashable {
        let scheme: String
        let host: String
        let port: UInt16

        init(_ origin: HTTPOrigin) {
            scheme = origin.scheme
            host = origin.host
            port = origin.port
        }
    }

    fileprivate struct OriginQueue {
        let semaphore: AsyncSemaphore
        /// The number of requests that have a permit or wait for one.
        var users = 0
    }

    private let limit: Int
    private let queues = Locked<[Key: OriginQueue]>([:])

    /// - Parameter limit: the maximum number of requests at once for each origin; at least 1.
    init(limit: Int) {
        self.limit = limit
    }

    /// The number of origins with requests. For tests.
    var originCount: Int { queues.withLock { $0.count } }

    /// The number of requests that wait for an origin. For tests.
    func waiterCount(at origin: HTTPOrigin) -> Int {
        queues.withLock { $0[Key(origin)].map { max(0, $0.users - limit) } ?? 0 }
    }

    /// Waits until a request may begin.
    ///
    /// - Throws: ``WaitError``.
    func admit(to origin: HTTPOrigin, until deadline: Moment?) async throws(WaitError) -> Permit {
        let key = Key(origin)
        let queue = queues.withLock { queues in
            var queue = queues[key] ?? OriginQueue(semaphore: AsyncSemaphore(limit))
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

    /// Removes the queue of an origin without requests.
    fileprivate func leave(_ key: Key) {
        queues.withLock { queues in
            queues[key]?.users -= 1
            if queues[key]?.users == 0 { queues[key] = nil }
        }
    }
}
