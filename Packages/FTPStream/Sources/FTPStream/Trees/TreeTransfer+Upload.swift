internal import FTPListing
internal import StreamKit

extension TreeTransfer {
    /// Uploads a folder with everything below it.
    nonisolated(nonsending) func upload(_ folder: String, to path: FTPPath) async throws(StreamError) {
        try await withWorkers { workers throws(StreamError) in
            var pending = PendingDirectories(TreeDirectory(remote: path, local: folder, depth: 0))
            while let directory = pending.take() {
                let contents = try LocalFolder.contents(of: directory.local)
                let existing: [[UInt8]: ListingEntry]
                do throws(StreamError) {
                    existing = try await self.prepare(directory.remote)
                } catch {
                    try self.handle(error, directory.remote, isRoot: directory.depth == 0)
                    continue
                }
                self.update { report in
                    report.directories += 1
                    report.filesFound += contents.count { $0.kind == .file }
                }
                if self.options.deletes {
                    let names = Set(contents.map { Array($0.name.utf8) })
                    for (name, entry) in existing where !names.contains(name) {
                        try await self.removeTree(directory.remote.appending(name), entry.kind, depth: directory.depth)
                    }
                }
                for (name, kind) in contents {
                    let old = existing[Array(name.utf8)]
                    try await self.take(name, kind, replacing: old, directory, &pending, &workers)
                }
            }
        }
    }

    private nonisolated(nonsending) func take(
        _ name: String, _ kind: ListingKind, replacing old: ListingEntry?, _ directory: TreeDirectory,
        _ pending: inout PendingDirectories, _ workers: inout Workers
    ) async throws(StreamError) {
        let remote = directory.remote.appending(Array(name.utf8))
        let local = directory.local + "/" + name
        switch kind {
        case .directory where directory.depth < FTPTreeReport.depthLimit:
            let child = TreeDirectory(remote: remote, local: local, depth: directory.depth + 1)
            if !pending.add(child) { update { $0.skip(local, .tooMany) } }
        case .directory: update { $0.skip(local, .tooDeep) }
        case .file:
            try await perform(&workers) { () throws(StreamError) in
                do throws(StreamError) {
                    try await self.send(local, to: remote, replacing: old?.kind == .file ? old : nil)
                } catch {
                    try self.handle(error, remote)
                }
            }
        case .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown: update { $0.skip(local, .notAFile) }
        }
    }

    /// Creates a directory on the server, unless it exists.
    ///
    /// - Returns: The entries in it by name, if the options compare or delete them; otherwise empty.
    private nonisolated(nonsending) func prepare(
        _ path: FTPPath
    ) async throws(StreamError) -> [[UInt8]: ListingEntry] {
        do throws(StreamError) {
            try await client.makeDirectory(path)
            return [:]
        } catch  where TreeTransfer.isRefusal(error) {
            let entries: [ListingEntry]
            do throws(StreamError) {
                entries = try await client.list(path)
            } catch let missing {
                // The directory does not exist, so the reason why it cannot be created is the error to report.
                throw TreeTransfer.isRefusal(missing) ? error : missing
            }
            guard options.resumes || options.onlyNewer || options.deletes else { return [:] }
            // A name that is not a single component is not in the directory: it is neither compared nor deleted.
            return Dictionary(entries.compactMap { entry in entry.pathComponent.map { ($0, entry) } }) { $1 }
        }
    }

    private func send(_ local: String, to remote: FTPPath, replacing old: ListingEntry?) async throws(StreamError) {
        let status = LocalFile.Status(of: local)
        let oldSize = old?.isSizeExact == true ? old?.size : nil
        var offset: UInt64 = 0
        if options.resumes, let oldSize, let status, oldSize <= status.size {
            if oldSize == status.size { return update { $0.unchanged += 1 } }
            offset = oldSize
        }
        if options.onlyNewer, let old, let oldSize, let status, oldSize == status.size,
            let date = try await date(of: remote, listed: old.date), date >= status.date
        {
            return update { $0.unchanged += 1 }
        }
        let source = try LocalFile(reading: local, from: offset)
        let stream = client.limited(client.writer(remote, offset: offset))
        defer { stream.close() }
        try stream.open()
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        var total = offset
        reportProgress(remote, total, status?.size)
        while true {
            let count = try source.read(into: &buffer)
            if count == 0 { break }
            try await stream.writeAll(buffer.span.bytes.extracting(..<count))
            total += UInt64(count)
            update { $0.bytes += UInt64(count) }
            reportProgress(remote, total, status?.size)
        }
        try await stream.finish()
        if options.keepsDates { try await keepDate(status?.date, of: remote) }
        update { $0.files += 1 }
    }

    private func keepDate(_ date: Int64?, of path: FTPPath) async throws(StreamError) {
        do throws(StreamError) {
            guard let date else { return update { $0.datesLost += 1 } }
            try await client.setModificationDate(date, of: path)
        } catch {
            guard TreeTransfer.isRefusal(error) else { throw error }
            update { $0.datesLost += 1 }
        }
    }
}
