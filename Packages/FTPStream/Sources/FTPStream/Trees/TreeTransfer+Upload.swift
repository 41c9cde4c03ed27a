internal import FTPListing
internal import StreamKit

extension TreeTransfer {
    /// Uploads a folder with everything below it.
    nonisolated(nonsending) func upload(_ folder: String, to path: FTPPath) async throws(StreamError) {
        let root = try await self.onDisk { () throws(StreamError) in try LocalFolder.root(folder, creates: false) }
        try await withWorkers { workers throws(StreamError) in
            var pending = PendingDirectories(TreeDirectory(remote: path, local: [], depth: 0))
            while let directory = pending.take() {
                let (local, contents): (LocalFolder, [LocalFolder.Entry])
                let existing: FTPDirectoryListing
                do throws(StreamError) {
                    local = try await self.onDisk { () throws(StreamError) in
                        try root.folder(at: directory.local, creates: false)
                    }
                    contents = try await self.contents(of: local)
                    existing = try await self.prepare(directory.remote)
                } catch {
                    try self.handle(error, directory.remote, filling: .server, isRoot: directory.depth == 0)
                    continue
                }
                try await self.take(contents, local, replacing: existing, directory, &pending, &workers)
            }
        }
    }

    private nonisolated(nonsending) func take(
        _ contents: [LocalFolder.Entry], _ folder: LocalFolder,
        replacing existing: FTPDirectoryListing, _ directory: TreeDirectory, _ pending: inout PendingDirectories,
        _ workers: inout Workers
    ) async throws(StreamError) {
        update { report in
            report.directories += 1
            report.filesFound += contents.count { $0.kind == .file }
            report.skip(directory.remote, existing.unread)
        }
        // A name that is not a single component is not in the directory: it is neither compared nor deleted.
        let entries = Dictionary(existing.entries.compactMap { entry in entry.pathComponent.map { ($0, entry) } }) {
            $1
        }
        if options.deletes, existing.isComplete {
            let names = Set(contents.map(\.name))
            for (name, entry) in entries where !names.contains(name) {
                try await removeTree(directory.remote.appending(name), entry.kind, depth: directory.depth)
            }
        }
        for (name, kind) in contents {
            try await take(name, kind, folder, replacing: entries[name], directory, &pending, &workers)
        }
    }

    private nonisolated(nonsending) func take(
        _ name: [UInt8], _ kind: ListingKind, _ folder: LocalFolder, replacing old: ListingEntry?,
        _ directory: TreeDirectory, _ pending: inout PendingDirectories, _ workers: inout Workers
    ) async throws(StreamError) {
        let remote = directory.remote.appending(name)
        switch kind {
        case .directory where directory.depth < FTPTreeReport.maximumDepth:
            if !pending.add(directory.child(remote, name)) { update { $0.skip(folder.pathOf(name), .tooMany) } }
        case .directory: update { $0.skip(folder.pathOf(name), .tooDeep) }
        case .file:
            try await perform(&workers) { () throws(StreamError) in
                do throws(StreamError) {
                    try await self.send(name, of: folder, to: remote, replacing: old?.kind == .file ? old : nil)
                } catch {
                    try self.handle(error, remote, filling: .server)
                }
            }
        case .link, .characterDevice, .blockDevice, .fifo, .socket, .unknown:
            update { $0.skip(folder.pathOf(name), .notAFile) }
        }
    }

    /// Creates a directory on the server, unless it exists.
    ///
    /// - Returns: The listing of it, if the options compare or delete its entries; otherwise an empty one.
    private nonisolated(nonsending) func prepare(_ path: FTPPath) async throws(StreamError) -> FTPDirectoryListing {
        let empty = FTPDirectoryListing(entries: [], unread: UnreadLines())
        do throws(StreamError) {
            try await client.makeDirectory(path)
            return empty
        } catch  where TreeTransfer.isRefusal(error) {
            let listing: FTPDirectoryListing
            do throws(StreamError) {
                listing = try await client.listing(path)
            } catch let missing {
                // The directory does not exist, so the reason why it cannot be created is the error to report.
                throw TreeTransfer.isRefusal(missing) ? error : missing
            }
            return options.resumes || options.onlyNewer || options.deletes ? listing : empty
        }
    }

    private func send(
        _ name: [UInt8], of folder: LocalFolder, to remote: FTPPath, replacing old: ListingEntry?
    ) async throws(StreamError) {
        let status = try await self.onDisk { () throws(StreamError) in folder.file(name) }
        let oldSize = old?.isSizeExact == true ? old?.size : nil
        var start: UInt64 = 0
        if options.resumes, let oldSize, let status, oldSize <= status.size {
            if oldSize == status.size { return update { $0.unchanged += 1 } }
            start = oldSize
        }
        if options.onlyNewer, let old, let oldSize, let status, oldSize == status.size,
            let date = try await date(of: remote, listed: old.date), date >= status.date
        {
            return update { $0.unchanged += 1 }
        }
        // A file that cannot be read replaces nothing on the server.
        var source = try await self.onDisk { [start] () throws(StreamError) in try folder.source(name, from: start) }
        let (stream, offset) = try await opened(at: start) {
            self.client.limited(self.client.writer(remote, offset: $0))
        }
        defer { stream.close() }
        if offset != start {
            source = try await self.onDisk { () throws(StreamError) in try folder.source(name, from: offset) }
        }
        var total = offset
        reportProgress(remote, total, status?.size)
        while true {
            let bytes = try await self.onDisk { [source] () throws(StreamError) in
                try source.read(upTo: TreeTransfer.readSize)
            }
            if bytes.isEmpty { break }
            try await stream.writeAll(bytes)
            total += UInt64(bytes.count)
            update { $0.bytes += UInt64(bytes.count) }
            reportProgress(remote, total, status?.size)
        }
        try await stream.finish()
        noteTransfer()
        if options.keepsDates { try await keepDate(status?.date, of: remote) }
        update { $0.files += 1 }
    }

    /// The bytes that one call reads from a local file: the fewer calls, the fewer changes of threads.
    private static let readSize = 256 * 1024

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
