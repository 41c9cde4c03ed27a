internal import FTPListing
internal import StreamKit

extension TreeTransfer {
    /// Downloads a directory with everything below it.
    nonisolated(nonsending) func download(_ path: FTPPath, to folder: String) async throws(StreamError) {
        try await withWorkers { workers throws(StreamError) in
            var pending = PendingDirectories(TreeDirectory(remote: path, local: folder, depth: 0))
            while let directory = pending.take() {
                let entries: [ListingEntry]
                do throws(StreamError) {
                    entries = try await self.client.list(directory.remote)
                } catch {
                    try self.handle(error, directory.remote, isRoot: directory.depth == 0)
                    continue  // no local folder is created for it
                }
                try LocalFolder.make(directory.local, isRoot: directory.depth == 0)
                self.update { report in
                    report.directories += 1
                    report.filesFound += entries.count { $0.kind == .file }
                }
                if self.options.deletes { try self.deleteLocally(in: directory.local, except: entries) }
                for entry in entries { try await self.take(entry, directory, &pending, &workers) }
            }
        }
    }

    private nonisolated(nonsending) func take(
        _ entry: ListingEntry, _ directory: TreeDirectory, _ pending: inout PendingDirectories,
        _ workers: inout Workers
    ) async throws(StreamError) {
        let remote = directory.remote.appending(entry.nameBytes)
        // Names that are not UTF-8 are converted from Latin-1, which may make them longer than 255 bytes.
        guard entry.pathComponent != nil, entry.name.utf8.count <= 255 else {
            return update { $0.skip(remote.description, .unsafeName) }
        }
        let local = directory.local + "/" + entry.name
        switch entry.kind {
        case .directory where directory.depth < FTPTreeReport.depthLimit:
            let child = TreeDirectory(remote: remote, local: local, depth: directory.depth + 1)
            if !pending.add(child) { update { $0.skip(remote.description, .tooMany) } }
        case .directory: update { $0.skip(remote.description, .tooDeep) }
        case .file:
            try await perform(&workers) { () throws(StreamError) in
                do throws(StreamError) {
                    try await self.fetch(entry, remote, to: local)
                } catch {
                    try self.handle(error, remote)
                }
            }
        case .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown:
            update { $0.skip(remote.description, .notAFile) }
        }
    }

    private func fetch(_ entry: ListingEntry, _ remote: FTPPath, to local: String) async throws(StreamError) {
        let size = entry.isSizeExact ? entry.size : nil
        let existing = options.resumes || options.onlyNewer ? LocalFile.Status(of: local) : nil
        var offset: UInt64 = 0
        if options.resumes, let size, let existing, existing.size <= size {
            if existing.size == size { return update { $0.unchanged += 1 } }
            offset = existing.size
        }
        var date: Int64?
        if options.onlyNewer || options.keepsDates { date = try await self.date(of: remote, listed: entry.date) }
        if options.onlyNewer, let date, let existing, existing.size == size, existing.date >= date {
            return update { $0.unchanged += 1 }
        }
        let stream = client.limited(client.reader(remote, offset: offset))
        defer { stream.close() }
        try stream.open()
        try await stream.opened()  // if the server refuses the file, no local file is created
        let target = try LocalFile(writing: local, keeping: offset)
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        var total = offset
        reportProgress(remote, total, size)
        while true {
            // A read notices a cancellation only if it has to wait, and a fast server never lets it.
            if Task.isCancelled { throw .cancelled }
            let count = try await stream.read(into: &buffer)
            if count == 0 { break }
            try target.write(buffer.span.bytes.extracting(..<count))
            total += UInt64(count)
            update { $0.bytes += UInt64(count) }
            reportProgress(remote, total, size)
        }
        if options.keepsDates, !(date.map { target.setDate($0) } ?? false) { update { $0.datesLost += 1 } }
        update { $0.files += 1 }
    }

    /// Deletes what the server's directory does not have.
    private func deleteLocally(in folder: String, except entries: [ListingEntry]) throws(StreamError) {
        let names = Set(entries.map { Array($0.name.utf8) })
        for (name, _) in try LocalFolder.contents(of: folder) where !names.contains(Array(name.utf8)) {
            let count = try LocalFolder.remove(folder + "/" + name)
            update { $0.deleted += count }
        }
    }
}
