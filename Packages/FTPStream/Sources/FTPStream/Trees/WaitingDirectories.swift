/// A directory of a tree, on both sides.
struct TreeDirectory: Sendable, Hashable {
    var remote: FTPPath
    var local: String
    /// 0 for the outermost.
    var depth: Int

    /// About how much memory it takes, in bytes: twice its own, since there are two arrays while one grows, and that of both
    /// paths, each with a header and what the allocator adds.
    var size: Int { 2 * MemoryLayout<Self>.stride + remote.bytes.count + local.utf8.count + 2 * 48 }
}

/// The directories of a tree that were found and are not yet entered, the last found first, in a bounded amount of memory.
struct WaitingDirectories {
    private var directories: [TreeDirectory]
    private var size: Int
    private let limit: Int

    /// Begins with the outermost directory, which counts for nothing.
    init(_ outermost: TreeDirectory, limit: Int = FTPTreeReport.waitingLimit) {
        directories = [outermost]
        size = outermost.size
        self.limit = limit + size
    }

    /// Adds a directory.
    ///
    /// - Returns: False if there is no room for it; it is not added then.
    mutating func add(_ directory: TreeDirectory) -> Bool {
        guard directory.size <= limit - size else { return false }
        size += directory.size
        directories.append(directory)
        return true
    }

    /// Removes the directory to enter next; nil if there is none.
    mutating func take() -> TreeDirectory? {
        guard let next = directories.popLast() else { return nil }
        size -= next.size
        return next
    }
}
