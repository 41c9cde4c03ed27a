/// A change of something that exists or not.
protocol WaitingChange: Sendable {
    associatedtype Subject: Hashable

    /// What has changed.
    var subject: Subject { get }
    /// Whether it exists now.
    var isAddition: Bool { get }
    /// The memory of the change, in bytes.
    var memory: Int { get }
}

/// The most that waits for a reader: see ``EngineLimits``.
struct WaitingLimit: Hashable, Sendable {
    var changes: Int
    var bytes: Int

    init(changes: Int, bytes: Int) { (self.changes, self.bytes) = (changes, bytes) }

    init(_ limits: EngineLimits = EngineLimits()) {
        self.init(changes: limits.waitingChanges, bytes: limits.waitingBytes)
    }
}

/// The changes that wait for a reader.
///
/// When there is no room, changes that cancel each other are dropped: a subject that was added and removed, or removed and
/// added again, since the last read. What remains are subjects that the reader knows and that are gone, and new ones that exist.
/// Where these need more than the limit, the room is twice what they need, and falls with each change that is taken.
struct ChangeQueue<Change: WaitingChange>: Sendable {
    /// The changes, preceded by the empty slots of those that were taken.
    private var changes: [Change?] = []
    private var taken = 0
    private let limit: WaitingLimit
    /// The most that may wait before the changes are compacted again.
    private var room: WaitingLimit
    /// The memory of the changes that wait.
    private(set) var bytes = 0

    /// - Parameter limit: the most that waits, unless more subjects exist at once.
    init(limit: WaitingLimit) {
        self.limit = limit
        room = limit
    }

    var count: Int { changes.count - taken }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ change: Change) {
        if count >= room.changes || bytes + change.memory > room.bytes { compact() }
        changes.append(change)
        bytes += change.memory
    }

    mutating func take() -> Change? {
        guard !isEmpty, let change = changes[taken].take() else { return nil }
        bytes -= change.memory
        taken += 1
        if taken == changes.count {
            (changes, taken) = ([], 0)
        } else if taken >= 64, taken * 2 >= changes.count {
            changes.removeFirst(taken)
            taken = 0
        }
        room = WaitingLimit(
            changes: max(limit.changes, min(room.changes, 2 * count)),
            bytes: max(limit.bytes, min(room.bytes, 2 * bytes)))
        return change
    }

    private mutating func compact() {
        let waiting = changes[taken...].compactMap { $0 }
        var last: [Change.Subject: (isAddition: Bool, index: Int)] = [:]
        for (index, change) in waiting.enumerated() {
            last[change.subject] = (last[change.subject]?.isAddition ?? change.isAddition, index)
        }
        bytes = 0
        (changes, taken) = ([], 0)
        for (index, change) in waiting.enumerated() {
            guard let known = last[change.subject], known.index == index, known.isAddition == change.isAddition else {
                continue
            }
            changes.append(change)
            bytes += change.memory
        }
        // The next compaction is due only after as much again, even if no changes cancel each other.
        room = WaitingLimit(changes: max(limit.changes, 2 * count), bytes: max(limit.bytes, 2 * bytes))
    }
}
