internal import FTPListing
internal import StreamKit

// Work on local folders that needs many calls of the disk. Each call is one batch, so that the time limit is that of the disk and not of the
// size of a folder, and a cancellation ends the work after the present batch.

extension TreeTransfer {
    /// The entries of a local folder, sorted by name.
    nonisolated(nonsending) func contents(of folder: LocalFolder) async throws(StreamError) -> [LocalFolder.Entry] {
        let reading = try await onDisk { () throws(StreamError) in try folder.reading() }
        var contents: [LocalFolder.Entry] = []
        while true {
            let batch = try await onDisk { () throws(StreamError) in try reading.next() }
            if batch.isEmpty { break }
            contents += batch
            if Task.isCancelled { throw .cancelled }
        }
        return contents.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    /// Removes a local file, or a folder with everything below it, and counts what is removed. Links are removed and not followed.
    nonisolated(nonsending) func remove(
        _ name: [UInt8], in folder: LocalFolder, depth: Int = 0
    ) async throws(StreamError) {
        let child = try await onDisk { () throws(StreamError) in
            folder.kind(of: name) == .directory ? try folder.folder(at: name, creates: false) : nil
        }
        if let child, depth < FTPTreeReport.maximumDepth { try await removeContents(of: child, depth: depth + 1) }
        let isFolder = child != nil
        try await onDisk { () throws(StreamError) in try folder.remove(name, isFolder: isFolder) }
        update { $0.deleted += 1 }
    }

    private nonisolated(nonsending) func removeContents(
        of folder: LocalFolder, depth: Int
    ) async throws(StreamError) {
        let contents = try await contents(of: folder)
        var files = contents.filter { $0.kind != .directory }[...]
        while !files.isEmpty {
            if Task.isCancelled { throw .cancelled }
            let batch = files.prefix(LocalFolder.Reading.batchSize).map(\.name)
            try await onDisk { () throws(StreamError) in
                for name in batch { try folder.remove(name, isFolder: false) }
            }
            update { $0.deleted += batch.count }
            files = files.dropFirst(batch.count)
        }
        for (name, kind) in contents where kind == .directory {
            if Task.isCancelled { throw .cancelled }
            try await remove(name, in: folder, depth: depth)
        }
    }
}
