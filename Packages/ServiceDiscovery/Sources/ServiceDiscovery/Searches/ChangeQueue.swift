/// A change of something that exists or not.
protocol WaitingChange: Sendable {
    associatedtype Subject: Hashable

    /// What has changed.
    var subject: Subject { get }
    /// Whether it exists now.
    var isAddition: Bool { get }
}

/// The changes that wait for a reader.
///
/// When there is no room, changes that cancel each other are dropped: a subject that was added and removed, or removed and
/// added again, since the last read. What remains are subjects that the reader knows and that are gone, and new ones that exist.
struct ChangeQueue<Change: WaitingChange>: Sendable {
    /// The changes, preceded by those that were taken and are not removed yet.
    private var changes: [Change] = []
    private var taken = 0
    private let limit: Int
    /// The most changes that may wait before they are compacted again.
    private var room: Int

    /// - Parameter limit: the most changes that wait, unless more subjects exist at once.
    init(limit: Int) {
        self.limit = limit
        room = limit
    }

    var count: Int { changes.count - taken }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ change: Change) {
        if count >= room { compact() }
        changes.append(change)
    }

    mutating func take() -> Change? {
        guard !isEmpty else { return nil }
        defer {
            taken += 1
            if taken == changes.count {
                (changes, taken) = ([], 0)
            } else if taken >= 64, taken * 2 >= changes.count {
                changes.removeFirst(taken)
                taken = 0
            }
        }
        return changes[taken]
    }

    private mutating func compact() {
        var last: [Change.Subject: (isAddition: Bool, index: Int)] = [:]
        for index in taken..<changes.count {
            let change = changes[index]
            last[change.subject] = (last[change.subject]?.isAddition ?? change.isAddition, index)
        }
        changes = (taken..<changes.count).compactMap { index in
            guard let known = last[changes[index].subject], known.index == index,
                known.isAddition == changes[index].isAddition
            else { return nil }
            return changes[index]
        }
        taken = 0
        // The next compaction is due only after as many changes again, even if none cancel each other.
        room = max(limit, 2 * changes.count)
    }
}
