/// A directory of a tree on the server and its local folder.
struct TreeDirectory: Sendable, Hashable {
    var remote: FTPPath
    /// The path of the folder below the local root; empty for the root itself.
    var local: [UInt8]
    /// 0 for the root of the tree.
    var depth: Int

    /// The directory in it with this name.
    func child(_ remote: FTPPath, _ name: [UInt8]) -> TreeDirectory {
        TreeDirectory(
            remote: remote, local: local.isEmpty ? name : local + [UInt8(ascii: "/")] + name, depth: depth + 1)
    }

    /// The approximate memory in bytes: twice its stride, since two arrays exist while one grows, and both paths, each with a
    /// header and the allocator's overhead.
    var size: Int { 2 * MemoryLayout<Self>.stride + remote.bytes.count + local.count + 2 * 48 }
}

/// The directories of a tree that are found and not yet entered, in a bounded amount of memory. The last one found is the first
/// to be entered.
struct PendingDirectories {
    private var directories: [TreeDirectory]
    private var size: Int
    private let limit: Int

    /// Creates the list with the root of the tree, which does not count towards the limit.
    init(_ root: TreeDirectory, limit: Int = FTPTreeReport.maximumWaitingMemory) {
        directories = [root]
        size = root.size
        self.limit = limit + size
    }

    /// Adds a directory.
    ///
    /// - Returns: False if there is no room for it.
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
